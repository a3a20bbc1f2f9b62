import { hostname } from 'node:os';

import { isLoopback } from './core/address.ts';
import { localUrl } from './basics/localUrl.ts';
import type { Config } from './config/variables.ts';
import { ID_RANDOM_BYTES, makeId } from './core/ids.ts';
import { type CertificateFact, type DatabaseFacts, embeddedFacts, PLAIN_HTTP, sharedFacts } from './doctor/facts.ts';
import { StatusReader } from './doctor/statusReader.ts';
import type { SecretBox } from './engine/admin/webhookPorts.ts';
import { type Engine, makeEngine } from './engine/engine.ts';
import { Turns } from './engine/fairTurns.ts';
import type { System } from './engine/platform.ts';
import { type HealthGauges, HttpMetrics } from './http/answer/metrics.ts';
import type { Tracer } from './http/answer/tracer.ts';
import { HttpOutgoing, resolveName } from './outgoing/httpOutgoing.ts';
import type { Resolve } from './outgoing/target.ts';
import { makeService, type Service } from './http/service.ts';
import type { Log } from './log.ts';
import type { Storage } from './storage/port/storage.ts';
import type { Tell } from './storage/port/events.ts';
import type { PostgresStorage } from './storage/postgres/storage.ts';
import { makeBackup } from './storage/sqlite/backup/makeBackup.ts';
import { BackupSchedule } from './storage/sqlite/backup/schedule.ts';
import { DAMAGE_PAGE } from './storage/sqlite/file/damage.ts';
import { FolderKey } from './storage/sqlite/file/installation.ts';
import type { DataFolder } from './storage/sqlite/file/dataFolder.ts';
import type { LedgerObserver } from './storage/sqlite/ledger/ledger.ts';
import { SqliteStorage } from './storage/sqlite/storage.ts';
import { afterOthers, type Digester, KeyedSecretBox, newEncryptionKey } from './bunPlatform.ts';
import { VERSION } from './version.ts';

/** The client of PostgreSQL is a fifth of what a start loads: one without it leaves it out. */
export const LOAD_POSTGRES = () => import('./storage/postgres/storage.ts');

/** How long a target of a webhook may take to answer. */
const WEBHOOK_TIMEOUT_MS = 10_000;

export interface Surroundings {
  readonly config: Config;
  readonly system: System;
  readonly digester: Digester;
  readonly log: Log;
  readonly monotonicMs: () => number;
  /** For tests: runs work at the end of a pass of the event loop. */
  readonly afterOthers?: (work: () => void) => void;
  /** Absent or null: nothing is traced. */
  readonly tracer?: Tracer | null;
  /** For tests: where the names of webhook targets lead, and when a target takes too long. */
  readonly resolve?: Resolve;
  readonly webhookTimeout?: () => AbortSignal;
  /** Tells what a migration of the database does. Absent: the log does. */
  readonly tell?: Tell;
  /** How the certificate is doing. Absent: the service has none. */
  readonly readCertificate?: () => CertificateFact;
}

interface EmbeddedSurroundings extends Surroundings {
  readonly folder: DataFolder;
  /** Called when the disk or the database file has failed. The process should report it and end. */
  readonly onBroken: (error: Error) => void;
  /** For the benchmark: milliseconds that a slower disk would add to every flush. */
  readonly addedFlushMs?: number;
}

interface NodeSurroundings extends Surroundings {
  readonly databaseUrl: string;
  readonly location: string;
  /** False = does not migrate an older schema. */
  readonly upgrades?: boolean;
  /** Called when a newer program has migrated the database past this one. The process should report it and end. */
  readonly onOutdated?: (error: Error) => void;
  /** For tests: the ledger uses the system's clock, not the database's. */
  readonly isTimeVirtual?: boolean;
}

/** The whole service, ready for requests. */
export interface Composed<S extends Storage = Storage> {
  readonly service: Service;
  readonly storage: S;
  /** What the service finds when it examines itself, for the metrics. */
  readHealth(): Promise<HealthGauges>;
  /** Saves what is only in memory and closes the database. */
  close(): Promise<void>;
}

/** The same on the embedded database. */
export interface EmbeddedComposed extends Composed<SqliteStorage> {
  /** null = no backups are scheduled. */
  readonly backups: BackupSchedule | null;
}

