import { Database } from 'bun:sqlite';
import { hostname } from 'node:os';
import { join } from 'node:path';

import type { Config } from '../../config/variables.ts';
import { DataFolder, findOwner, type Owner } from '../../storage/sqlite/file/dataFolder.ts';
import { findMoved, noteMoved, releaseMoved } from '../../storage/sqlite/file/movedNote.ts';
import { configure } from '../../storage/sqlite/file/openDatabase.ts';
import { toWriteFailure } from '../../storage/sqlite/file/writeFailure.ts';
import { wallClockMs } from '../../system.ts';
import { type CliError, failed } from '../cliError.ts';
import { hasDatabase, ownedBy } from '../openDatabase.ts';
import { LOAD_POSTGRES } from './loadPostgres.ts';
import { askHeld, holdService } from './serviceChannel.ts';
import type { SourceHold } from './sourceHold.ts';

export async function holdForMove(config: Config, exportId: string): Promise<SourceHold> {
  if (config.databaseUrl !== null) return holdDatabase(config.databaseUrl, exportId);
  requireDatabase(config);
  const owner = findOwner(config.data);
  return owner === null ? holdFolder(config, exportId) : holdService(reachable(config, owner), exportId);
}

/** Answers whether the service, or the database, had been moved. */
export async function releaseMove(config: Config): Promise<boolean> {
  if (config.databaseUrl !== null) return (await LOAD_POSTGRES.hold()).releaseMoved(config.databaseUrl, wallClockMs());
  requireDatabase(config);
  const owner = findOwner(config.data);
  if (owner !== null) return askHeld(reachable(config, owner), { command: 'releaseMove' });
  const folder = DataFolder.own(config.data, ownOwner());
  try {
    return withDatabase(config, (db) => releaseMoved(db, wallClockMs()));
  } catch (error) {
    throw notReleased(config, error);
  } finally {
    folder.release();
  }
}

/** No service runs on the folder, and none can start meanwhile. */
function holdFolder(config: Config, exportId: string): SourceHold {
  const folder = DataFolder.own(config.data, ownOwner());
  return {
    wasHeld: wasMoved(config),
    accounts: async () => {},
    finish: async () => withDatabase(config, (db) => noteMoved(db, { exportId, atMs: wallClockMs() })),
    close: async () => folder.release(),
  };
}

/** A database that cannot be read is told by the export. */
function wasMoved(config: Config): boolean {
  try {
    return withDatabase(config, findMoved) !== null;
  } catch {
    return false;
  }
}

async function holdDatabase(url: string, exportId: string): Promise<SourceHold> {
  const { DatabaseHold } = await LOAD_POSTGRES.hold();
  return DatabaseHold.take(url, { exportId, atMs: wallClockMs() });
}

function withDatabase<T>({ data }: Config, work: (db: Database) => T): T {
  using db = new Database(join(data, 'keystile.db'), { readwrite: true, create: false });
  configure(db);
  return work(db);
}

function notReleased({ data }: Config, error: unknown): CliError {
  const { kind, message } = toWriteFailure(error);
  const advice = kind === 'full' ? 'Make space on its disk' : 'Check its disk, and that this user may write there';
  return failed(`The data folder ${data} was not released (${message}). ${advice}. Then run the command again.`);
}

function requireDatabase(config: Config): void {
  if (!hasDatabase(config))
    throw failed(`There is no database in ${config.data}. Set KEYSTILE_DATA to the data folder of the service.`);
}

function reachable(config: Config, owner: Owner): string {
  if (owner.host !== hostname()) throw failed(`${ownedBy(config, owner)}. Run this command on that machine.`);
  if (owner.control === null)
    throw failed(`${ownedBy(config, owner)}. That process is a command: run this one again when it has ended.`);
  return owner.control;
}

function ownOwner(): Owner {
  const startedAt = new Date(wallClockMs()).toISOString();
  return { pid: process.pid, host: hostname(), startedAt, control: null, url: null };
}
