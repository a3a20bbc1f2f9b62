import { constants, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { findRunning, type Running, isAccessible } from './askService.ts';
import { readCertificate, readMetricsPort, readOpenFiles, readPort, readFolder } from './machineFacts.ts';
import { namedAsGiven } from '../../config/read.ts';
import type { Config } from '../../config/variables.ts';
import type { Outcome } from '../../doctor/check.ts';
import { examine } from '../../doctor/examine.ts';
import {
  type DatabaseFailure,
  ELSEWHERE,
  FACT_NAMES,
  type FactName,
  type Facts,
  type GatheredFacts,
  nodeStatuses,
  noneKnown,
  NotKnown,
  type StandbyFact,
  webhookFacts,
  type BackupFact,
  type FolderFact,
  ONE_PROCESS,
  readDisk,
  UNSCHEDULED,
} from '../../doctor/facts.ts';
import { OTHER_SESSIONS } from '../../serve/openFiles.ts';
import { OLDEST_VERSION } from '../../storage/postgres/connection/connector.ts';
import { causeOf, reasonOf, stateOf } from '../../storage/postgres/connection/databaseError.ts';
import { ForeignSession } from '../../storage/postgres/connection/ownSession.ts';
import { MissingRight, OldServer } from '../../storage/postgres/connection/wrongServer.ts';
import { type InspectedPostgres, inspectPostgres } from '../../storage/postgres/inspect.ts';
import { wallClockMs } from '../../bunPlatform.ts';
import { analyticsRefusal } from '../../storage/sqlite/analytics.ts';
import { BackupError } from '../../storage/sqlite/backup/backupError.ts';
import { refusalOf } from '../../storage/sqlite/backup/makeBackup.ts';
import { BackupSeries } from '../../storage/sqlite/backup/schedule.ts';
import { damagedAnalytics, damagedDatabase } from '../../storage/sqlite/file/damage.ts';
import {
  findDamage,
  type InspectedFolder,
  inspectFolder,
  walBytesOf,
} from '../../storage/sqlite/file/inspectFolder.ts';
import { isDamage } from '../../storage/sqlite/file/writeFailure.ts';
import { missingRefusal } from '../../storage/sqlite/ledger/commitQueue.ts';

type ValidConfiguration = Pick<Facts, 'config' | 'removedSettings'>;

/** The configuration, or what is wrong with it. */
export type ReadConfiguration = ValidConfiguration | Pick<Facts, 'settingProblems'>;

/** Makes every check, from outside and, where a service runs, with what it finds about itself. */
export async function examineAll(configuration: ReadConfiguration): Promise<readonly Outcome[]> {
  if ('settingProblems' in configuration) return examine(withoutConfiguration(configuration.settingProblems));
  const { config } = configuration;
  const running = await findRunning(config);
  const gathered = running.isElsewhere === true ? ofElsewhere(running) : await gatherAll(configuration, running);
  const outcomes = examine(gathered).map((outcome) => named(outcome, config));
  return withOwn(outcomes, running.outcomes);
}

/** A setting that was given as a flag is named by the flag, but not in a command, which is run without it. */
function named(outcome: Outcome, { origins }: Config): Outcome {
  if (!('text' in outcome)) return outcome;
  return { ...outcome, text: namedAsGiven(outcome.text, origins), fix: namedAsGiven(outcome.fix, origins) };
}

/** What this shell and this machine say is about another service. */
function ofElsewhere({ readiness, unasked }: Running): GatheredFacts {
  return { ...noneKnown(FACT_NAMES, unasked.because), settingProblems: [], removedSettings: [], readiness };
}

async function gatherAll({ config, removedSettings }: ValidConfiguration, running: Running): Promise<GatheredFacts> {
  const { databaseUrl } = config;
  const parts = await Promise.all([
    orNoneKnown(['port'], async () => ({ port: await readPort(config, running) })),
    orNoneKnown(['metricsPort'], async () => ({ metricsPort: await readMetricsPort(config, running) })),
    orNoneKnown(['openFiles'], async () => ({ openFiles: readOpenFiles(config, running) })),
    orNoneKnown(['certificate'], async () => ({ certificate: readCertificate(config) })),
    orNoneKnown(DATABASE_FACTS, () =>
      databaseUrl === null ? gatherEmbedded(config, running) : gatherShared(config, databaseUrl),
    ),
  ]);
  const [port, metricsPort, openFiles, certificate, ofDatabase] = parts;
  const { readiness, unasked } = running;
  const hasDefaultPlan = config.defaultPlan === null ? true : unasked;
  const ofRunning = { readiness, waiting: unasked, otherTags: unasked, hasDefaultPlan };
  return {
    config,
    settingProblems: [],
    removedSettings,
    ...ofRunning,
    ...port,
    ...metricsPort,
    ...openFiles,
    ...certificate,
    ...ofDatabase,
  };
}

/** A failure to read some facts hides no others. */
async function orNoneKnown<N extends FactName>(
  names: readonly N[],
  read: () => Promise<Pick<GatheredFacts, N>>,
): Promise<Pick<GatheredFacts, N>> {
  try {
    return await read();
  } catch (error) {
    const because = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    // The compiler gives up on so many names.
    return noneKnown(names, because) as object as Pick<GatheredFacts, N>;
  }
}

function withoutConfiguration(settingProblems: readonly string[]): GatheredFacts {
  return { ...noneKnown(FACT_NAMES, 'the configuration is wrong'), settingProblems, removedSettings: [] };
}

/** What the running service finds counts: it knows its own settings, which this shell may not have. */
function withOwn(outcomes: readonly Outcome[], own: readonly Outcome[]): readonly Outcome[] {
  const ownByName = new Map(own.map((each) => [each.name, each]));
  const known = new Set(outcomes.map(({ name }) => name));
  // A service of another version may know further checks.
  return [...outcomes.map((each) => ownByName.get(each.name) ?? each), ...own.filter(({ name }) => !known.has(name))];
}

const OF_DISK = ['folder', 'disk', 'walBytes', 'copyRefusal', 'backups'] as const;
const OF_CONTENTS = ['rootKeys', 'webhooks', 'nodes'] as const;
const OF_SERVER = [
  'machineClockMs',
  'databaseVersion',
  'databaseWarnings',
  'standby',
  'sessions',
  'schema',
  'useRefusal',
  'oldestTransactionMs',
  ...OF_CONTENTS,
] as const;

/** Reads from PostgreSQL, and writes nothing there, whether nodes run or not. */
export async function gatherShared(config: Config, url: string): Promise<DatabaseGathered> {
  const elsewhere = noneKnown(OF_DISK, ELSEWHERE.because);
  try {
    const found = await inspectPostgres({ url, allowFsyncOff: config.allowFsyncOff, wallClockMs });
    return { ...elsewhere, ...serverFacts(found, config), ...contentFacts(found) };
  } catch (error) {
    const unknown = { ...noneKnown(OF_SERVER, 'the database cannot be read'), ...elsewhere, nowMs: wallClockMs() };
    const failed = { ...unknown, databaseFailure: failureOf(error) };
    return error instanceof OldServer
      ? { ...failed, databaseVersion: { found: error.found, oldest: error.oldest } }
      : failed;
  }
}

function failureOf(error: unknown): DatabaseFailure {
  if (stateOf(error) !== null) return { text: `The database refused (${reasonOf(error)}).`, cause: causeOf(error) };
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof ForeignSession) return { text, cause: 'pooler' };
  return { text, cause: error instanceof MissingRight ? 'rights' : null };
}