/** The composition root: the one file that creates and connects all parts. This function uses the embedded database. */
export async function compose(surroundings: EmbeddedSurroundings): Promise<EmbeddedComposed> {
  const { config, folder, system, log } = surroundings;
  const metrics = new HttpMetrics();
  const broken: { stop: ((reason: string) => void) | null } = { stop: null };
  const storage = await SqliteStorage.open({
    folder,
    nowMs: system.nowMs,
    newWorkspaceId: () => newId(system, 'ws'),
    newFolderId: () => newId(system, 'folder'),
    maxWaiting: config.maxWaiting,
    idempotencyRetentionMs: config.idempotencyRetention,
    acceptLostCommits: config.acceptLostCommits,
    addedFlushMs: surroundings.addedFlushMs ?? 0,
    onBroken: (error) => {
      broken.stop?.('The database has failed; nothing more is answered from it.');
      surroundings.onBroken(error);
    },
    onDamage: (file, reason) => log.error(`the database is damaged; ${DAMAGE_PAGE} says what to do`, { file, reason }),
    observe: observeLedger(metrics, log),
    tell: tellOf(surroundings),
  });
  const key = new FolderKey(folder.path, newEncryptionKey);
  const given = config.encryptionKey ?? [];
  const secretBox = new KeyedSecretBox(
    () => [...given, ...key.find()],
    () => given[0] ?? key.findOrMake(),
  );
  const backups = scheduleBackups(surroundings, storage);
  const facts = embeddedFacts(storage, {
    id: newId(system, 'node'),
    location: locationOf(config),
    version: VERSION,
    nowMs: system.nowMs,
    folder: folder.path,
    backups,
  });
  const composed = assemble(storage, { metrics, facts }, { ...surroundings, secretBox });
  broken.stop = (reason) => composed.service.engine.verifier.stop(reason);
  return { ...composed, backups };
}

function scheduleBackups(
  { config, folder, system, log }: EmbeddedSurroundings,
  { workspaceId, folderId }: SqliteStorage,
): BackupSchedule | null {
  if (config.backupFolder === null) return null;
  return new BackupSchedule({
    folder: config.backupFolder,
    everyMs: config.backupEvery,
    keep: config.backupKeep,
    workspaceId,
    folderId,
    nowMs: system.nowMs,
    make: (file, nowMs) =>
      makeBackup({
        folder: folder.path,
        file,
        replaces: false,
        nowMs,
        program: VERSION,
        copyKeys: config.copyKey ?? [],
      }),
    log,
  });
}

/** The same for one node of many, on PostgreSQL. */
export async function composeNode(surroundings: NodeSurroundings): Promise<Composed<PostgresStorage>> {
  const { config, system, log, monotonicMs, databaseUrl, location } = surroundings;
  const metrics = new HttpMetrics();
  const outdated: { stop: ((reason: string) => void) | null } = { stop: null };
  const { PostgresStorage: Shared } = await LOAD_POSTGRES();
  const storage = await Shared.open({
    url: databaseUrl,
    node: newId(system, 'node'),
    location,
    version: VERSION,
    nowMs: system.nowMs,
    monotonicMs,
    random: () => randomFraction(system),
    newWorkspaceId: () => newId(system, 'ws'),
    poolSize: config.databasePool,
    maxWaiting: config.maxWaiting,
    idempotencyRetentionMs: config.idempotencyRetention,
    staleMaxMs: config.staleMax,
    observe: observeLedger(metrics, log),
    tell: tellOf(surroundings),
    allowFsyncOff: config.allowFsyncOff,
    isTimeVirtual: surroundings.isTimeVirtual === true,
    upgrades: surroundings.upgrades !== false,
    requiresData: config.requireData,
    onOutdated: (error) => {
      outdated.stop?.(error.message);
      surroundings.onOutdated?.(error);
    },
  });
  const keys = config.encryptionKey;
  const [newest] = keys ?? [];
  const secretBox =
    keys === null || newest === undefined
      ? null
      : new KeyedSecretBox(
          () => keys,
          () => newest,
        );
  const composed = assemble(storage, { metrics, facts: sharedFacts(storage) }, { ...surroundings, secretBox });
  outdated.stop = (reason) => composed.service.engine.verifier.stop(reason);
  return composed;
}

