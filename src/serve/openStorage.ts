import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { compose, type Composed, composeNode, LOAD_POSTGRES, locationOf, type Surroundings } from '../compose.ts';
import type { Config } from '../config/variables.ts';
import type { Engine } from '../engine/engine.ts';
import type { BackgroundGauges } from '../http/answer/metrics.ts';
import type { Tracer } from '../http/answer/tracer.ts';
import type { Log } from '../log.ts';
import { CannotStart } from './exit.ts';
import { type RootKeyCommand, runRootKeyCommand } from './rootKeys.ts';
import type { CertificateFiles } from './tls/certificateFiles.ts';
import type { Task } from '../storage/port/tasks.ts';
import type { PostgresStorage } from '../storage/postgres/storage.ts';
import { PostgresTasks } from '../storage/postgres/tasks.ts';
import { refusalOf } from '../storage/sqlite/backup/makeBackup.ts';
import { DataFolder, isPrivate, type Owner, readOwner } from '../storage/sqlite/file/dataFolder.ts';
import type { RestoredNote } from '../storage/sqlite/file/installation.ts';
import { sqliteTasks } from '../storage/sqlite/tasks.ts';
import { Digester, monotonicMs, realSystem, wallClockMs } from '../bunPlatform.ts';

/** The service with its database open: a data folder that this process owns, or a PostgreSQL that it shares with other nodes. */
export interface OpenStorage {
  readonly composed: Composed;
  /** The database that the nodes share. Null: the database is embedded. */
  readonly cluster: PostgresStorage | null;
  /** The background work of the database, and its metrics. */
  watch(syncLagMs: () => number | null): { readonly tasks: readonly Task[]; readonly gauges: () => BackgroundGauges };
  /** Where the data is stored. */
  readonly where: string;
  /** The data folder was made by this start. */
  readonly isNew: boolean;
  /** The note that the database came from a backup. Null: it did not, or its tools leave no note (PostgreSQL). */
  readonly restored: RestoredNote | null;
  /** The socket of the command line; null = it needs none. */
  readonly control: string | null;
  /** Starts to serve the command line. Called once the service listens at `url`. */
  serveCommandLine(url: string): void;
  stopCommandLine(): Promise<void>;
  close(): Promise<void>;
}

interface StorageContext {
  readonly config: Config;
  readonly log: Log;
  /** Null: the service speaks plain HTTP. */
  readonly certificates: CertificateFiles | null;
  /** Null: nothing is traced. */
  readonly telemetry: { readonly tracer: Tracer } | null;
}

export function openStorage(context: StorageContext, onBroken: (error: Error) => void): Promise<OpenStorage> {
  const { databaseUrl } = context.config;
  return databaseUrl === null ? openFolder(context, onBroken) : joinNodes(context, databaseUrl, onBroken);
}

/** Gives the status access to the certificate. */
function certificateOf(certificates: CertificateFiles | null): Pick<Surroundings, 'readCertificate'> {
  return certificates === null ? {} : { readCertificate: () => certificates.readState() };
}

async function openFolder(
  { config, log, certificates, telemetry }: StorageContext,
  onBroken: (error: Error) => void,
): Promise<OpenStorage> {
  const refusal = config.backupFolder === null ? null : refusalOf(config.backupFolder, config.data);
  if (refusal !== null)
    throw new CannotStart(`${refusal} Set it to another folder: a backup must not be lost with what it is a copy of.`);
  const { control: formerControl } = readOwner(config.data);
  const control = placeControl(config.data);
  const startedAt = new Date(wallClockMs()).toISOString();
  const owner: Owner = { pid: process.pid, host: hostname(), startedAt, control: control.path, url: null };
  let folder: DataFolder;
  try {
    folder = DataFolder.own(config.data, owner, config.requireData);
  } catch (error) {
    control.removeFolder();
    throw error;
  }
  removeFormerControl(formerControl);
  const digester = new Digester(config.pepper);
  const surroundings = {
    config,
    folder,
    digester,
    log,
    monotonicMs,
    onBroken,
    system: realSystem(digester),
    tracer: telemetry?.tracer ?? null,
    ...certificateOf(certificates),
  };
  const composed = await compose(surroundings).catch((error: unknown) => {
    folder.release();
    control.removeFolder();
    throw error;
  });
  let controlServer: { stop(): Promise<void> } | null = null;
  return {
    composed,
    cluster: null,
    watch: () => ({
      tasks: [
        ...sqliteTasks(composed.storage, { log, monotonicMs }),
        ...(composed.backups === null ? [] : [composed.backups]),
      ],
      gauges: () => ({
        cluster: null,
        walBytes: composed.storage.walBytes,
        backupAgeMs: composed.backups?.ageMs ?? null,
      }),
    }),
    where: config.data,
    isNew: folder.isNew,
    restored: composed.storage.restored,
    control: control.path,
    serveCommandLine(url) {
      folder.nameOwner({ ...owner, url, ...(config.tlsCert === null ? {} : { tlsCert: resolve(config.tlsCert) }) });
      controlServer = listenControl(composed.service.engine, control);
    },
    stopCommandLine: async () => controlServer?.stop(),
    close: async () => {
      await composed.close();
      folder.release();
      control.removeFolder();
    },
  };
}