function serverFacts(found: InspectedPostgres, { databasePool }: Config) {
  return {
    nowMs: found.nowMs,
    machineClockMs: found.clockMs,
    databaseFailure: found.missingRight === null ? null : { text: found.missingRight, cause: 'rights' as const },
    databaseVersion: { found: found.version, oldest: OLDEST_VERSION },
    databaseWarnings: found.warnings,
    standby: standbyFact(found.standby),
    sessions: { free: found.freeSessions, needed: databasePool + OTHER_SESSIONS },
    schema: found.schema,
    useRefusal: found.useRefusal,
    oldestTransactionMs: found.oldestTransactionMs,
  };
}

/** Not every user may see the standbys. Where none is awaited, that does not matter. */
export function standbyFact({ awaited, synchronous }: InspectedPostgres['standby']): StandbyFact | NotKnown {
  if (synchronous !== null || awaited === '') return { awaited, synchronous: synchronous ?? 0 };
  return new NotKnown('this user of PostgreSQL may not see its standbys: grant it pg_monitor');
}

const UNREADABLE = 'the database has no tables that this program knows, or this role may not read them';

function contentFacts({ contents, nowMs }: InspectedPostgres): Pick<DatabaseGathered, (typeof OF_CONTENTS)[number]> {
  if (contents === null) return noneKnown(OF_CONTENTS, UNREADABLE);
  const { rootKeys, webhooks, failing, nodes } = contents;
  return { rootKeys, webhooks: webhookFacts(webhooks, failing), nodes: nodeStatuses({ nowMs, nodes }, null) };
}

