import { accessSync, constants, existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { compose, composeNode } from '../compose.ts';
import type { Config } from '../config/variables.ts';
import type { Service } from '../http/service.ts';
import { Log } from '../log.ts';
import { EXIT } from '../serve/exitCodes.ts';
import { locationOf } from '../serve/openStorage.ts';
import type { PostgresStorage } from '../storage/postgres/storage.ts';
import { DataFolder, findOwner, FolderOwned, type Owner } from '../storage/sqlite/file/dataFolder.ts';
import { Digester, monotonicMs, realSystem, wallClockMs } from '../system.ts';
import { failed, Failure } from './cliError.ts';

/** The service on the data folder itself, inside this process: what a command works with while no server runs. */
export interface Opened {
  readonly service: Service;
  close(): Promise<void>;
}

/** Whether there is one to open; fails when this user may not even look. */
export function hasDatabase({ data, databaseUrl }: Config): boolean {
  if (databaseUrl !== null) return true;
  try {
    accessSync(data, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    if (code === 'ENOENT') return false;
    throw failed(`The data folder ${data} cannot be used by this user (${code}). Run this as the user of the service.`);
  }
  return existsSync(join(data, 'keystile.db'));
}

/** Opens the data folder, or says who owns it: a server, or another command that will soon be done. */
export async function openUnlessOwned(config: Config): Promise<Opened | Owner> {
  if (config.databaseUrl !== null) return openNode(config, config.databaseUrl);
  const owner = findOwner(config.data);
  if (owner !== null) return owner;
  const startedAt = new Date(wallClockMs()).toISOString();
  const self = { pid: process.pid, host: hostname(), startedAt, control: null, url: null };
  try {
    return await open(config, DataFolder.own(config.data, self));
  } catch (error) {
    // Someone may have been quicker since it was looked.
    if (error instanceof FolderOwned) return error.owner;
    throw error;
  }
}

async function open(config: Config, folder: DataFolder): Promise<Opened> {
  const digester = new Digester(config.pepper);
  const broken: { reason: string | null } = { reason: null };
  try {
    const composed = await compose({
      config,
      folder,
      digester,
      system: realSystem(digester),
      log: silentLog(),
      monotonicMs,
      onBroken: (error) => (broken.reason = error.message),
    });
    return {
      service: composed.service,
      async close() {
        // After a failed disk nothing is saved: a second flush could lie.
        if (broken.reason !== null) throw new Failure(EXIT.DISK_FAILED, [`The database has failed: ${broken.reason}.`]);
        await composed.close();
        folder.release();
      },
    };
  } catch (error) {
    folder.release();
    throw error;
  }
}

/** PostgreSQL is nobody's alone: a command works on it beside the nodes. */
export async function openNode(config: Config, databaseUrl: string): Promise<Opened & { storage: PostgresStorage }> {
  const digester = new Digester(config.pepper);
  return composeNode({
    config,
    digester,
    system: realSystem(digester),
    log: silentLog(),
    monotonicMs,
    databaseUrl,
    location: locationOf(config),
    upgrades: false,
  });
}

/** What goes wrong is told as the error of the command; a log of one command would only say it twice. */
function silentLog(): Log {
  return new Log({ level: 'error', format: 'text', nowMs: wallClockMs, write: () => {} });
}

export function noDatabase(config: Config, url: string): Failure {
  return failed(
    `No server answers at ${url}, and there is no database in ${config.data}.`,
    'Start a server with keystile serve, or set KEYSTILE_URL (a server) or KEYSTILE_DATA (a data folder).',
  );
}

export function ownedBy(config: Config, owner: Owner): string {
  return `The data folder ${config.data} is in use by process ${owner.pid} on ${owner.host}, started ${owner.startedAt}`;
}

/** How long a command waits for one that came before it, or for a server that is just starting. */
export const PATIENCE_MS = 5_000;
const POLL_MS = 25;

/** Tries until there is an answer or patience ends; null then. */
export async function tryPatiently<T>(attempt: () => Promise<T | null>): Promise<T | null> {
  const startedAt = monotonicMs();
  for (;;) {
    const answer = await attempt();
    if (answer !== null || monotonicMs() - startedAt > PATIENCE_MS) return answer;
    await Bun.sleep(POLL_MS);
  }
}
