import { isAccessible, type Running } from './askService.ts';
import { constants, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { readFolder } from './machineFacts.ts';
import type { Config } from '../../config/variables.ts';
import {
  type BackupFact,
  type DatabaseFailure,
  type FactName,
  type Facts,
  type FolderFact,
  noneKnown,
  NotKnown,
  ONE_PROCESS,
  readDisk,
  UNSCHEDULED,
  webhookFacts,
} from '../../doctor/facts.ts';
import { analyticsRefusal } from '../../storage/sqlite/analytics/analyticsFile.ts';
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
import { wallClockMs } from '../../bunPlatform.ts';

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
