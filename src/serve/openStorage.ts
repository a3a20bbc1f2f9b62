import { hostname } from 'node:os';

import { compose, composeNode, type Composed } from '../compose.ts';
import type { Config } from '../config/variables.ts';
import type { Log } from '../log.ts';
import { PostgresStorage } from '../storage/postgres/storage.ts';
import { DataFolder, type Owner } from '../storage/sqlite/file/dataFolder.ts';
import { Digester, monotonicMs, realSystem, wallClockMs } from '../system.ts';
import { controlPath, listenControl } from './control.ts';

/** The service on its database: a data folder that this process owns, or a place among other nodes. */
export interface Home {
  readonly composed: Composed;
  /** The database that other nodes share; null when it is embedded. */
  readonly cluster: PostgresStorage | null;
  /** Size of the write-ahead log of an embedded database. */
  readonly walBytes: (() => number) | null;
  /** For a person. */
  readonly where: string;
  /** The service listens there from now on: the command line is let in. */
  listening(url: string): void;
  /** The command line is not answered any more. */
  stopListening(): Promise<void>;
  close(): Promise<void>;
}

export function openHome(config: Config, log: Log, onBroken: (error: Error) => void): Promise<Home> {
  return config.databaseUrl === null ? openFolder(config, log, onBroken) : joinNodes(config, log, config.databaseUrl);
}

async function openFolder(config: Config, log: Log, onBroken: (error: Error) => void): Promise<Home> {
  const control = controlPath(config.data);
  const startedAt = new Date(wallClockMs()).toISOString();
  const owner: Owner = { pid: process.pid, host: hostname(), startedAt, control, url: null };
  const folder = DataFolder.own(config.data, owner);
  const digester = new Digester(config.pepper);
  const surroundings = { config, folder, digester, log, monotonicMs, onBroken, system: realSystem(digester) };
  const composed = await compose(surroundings).catch((error: unknown) => {
    folder.release();
    throw error;
  });
  let controlServer: { stop(): Promise<void> } | null = null;
  return {
    composed,
    cluster: null,
    walBytes: () => composed.storage.walBytes,
    where: `${config.data}${folder.isNew ? ' (new)' : ''}`,
    listening(url) {
      folder.nameOwner({ ...owner, url });
      controlServer = listenControl(composed.service.engine, control);
    },
    stopListening: async () => controlServer?.stop(),
    close: async () => {
      await composed.close();
      folder.release();
    },
  };
}

async function joinNodes(config: Config, log: Log, databaseUrl: string): Promise<Home> {
  const digester = new Digester(config.pepper);
  const location = locationOf(config);
  const surroundings = {
    config,
    digester,
    log,
    monotonicMs,
    system: realSystem(digester),
    databaseUrl,
    location,
    upgrades: true,
  };
  const composed = await composeNode(surroundings);
  return {
    composed,
    cluster: composed.storage,
    walBytes: null,
    where: `PostgreSQL at ${PostgresStorage.where(databaseUrl)} · location ${location}`,
    listening() {},
    stopListening: async () => {},
    close: () => composed.close(),
  };
}

export function locationOf(config: Config): string {
  return config.location ?? hostname();
}