/** The facts that only the database tells, whichever it is. */
export const DATABASE_FACTS = [
  'nowMs',
  'folder',
  'machineClockMs',
  'databaseFailure',
  'databaseVersion',
  'databaseWarnings',
  'standby',
  'sessions',
  'schema',
  'copyRefusal',
  'useRefusal',
  'rootKeys',
  'nodes',
  'webhooks',
  'disk',
  'walBytes',
  'oldestTransactionMs',
  'backups',
] as const satisfies readonly FactName[];

export type DatabaseGathered = { readonly [N in (typeof DATABASE_FACTS)[number]]: Facts[N] | NotKnown };

const OF_SHARED = [
  'databaseVersion',
  'databaseWarnings',
  'standby',
  'sessions',
  'oldestTransactionMs',
] as const satisfies readonly FactName[];

const OF_FILE = [
  'databaseFailure',
  'schema',
  'copyRefusal',
  'useRefusal',
  'rootKeys',
  'webhooks',
  'machineClockMs',
  'backups',
] as const;

/** Reads the data folder. It writes nothing there, whether a server runs or not. */
export async function gatherEmbedded(config: Config, running: Running): Promise<DatabaseGathered> {
  const { data } = config;
  const folder = await orNotKnown(data, async () => readFolder(data));
  const hidden = unreadable(data, folder);
  const common = { ...noneKnown(OF_SHARED, ONE_PROCESS.because), nowMs: wallClockMs(), folder, nodes: running.unasked };
  const refused = refusedBackups(config);
  if (hidden !== null) return { ...common, ...noneKnown([...OF_FILE, 'disk', 'walBytes'], hidden), ...refused };
  return {
    ...common,
    disk: await orNotKnown(data, () => readDisk(data)),
    walBytes: await orNotKnown(data, async () => walBytesOf(data)),
    ...(await fileFacts(config, running)),
    ...refused,
  };
}

/** The service does not start with a folder for backups in the data folder, whether there is a database yet or not. */
function refusedBackups({ backupFolder, backupEvery, data }: Config): { readonly backups?: BackupFact } {
  const refusal = backupFolder === null ? null : refusalOf(backupFolder, data);
  if (backupFolder === null || refusal === null) return {};
  const state = { folder: resolve(backupFolder), everyMs: backupEvery, firstAwaitedSinceMs: null, newestAtMs: null };
  return { backups: { ...state, failure: refusal, isRefused: true } };
}

/** Why nothing in the folder can be read; null = it can. */
function unreadable(data: string, folder: FolderFact | NotKnown): string | null {
  if (folder instanceof NotKnown) return folder.because;
  if (folder === null) return `there is no data folder ${data}`;
  return folder[0]?.isAccessible === true ? null : `this user has no access to ${data}`;
}

