import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { flushFolder } from '../file/dataFolder.ts';
import { toWriteFailure } from '../file/writeFailure.ts';
import { SqliteThread } from '../thread/threadClient.ts';
import { BackupError } from './backupError.ts';
import { BackupWriter } from './backupWriter.ts';
import { type CopyContents, inspectCopy } from './inspectCopy.ts';
import { makePartialFolder } from './partialFolder.ts';

const MIB = 2 ** 20;

/** A step of a backup. A file grows to about `bytes` meanwhile. */
export interface BackupStep {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

export interface BackupOptions {
  /** The data folder. A running service may own it. */
  readonly folder: string;
  /** The file to make. */
  readonly file: string;
  /** Replace an existing file. */
  readonly replaces: boolean;
  readonly nowMs: number;
  /** The version of this program. */
  readonly program: string;
  readonly onStep?: (step: BackupStep) => void;
}

export interface MadeBackup {
  readonly file: string;
  readonly bytes: number;
  readonly madeAtMs: number;
  readonly contents: CopyContents;
}

/**
 * Copies a data folder into one file, also while a service runs on it. Each database is copied in one read transaction, which begins
 * after `nowMs`: what was answered before is in the copy. analytics.db is copied first, so that every key that it counts is in the copy
 * of keystile.db; the encryption key last, because it is made before the first secret that needs it. Until the copy is whole, checked
 * and flushed, it has another name.
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const file = resolve(options.file);
  let partial: string | null = null;
  try {
    refuseTarget(file, options);
    const sizes = sourceSizes(options.folder);
    await refuseSmallDisk(dirname(file), sizes);
    partial = makePartialFolder(file);
    const contents = await fill(partial, sizes, options);
    renameSync(join(partial, 'backup'), file);
    flushFolder(dirname(file));
    return { file, bytes: statSync(file).size, madeAtMs: options.nowMs, contents };
  } catch (error) {
    throw toBackupError(file, error);
  } finally {
    if (partial !== null) rmSync(partial, { recursive: true, force: true });
  }
}

interface Sizes {
  readonly main: number;
  readonly analytics: number;
}

async function fill(partial: string, sizes: Sizes, options: BackupOptions): Promise<CopyContents> {
  const { folder, nowMs, program } = options;
  const onStep = options.onStep ?? (() => {});
  const copy = { path: join(partial, 'keystile.db'), analyticsPath: join(partial, 'analytics.db') };
  const thread = await SqliteThread.start({ role: 'copier', ...sourcePaths(folder) }, () => {});
  try {
    onStep({ name: 'copying analytics.db', path: copy.analyticsPath, bytes: sizes.analytics });
    await thread.call('query', { sql: 'VACUUM analytics INTO ?', params: [copy.analyticsPath] });
    onStep({ name: 'copying keystile.db', path: copy.path, bytes: sizes.main });
    await thread.call('query', { sql: 'VACUUM main INTO ?', params: [copy.path] });
  } finally {
    await thread.close();
  }
  onStep({ name: 'checking the copy', path: copy.path, bytes: statSync(copy.path).size });
  const contents = await inspectCopy('The copy', copy);
  const path = join(partial, 'backup');
  onStep({ name: 'writing the backup', path, bytes: statSync(copy.path).size + statSync(copy.analyticsPath).size });
  const writer = await BackupWriter.create(path, { program, madeAtMs: nowMs });
  try {
    await writer.addFile('analytics.db', copy.analyticsPath);
    await writer.addFile('keystile.db', copy.path);
    const key = join(folder, 'encryption-key');
    if (existsSync(key)) await writer.addFile('encryption-key', key);
    await writer.finish();
  } finally {
    await writer.close();
  }
  return contents;
}

function sourcePaths(folder: string): { readonly path: string; readonly analyticsPath: string } {
  return { path: join(folder, 'keystile.db'), analyticsPath: join(folder, 'analytics.db') };
}

/** The most that each copy can take: the database and what its log adds. */
function sourceSizes(folder: string): Sizes {
  const { path, analyticsPath } = sourcePaths(folder);
  const sizeOf = (each: string): number => {
    const stat = statSync(each, { throwIfNoEntry: false });
    if (stat === undefined)
      throw new BackupError(`There is no ${each}. Set KEYSTILE_DATA to a data folder in which the service has run.`);
    return stat.size + (statSync(`${each}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  };
  return { main: sizeOf(path), analytics: sizeOf(analyticsPath) };
}

function refuseTarget(file: string, { replaces }: BackupOptions): void {
  if (!existsSync(dirname(file)))
    throw new BackupError(`The folder ${dirname(file)} does not exist. Create it, or name a file in another folder.`);
  const target = statSync(file, { throwIfNoEntry: false });
  if (target?.isDirectory() === true) throw new BackupError(`${file} is a folder. Name a file in it.`);
  if (target !== undefined && !replaces)
    throw new BackupError(`${file} exists. Name another file, or replace it with --force.`);
}

/** The copies and the file made of them are on disk at the same time. A disk that is filled would stop the service. */
async function refuseSmallDisk(folder: string, { main, analytics }: Sizes): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const needed = 2 * (main + analytics);
  if (bavail * bsize >= needed) return;
  throw new BackupError(
    `The disk of ${folder} has ${Math.floor((bavail * bsize) / MIB)} MiB free, and the backup needs up to ${Math.ceil(needed / MIB)} MiB while it is made. ` +
      'Make space, or name a file on another disk.',
  );
}

function toBackupError(file: string, error: unknown): Error {
  if (error instanceof BackupError) return error;
  const failure = toWriteFailure(error);
  const advice =
    failure.kind === 'full' ? 'Make space, or name a file on another disk.' : 'Check the disk and the data folder.';
  return new BackupError(`The backup ${file} was not made (${failure.message}). Nothing is left of it. ${advice}`);
}
