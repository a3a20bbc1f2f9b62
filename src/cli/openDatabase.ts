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

/** The service inside this process, on the database itself. A command uses it while no server runs. */
export interface InProcessService {
  readonly service: Service;
  close(): Promise<void>;
}

/** Whether a database exists. Fails when this user has no access to the data folder. */
export function hasDatabase({ data, databaseUrl }: Config): boolean {
  if (databaseUrl !== null) return true;
  try {
    accessSync(data, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    if (code === 'ENOENT') return false;
    throw failed(
      `This user has no access to the data folder ${data} (${code}). Run the command as the user of the service.`,
    );
  }
  return existsSync(join(data, 'keystile.db'));
}

/** Opens the data folder, or returns its owner: a server, or another command that soon ends. */
export async function openUnlessOwned(config: Config): Promise<InProcessService | Owner> {
  if (config.databaseUrl !== null) return openNode(config, config.databaseUrl);
  const owner = findOwner(config.data);
  if (owner !== null) return owner;
  const startedAt = new Date(wallClockMs()).toISOString();
  const self = { pid: process.pid, host: hostname(), startedAt, control: null, url: null };
  try {
    return await open(config, DataFolder.own(config.data, self));
  } catch (error) {
    // Another process may have taken the folder since the check above.
    if (error instanceof FolderOwned) return error.owner;
    throw error;
  }
}

async function open(config: Config, folder: DataFolder): Promise<InProcessService> {
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
        // After a disk failure nothing more is saved: a second flush could wrongly report success.
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

/** PostgreSQL has no single owner: a command works on it while the nodes run. */
export async function openNode(
  config: Config,
  databaseUrl: string,
): Promise<InProcessService & { storage: PostgresStorage }> {
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

/** A command reports problems as its error. A log would only repeat them. */
function silentLog(): Log {
  return new Log({ level: 'error', format: 'text', nowMs: wallClockMs, write: () => {} });
}

export function noDatabase(config: Config, url: string): Failure {
  return failed(
    `No server answers at ${url}, and there is no database in ${config.data}.`,
    'Start a server with keystile serve, or set KEYSTILE_URL to a server or KEYSTILE_DATA to a data folder.',
  );
}

export function ownedBy(config: Config, owner: Owner): string {
  return `The data folder ${config.data} is in use by process ${owner.pid} on ${owner.host}, started ${owner.startedAt}`;
}

/** How long a command waits for another command to end, or for a server to start. */
export const WAIT_FOR_OWNER_MS = 5_000;
const POLL_MS = 25;

/** Repeats `attempt` until it returns a value. Returns null after WAIT_FOR_OWNER_MS. */
export async function retryFor<T>(attempt: () => Promise<T | null>): Promise<T | null> {
  const startedAt = monotonicMs();
  for (;;) {
    const answer = await attempt();
    if (answer !== null || monotonicMs() - startedAt > WAIT_FOR_OWNER_MS) return answer;
    await Bun.sleep(POLL_MS);
  }
}