function assemble<S extends Storage>(
  storage: S,
  { metrics, facts }: { readonly metrics: HttpMetrics; readonly facts: DatabaseFacts },
  surroundings: Surroundings & { readonly secretBox: SecretBox | null },
): Composed<S> {
  const { config, system, digester, log, monotonicMs } = surroundings;
  const engine: Engine = makeEngine({
    storage,
    system,
    turns: new Turns(monotonicMs, surroundings.afterOthers ?? afterOthers),
    defaultTimezone: config.timezone,
    newIdentities: { mustExist: config.identitiesMustExist, defaultPlan: config.defaultPlan },
    maxCachedKeys: config.maxCachedKeys,
    maxLocalOwners: config.maxLocalCounters,
    maxLimitsPerNamespace: config.maxLimitsPerNamespace,
    quotas: {
      keys: config.maxKeys,
      apis: config.maxApis,
      verificationsPerSecond: config.maxVerificationsPerSecond,
      managementCallsPerSecond: config.maxManagementCallsPerSecond,
      managementBytesPerSecond: config.maxManagementBytesPerSecond,
    },
    maxTagLists: config.analyticsTagLists,
    portal: {
      url:
        config.publicUrl ??
        (isLoopback(config.host) ? localUrl(config.host, config.port, config.tlsCert !== null) : null),
      returnOrigins: config.portalReturnOrigins ?? [],
    },
    countsVerifications: config.analytics,
    eventRetentionMs: config.eventRetention,
    statementRetentionMs: config.statementRetention,
    auditRetentionMs: config.auditRetention,
    secretBox: surroundings.secretBox,
    outgoing: new HttpOutgoing({
      allowsPrivate: config.webhookAllowPrivate,
      resolve: surroundings.resolve ?? resolveName,
      timeoutMs: WEBHOOK_TIMEOUT_MS,
      ...(surroundings.webhookTimeout === undefined ? {} : { timeout: surroundings.webhookTimeout }),
      version: VERSION,
    }),
    retention: { minute: config.analyticsMinutes, hour: config.analyticsHours, day: config.analyticsDays },
    readStatus: () => status.read(),
  });
  const status = new StatusReader({
    engine,
    metrics,
    config,
    database: facts,
    version: VERSION,
    monotonicMs,
    readCertificate: surroundings.readCertificate ?? (() => PLAIN_HTTP),
  });
  return {
    service: makeService({ engine, config, digester, metrics, log, monotonicMs, tracer: surroundings.tracer ?? null }),
    storage,
    readHealth: () => status.readHealth(),
    close: async () => {
      try {
        await engine.close();
      } catch (error) {
        log.warn('counts could not be saved', { reason: error instanceof Error ? error.message : String(error) });
      }
      await storage.close();
    },
  };
}

function tellOf({ tell, log }: Surroundings): Tell {
  return tell ?? ((message, fields) => log.info(message, fields));
}

/** The label of this location: the configured one, or the name of the machine. */
export function locationOf(config: Config): string {
  return config.location ?? hostname();
}

/** A random number from 0 to below 1, with 53 random bits. */
function randomFraction(system: System): number {
  const [high = 0, low = 0] = new Uint32Array(system.randomBytes(8).slice().buffer);
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

function newId(system: System, kind: 'ws' | 'node' | 'folder'): string {
  return makeId(kind, system.nowMs(), system.randomBytes(ID_RANDOM_BYTES));
}

/** Logs a failure of commits when it begins and when it ends. A disk with little space fits small commits and refuses large ones. */
function observeLedger(metrics: HttpMetrics, log: Log): LedgerObserver {
  let failure: string | null = null;
  return {
    committed(size, milliseconds) {
      metrics.committed(size, milliseconds);
      if (failure !== null) log.limited('info', 'commits are possible again', { after: failure });
      failure = null;
    },
    refused(reason) {
      if (reason !== failure) log.limited('warn', 'commits are not possible', { reason });
      failure = reason;
    },
    noteFailed: (reason) => log.warn('the file commit-number could not be written; it will be tried again', { reason }),
    applyFailed: (reason) => log.warn('the log could not be applied to the accounts table; it is kept', { reason }),
  };
}
