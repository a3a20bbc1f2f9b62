import { hostname } from 'node:os';

import { compose, type Composed, composeNode, locationOf } from '../compose.ts';
import type { Config } from '../config/variables.ts';
import { GONE_AFTER_MS } from '../core/health.ts';
import type { Engine } from '../engine/engine.ts';
import { makeHandler } from '../http/router.ts';
import { Log, type LogFields } from '../log.ts';
import { EXIT } from '../serve/exit.ts';
import type { NodeRecord } from '../storage/postgres/freshness/nodes.ts';
import type { PostgresStorage } from '../storage/postgres/storage.ts';
import { DataFolder, findOwner, FolderOwned, type Owner } from '../storage/sqlite/file/dataFolder.ts';
import { Digester, monotonicMs, realSystem, wallClockMs } from '../bunPlatform.ts';
import { CliError } from './cliError.ts';

/** The service inside this process, on the database itself. A command uses it while no server runs. */
export interface InProcessService {
  readonly engine: Engine;
  /** Answers a request as a server would. */
  send(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** The client address of requests that stay inside this process. */
const OWN_ADDRESS = '127.0.0.1';

/** Opens the database. Returns the owner of the data folder when another process has just taken it. */
export async function openInProcess(config: Config): Promise<InProcessService | Owner> {
  if (config.databaseUrl !== null) return toInProcess(await openNode(config, config.databaseUrl));
  // Another command may have taken the folder while this module was loaded. `own` would wait for it.
  const owner = findOwner(config.data);
  if (owner !== null) return owner;
  const startedAt = new Date(wallClockMs()).toISOString();
  const self = { pid: process.pid, host: hostname(), startedAt, control: null, url: null };
  try {
    return await openFolder(config, DataFolder.own(config.data, self, config.requireData));
  } catch (error) {
    if (error instanceof FolderOwned) return error.owner;
    throw error;
  }
}

async function openFolder(config: Config, folder: DataFolder): Promise<InProcessService> {
  const digester = new Digester(config.pepper);
  const broken: { reason: string | null } = { reason: null };
  try {
    const composed = await compose({
      config,
      folder,
      digester,
      system: realSystem(digester),
      log: silentLog(),
      tell: tellOnError,
      monotonicMs,
      onBroken: (error) => (broken.reason = error.message),
    });
    return toInProcess({
      service: composed.service,
      async close() {
        // After a disk failure nothing more is saved: a second flush could wrongly report success.
        if (broken.reason !== null)
          throw new CliError(EXIT.DISK_FAILED, [`The database has failed: ${broken.reason}.`]);
        await composed.close();
        folder.release();
      },
    });
  } catch (error) {
    folder.release();
    throw error;
  }
}

function toInProcess(composed: Pick<Composed, 'service' | 'close'>): InProcessService {
  const handle = makeHandler(composed.service);
  return {
    engine: composed.service.engine,
    send: (request) => handle(request, () => OWN_ADDRESS),
    close: () => composed.close(),
  };
}

/** PostgreSQL has no single owner: a command works on it while the nodes run. */
function openNode(config: Config, databaseUrl: string): Promise<Composed<PostgresStorage>> {
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

/** A node that shares the database. It is gone when it has not been seen for long. */
export type ListedNode = NodeRecord & { readonly isGone: boolean };

/** The nodes that share the database, and the time that they were listed at. */
export async function listNodes(
  config: Config,
  databaseUrl: string,
): Promise<{ nowMs: number; nodes: readonly ListedNode[] }> {
  const node = await openNode(config, databaseUrl);
  try {
    const { nowMs, nodes } = await node.storage.listNodes();
    return { nowMs, nodes: nodes.map((each) => ({ ...each, isGone: nowMs - each.seenAtMs > GONE_AFTER_MS })) };
  } finally {
    await node.close();
  }
}

/** Removes a node that is gone from the list. */
export async function forgetNode(
  config: Config,
  databaseUrl: string,
  id: string,
): ReturnType<PostgresStorage['forgetNode']> {
  const node = await openNode(config, databaseUrl);
  try {
    return await node.storage.forgetNode(id);
  } finally {
    await node.close();
  }
}

/** A command that finds an older database migrates it as a start does, and says so: that can take long. */
function tellOnError(message: string, fields: LogFields): void {
  const write = (line: string): void => void process.stderr.write(`${line}\n`);
  new Log({ level: 'info', format: 'text', nowMs: wallClockMs, write }).info(message, fields);
}

/** A command reports problems as its error. A log would only repeat them. */
function silentLog(): Log {
  return new Log({ level: 'error', format: 'text', nowMs: wallClockMs, write: () => {} });
}
