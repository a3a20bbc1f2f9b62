import { Database } from 'bun:sqlite';
import { hostname } from 'node:os';
import { join } from 'node:path';

import type { Config } from '../../config/variables.ts';
import { DataFolder, FolderOwned, type Owner } from '../../storage/sqlite/file/dataFolder.ts';
import { findMoved, noteMoved, refuseCopy, releaseMoved } from '../../storage/sqlite/file/installation.ts';
import { openDurably } from '../../storage/sqlite/file/openDatabase.ts';
import { toWriteFailure } from '../../storage/sqlite/file/writeFailure.ts';
import { missingRefusal, refuseLostCommits } from '../../storage/sqlite/ledger/commitQueue.ts';
import { refuseOtherVersion } from '../../storage/sqlite/move.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import { readLastCommit } from '../../storage/sqlite/accounts.ts';
import { wallClockMs } from '../../bunPlatform.ts';
import { failed } from '../cliError.ts';
import { hasDatabase, ownedBy } from '../openDatabase.ts';
import { LOAD_POSTGRES } from './loadPostgres.ts';

/** A database that is exported with --move: no service uses it until `close`. */
export interface SourceHold {
  /** An earlier move has marked it already: the mark stays when this one fails, and its credits may be spent in another place. */
  readonly wasMoved: boolean;
  /** The export is whole: the source does not start until it is released. A DataError says that this has not marked it. */
  finish(): Promise<void>;
  /** Lets go, unless the move is finished. */
  close(): Promise<void>;
}

export async function holdForMove(config: Config, exportId: string): Promise<SourceHold> {
  return config.databaseUrl === null ? holdFolder(config, exportId) : holdDatabase(config.databaseUrl, exportId);
}

/** Answers whether the database had been moved. */
export async function releaseMove(config: Config): Promise<boolean> {
  if (config.databaseUrl !== null) return (await LOAD_POSTGRES.hold()).releaseMoved(config.databaseUrl, wallClockMs());
  requireDatabase(config);
  // Without the lock: a service that runs was not moved, and is not to be stopped.
  if (!orNotReleased(config, () => findsMove(config))) return false;
  const folder = ownFolder(config);
  try {
    return orNotReleased(config, () => {
      using db = openDurably(databaseIn(config));
      return releaseMoved(db, wallClockMs());
    });
  } finally {
    folder.release();
  }
}

async function holdDatabase(url: string, exportId: string): Promise<SourceHold> {
  const { DatabaseHold } = await LOAD_POSTGRES.hold();
  return DatabaseHold.take(url, { exportId, atMs: wallClockMs() });
}

/** No service runs on the folder, and none can start until `close`. A process that dies before `finish` lets go of it, and leaves no mark. */
function holdFolder(config: Config, exportId: string): SourceHold {
  requireDatabase(config);
  const folder = ownFolder(config);
  try {
    refuseAsStart(config);
    return {
      wasMoved: wasMoved(config),
      async finish() {
        using db = openDurably(databaseIn(config));
        noteMoved(db, { exportId, atMs: wallClockMs() });
      },
      close: async () => folder.release(),
    };
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** The same of a database that may not be ours, or of another version. */
function findsMove(config: Config): boolean {
  using db = new Database(databaseIn(config), { readonly: true });
  refuseOtherVersion(db, config.data);
  return findMoved(db) !== null;
}

/** What such a database lacks would be missing in the other place, where nothing tells of it. */
function refuseAsStart(config: Config): void {
  using db = new Database(databaseIn(config), { readonly: true });
  refuseOtherVersion(db, config.data);
  if (config.acceptLostCommits) return;
  refuseCopy(db, config.data);
  refuseLostCommits(config.data, readLastCommit(db));
}

function wasMoved(config: Config): boolean {
  using db = new Database(databaseIn(config), { readonly: true });
  return findMoved(db) !== null;
}

function requireDatabase(config: Config): void {
  if (hasDatabase(config)) return;
  const refusal = config.acceptLostCommits ? null : missingRefusal(config.data);
  throw failed(
    refusal ?? `There is no database in ${config.data}. Set KEYSTILE_DATA to the data folder of the service.`,
  );
}

function ownFolder(config: Config): DataFolder {
  const startedAt = new Date(wallClockMs()).toISOString();
  try {
    return DataFolder.own(config.data, { pid: process.pid, host: hostname(), startedAt, control: null, url: null });
  } catch (error) {
    if (!(error instanceof FolderOwned)) throw error;
    throw failed(`${ownedBy(config, error.owner)}. ${adviceOn(error.owner)}`);
  }
}

function adviceOn({ control, url }: Owner): string {
  const isCommand = control === null && url === null;
  return isCommand
    ? 'That process is another command. Run this one again when it has ended.'
    : 'That process is the service. Stop it first.';
}

function orNotReleased<T>({ data }: Config, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof DataError) throw error;
    const { kind, message } = toWriteFailure(error);
    const advice = kind === 'full' ? 'Make space on its disk' : 'Check its disk, and whether this user may write there';
    throw failed(`The data folder ${data} was not released (${message}). ${advice}. Then run the command again.`);
  }
}

function databaseIn({ data }: Config): string {
  return join(data, 'keystile.db');
}
