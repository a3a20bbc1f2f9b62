import { constants, existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Config } from '../../config/variables.ts';
import { ONE_PROCESS, readDisk } from '../../doctor/databaseFacts.ts';
import { type FactName, type Facts, type FolderFact, noneKnown, NotKnown } from '../../doctor/facts.ts';
import { webhookFacts } from '../../doctor/webhookFacts.ts';
import { type InspectedFolder, inspectFolder, walBytesOf } from '../../storage/sqlite/file/inspectFolder.ts';
import { wallClockMs } from '../../system.ts';
import { isAccessible } from './isAccessible.ts';
import type { Running } from './running.ts';
import { readFolder } from './machineFacts.ts';

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
] as const;

/** Reads the data folder. It writes nothing there, whether a server runs or not. */
export async function gatherEmbedded({ data }: Config, { unasked }: Running): Promise<DatabaseGathered> {
  const folder = await orNotKnown(data, async () => readFolder(data));
  const hidden = unreadable(data, folder);
  const common = { ...noneKnown(OF_SHARED, ONE_PROCESS.because), nowMs: wallClockMs(), folder, nodes: unasked };
  if (hidden !== null) return { ...common, ...noneKnown([...OF_FILE, 'disk', 'walBytes'], hidden) };
  return {
    ...common,
    disk: await orNotKnown(data, () => readDisk(data)),
    walBytes: await orNotKnown(data, async () => walBytesOf(data)),
    ...(await fileFacts(data)),
  };
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

async function fileFacts(data: string): Promise<FileFacts> {
  const path = join(data, 'keystile.db');
  if (!existsSync(path)) return noneKnown(OF_FILE, `there is no database in ${data} yet`);
  if (!isAccessible(path, constants.R_OK)) return noneKnown(OF_FILE, `this user has no access to ${path}`);
  let found: InspectedFolder;
  try {
    found = await inspectFolder(data);
  } catch (error) {
    return unread(path, error);
  }
  const { schema, copyRefusal, useRefusal, records } = found;
  const known = { databaseFailure: null, schema, copyRefusal, useRefusal };
  if (records === null) return { ...noneKnown(OF_FILE, 'the database has the schema of another version'), ...known };
  return {
    ...known,
    rootKeys: records.rootKeys,
    webhooks: webhookFacts(records.webhooks, records.failing),
    // A change from the future shows that the clock was set back. How far it is ahead, nothing here tells.
    machineClockMs: Math.max(0, records.newestChangeMs - wallClockMs()),
  };
}

/** A file that is damaged is a problem. One that this user cannot open, or that only a start can read, is not known. */
function unread(path: string, error: unknown): FileFacts {
  const { code = '', message } = error as { code?: string; message: string };
  const unknown = noneKnown(OF_FILE, `${path} cannot be read without changing it (${code || message})`);
  const isDamaged =
    code.startsWith('SQLITE_NOTADB') || code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_IOERR');
  return isDamaged ? { ...unknown, databaseFailure: `${path} is damaged (${message}). Restore a backup.` } : unknown;
}