async function joinNodes(
  { config, log, certificates, telemetry }: StorageContext,
  databaseUrl: string,
  onOutdated: (error: Error) => void,
): Promise<OpenStorage> {
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
    onOutdated,
    tracer: telemetry?.tracer ?? null,
    ...certificateOf(certificates),
  };
  const composed = await composeNode(surroundings);
  const { PostgresStorage: Shared } = await LOAD_POSTGRES();
  return {
    composed,
    cluster: composed.storage,
    watch: (syncLagMs) => watchNode(composed.storage, log, syncLagMs),
    where: `PostgreSQL at ${Shared.where(databaseUrl)} · location ${location}`,
    isNew: false,
    restored: null,
    control: null,
    serveCommandLine() {},
    stopCommandLine: async () => {},
    close: () => composed.close(),
  };
}

export function watchNode(
  storage: PostgresStorage,
  log: Log,
  syncLagMs: () => number | null,
): ReturnType<OpenStorage['watch']> {
  const watching = new PostgresTasks({ storage, log, syncLagMs });
  const { durability, freshness } = storage;
  const gauges = (): BackgroundGauges => ({
    cluster: {
      syncLagMs: syncLagMs(),
      freshnessAgeMs: freshness.ageMs,
      clockOffsetMs: storage.clockOffsetMs,
      oldestTransactionMs: watching.oldestTransactionMs,
      durability: {
        fsync: durability.facts.fsync,
        full_page_writes: durability.facts.full_page_writes,
        synchronous_standby_names: durability.facts.awaits_standby,
      },
    },
    walBytes: null,
  });
  return { tasks: watching.tasks, gauges };
}

/** The longest socket path that every system accepts (macOS: 104 bytes with the final NUL). */
const MAX_SOCKET_PATH = 103;

const SOCKET = 'control.sock';
/** Folders in the temporary folder begin like this. */
const PRIVATE_FOLDER = 'keystile-control-';

/** Where the process that owns a data folder serves the command line. */
interface ControlPlace {
  readonly path: string;
  /** Removes the folder that was made for it, if one was. */
  removeFolder(this: void): void;
}

/**
 * The socket is in the data folder. If its path would be too long, it is in a new private folder with an unpredictable name: in a temporary
 * folder that all users share, somebody else could take a predictable name first.
 */
export function placeControl(dataFolder: string): ControlPlace {
  const path = join(resolve(dataFolder), SOCKET);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return { path, removeFolder() {} };
  const folder = makePrivate();
  return { path: join(folder, SOCKET), removeFolder: () => rmSync(folder, { recursive: true, force: true }) };
}

function makePrivate(): string {
  try {
    return mkdtempSync(join(tmpdir(), PRIVATE_FOLDER));
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw new CannotStart(
      `The path of the data folder is too long for the control socket, and no folder for it can be made in ${tmpdir()} (${code}). Set TMPDIR to another folder, or KEYSTILE_DATA to a shorter path.`,
    );
  }
}

/** Removes the folder that a killed process has left behind, found by the path of its socket. Folders of other users stay. */
function removeFormerControl(path: string | null): void {
  const folder = path === null ? '' : dirname(path);
  if (!folder.startsWith(join(tmpdir(), PRIVATE_FOLDER)) || dirname(folder) !== tmpdir()) return;
  if (isPrivate(folder, process.geteuid?.() ?? -1)) rmSync(folder, { recursive: true, force: true });
}

/** Only users who can read the data folder can connect: the socket has mode 0600, and its folder has mode 0700. */
export function listenControl(engine: Engine, { path, removeFolder }: ControlPlace): { stop(): Promise<void> } {
  rmSync(path, { force: true });
  const umask = process.umask(0o177);
  const server = Bun.serve({
    unix: path,
    development: false,
    async fetch(request) {
      try {
        return Response.json(await runRootKeyCommand(engine, (await request.json()) as RootKeyCommand));
      } catch (error) {
        return Response.json({ error: error instanceof Error ? error.message : String(error) }, { status: 400 });
      }
    },
  });
  process.umask(umask);
  chmodSync(path, 0o600);
  return {
    async stop() {
      await server.stop(true);
      rmSync(path, { force: true });
      removeFolder();
    },
  };
}