async function orNotKnown<T>(path: string, read: () => Promise<T>): Promise<T | NotKnown> {
  try {
    return await read();
  } catch (error) {
    return new NotKnown(`${path} cannot be read (${(error as { code?: string }).code ?? String(error)})`);
  }
}

type FileFacts = Pick<DatabaseGathered, (typeof OF_FILE)[number]>;

async function fileFacts(config: Config, running: Running): Promise<FileFacts> {
  const { data } = config;
  const path = join(data, 'keystile.db');
  if (!existsSync(path)) return withoutFile(data);
  if (!isAccessible(path, constants.R_OK)) return noneKnown(OF_FILE, `this user has no access to ${path}`);
  let found: InspectedFolder;
  try {
    found = await inspectFolder(data);
  } catch (error) {
    return unread(path, error);
  }
  const { schema, copyRefusal, useRefusal, records, ids } = found;
  // A running service tells of damage itself.
  const databaseFailure = refusedAnalytics(data) ?? (running.owner === null ? damageOf(data) : null);
  const known = { databaseFailure, schema, copyRefusal, useRefusal };
  if (records === null) return { ...noneKnown(OF_FILE, 'the database has the schema of another version'), ...known };
  return {
    ...known,
    rootKeys: records.rootKeys,
    backups: await backupFacts(config, running, ids),
    webhooks: webhookFacts(records.webhooks, records.failing),
    // A change from the future shows that the clock was set back. How far it is ahead, nothing here tells.
    machineClockMs: Math.max(0, records.newestChangeMs - wallClockMs()),
  };
}

/** A folder without a database is new, or has lost it. */
function withoutFile(data: string): FileFacts {
  const unknown = noneKnown(OF_FILE, `there is no database in ${data}`);
  const missing = missingRefusal(data);
  return missing === null ? unknown : { ...unknown, databaseFailure: { text: missing, cause: 'damage' } };
}

function refusedAnalytics(data: string): DatabaseFailure | null {
  const refusal = analyticsRefusal(data);
  return refusal === null ? null : { text: refusal.text, cause: refusal.isDamaged ? 'counts' : null };
}

/** Reads both files from end to end. */
function damageOf(data: string): DatabaseFailure | null {
  const [path, analyticsPath] = [join(data, 'keystile.db'), join(data, 'analytics.db')];
  const ofDatabase = findDamage(path);
  if (ofDatabase !== null) return { text: damagedDatabase(path, ofDatabase), cause: 'damage' };
  const ofAnalytics = existsSync(analyticsPath) ? findDamage(analyticsPath) : null;
  return ofAnalytics === null ? null : { text: damagedAnalytics(analyticsPath, ofAnalytics), cause: 'counts' };
}

/** A running service tells of its own backups. Of one that is stopped, the folder tells. */
async function backupFacts(
  { backupFolder: folder, backupEvery: everyMs }: Config,
  { outcomes, owner, unasked }: Running,
  ids: InspectedFolder['ids'],
): Promise<BackupFact | NotKnown> {
  if (folder === null || outcomes.length > 0) return UNSCHEDULED;
  if (owner !== null || ids === null) return unasked;
  const state = { folder: resolve(folder), everyMs, firstAwaitedSinceMs: null };
  try {
    const newest = (await new BackupSeries(folder, ids).list(wallClockMs())).at(-1);
    return { ...state, newestAtMs: newest?.atMs ?? null, failure: null };
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    return { ...state, newestAtMs: null, failure: error.message };
  }
}

/** A file that is damaged is a problem. One that this user cannot open, or that only a start can read, is not known. */
function unread(path: string, error: unknown): FileFacts {
  const { code = '', message } = error as { code?: string; message: string };
  const unknown = noneKnown(OF_FILE, `${path} cannot be read without changing it (${code || message})`);
  if (!isDamage(error)) return unknown;
  return { ...unknown, databaseFailure: { text: damagedDatabase(path, `${code}: ${message}`), cause: 'damage' } };
}
