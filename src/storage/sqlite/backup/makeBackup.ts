import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

import type { CopyKeys } from '../../sql/copySignature.ts';
import { BackupWriter, FORMAT_LINE } from './backupFile.ts';
import { BackupError } from './backupError.ts';
import { type CopyContents, inspectCopy } from './inspectCopy.ts';
import { DAMAGE_PAGE } from '../file/damage.ts';
import { flushFolder } from '../file/dataFolder.ts';
import { findDamage } from '../file/inspectFolder.ts';
import { statOrNull, targetProblem } from '../file/copyBeforeMigration.ts';
import { endsWriting, toWriteFailure, type WriteFailure } from '../file/writeFailure.ts';
import { SqliteThread } from '../thread/threadClient.ts';

const MIB = 2 ** 20;

/** A step of a backup. Meanwhile a file grows to about `bytes`. */
export interface BackupStep {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

interface BackupOptions {
  /** The data folder. A running service may own it. */
  readonly folder: string;
  /** The file to make. */
  readonly file: string;
  /** Replace an older backup. */
  readonly replaces: boolean;
  readonly nowMs: number;
  /** The version of this program. */
  readonly program: string;
  readonly copyKeys: CopyKeys;
  readonly onStep?: (step: BackupStep) => void;
}

export interface MadeBackup {
  readonly file: string;
  readonly bytes: number;
  readonly madeAtMs: number;
  readonly contents: CopyContents;
}

/**
 * Copies a data folder into one file, even while a service runs on it. Each database is copied in one read transaction, which begins after
 * `nowMs`, so everything that was answered before is in the copy. analytics.db is copied first, so that every key that it counts is in the
 * copy of keystile.db. The encryption key is copied last, because it is made before the first secret that needs it. Until the copy is
 * complete, checked and flushed, it has another name.
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const file = resolve(options.file);
  let partial: string | null = null;
  try {
    refuseTarget(options);
    const sizes = sourceSizes(options.folder);
    await refuseSmallDisk(dirname(file), sizes);
    partial = makePartialFolder(file);
    const contents = await fill(partial, sizes, options);
    // The copy took time, so another file may be in its place by now.
    refuseTarget(options);
    renameSync(join(partial, 'backup'), file);
    flushFolder(dirname(file));
    return { file, bytes: statSync(file).size, madeAtMs: options.nowMs, contents };
  } catch (error) {
    throw toBackupError(options, error);
  } finally {
    if (partial !== null) rmSync(partial, { recursive: true, force: true });
  }
}

interface Sizes {
  readonly main: number;
  readonly analytics: number;
}

async function fill(partial: string, sizes: Sizes, options: BackupOptions): Promise<CopyContents> {
  const { folder, nowMs, program, copyKeys } = options;
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
  const writer = await BackupWriter.create(path, { program, madeAtMs: nowMs }, copyKeys);
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

/** The largest size of each copy: the database and what its log adds. */
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

/** The copies and the file made from them are on disk at the same time. A full disk would stop the service. */
async function refuseSmallDisk(folder: string, { main, analytics }: Sizes): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const needed = 2 * (main + analytics);
  if (bavail * bsize >= needed) return;
  throw new BackupError(
    `The disk of ${folder} has ${Math.floor((bavail * bsize) / MIB)} MiB free, and the backup needs up to ${Math.ceil(needed / MIB)} MiB while it is made. ` +
      'Make space, or name a file on another disk.',
  );
}

function toBackupError({ file, folder }: BackupOptions, error: unknown): Error {
  if (error instanceof BackupError) return error;
  const failure = toWriteFailure(error);
  const told = `The backup ${resolve(file)} was not made (${failure.message}). Nothing is left of it.`;
  return new BackupError(`${told} ${adviceFor(failure, sourcePaths(folder).analyticsPath)}`);
}

/** What to do after a failed backup. */
export function adviceFor({ kind, message }: WriteFailure, analyticsPath: string): string {
  if (kind === 'full') return 'Make space, or name a file on another disk.';
  if (/\b(EACCES|EPERM|EROFS)\b/.test(message))
    return 'Check that this user may write in the folder of the backup, and read the data folder.';
  if (/\bSQLITE_(READONLY|CANTOPEN)/.test(message))
    return 'Run the command as the user of the data folder: reading its databases needs the right to write there.';
  if (endsWriting(kind) && findDamage(analyticsPath) !== null)
    return `The file ${analyticsPath} is damaged. It holds counts only. Stop the service, move the file and those that begin with its name away, start the service, which then begins without counts, and make the backup again.`;
  if (kind === 'damaged') return `The database is damaged; ${DAMAGE_PAGE} says what to do.`;
  return 'Check the disk and the data folder.';
}

interface BackupTarget {
  /** The file to make. */
  readonly file: string;
  /** The data folder. */
  readonly folder: string;
  /** Replace an older backup. */
  readonly replaces: boolean;
}

const BACKUP = { words: 'a backup', begin: FORMAT_LINE };

/** Refuses a place where a backup would replace something else. Changes nothing. */
function refuseTarget({ file, folder, replaces }: BackupTarget): void {
  const whole = resolve(file);
  refuseInside(whole, folder);
  const problem = targetProblem(whole, BACKUP, replaces);
  if (problem !== null) throw new BackupError(problem);
}

function refuseInside(file: string, folder: string): void {
  if (!isInside(file, folder)) return;
  throw new BackupError(
    `${file} is in the data folder ${realpathSync(folder)}. Name a file in another folder: a backup must not be lost with what it is a copy of.`,
  );
}

/** Why scheduled backups must not go into this folder; null = they may. If the folder cannot be inspected, the failing backup says so. */
export function refusalOf(backupFolder: string, dataFolder: string): string | null {
  try {
    if (!isInside(join(backupFolder, 'backup'), dataFolder)) return null;
  } catch {
    return null;
  }
  return `The folder ${resolve(backupFolder)} of KEYSTILE_BACKUP_FOLDER is in the data folder ${resolve(dataFolder)}.`;
}

/** Compares real paths, so that no link leads into the data folder. */
function isInside(path: string, folder: string): boolean {
  const data = realPath(resolve(folder));
  return realPath(resolve(path)).startsWith(data.endsWith(sep) ? data : `${data}${sep}`);
}

/** Follows the links of the path as far as it exists. */
function realPath(path: string): string {
  if (statOrNull(path) !== null) return realpathSync(path);
  return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
}

/**
 * A folder beside the result, in which the result is made. Its name ends with the process id, so that two processes do not share one, and
 * the leftovers of a killed process are recognized and removed.
 */
export function makePartialFolder(result: string): string {
  const whole = resolve(result);
  const path = partialFolderOf(whole);
  removeLeftovers(dirname(whole), (name) => name === basename(whole));
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  return path;
}

/** Where this process makes the result. */
export function partialFolderOf(result: string): string {
  return `${resolve(result)}.partial-${process.pid}`;
}

/** Removes the leftovers of killed processes from a folder, for results that `isOurs` recognizes. */
export function removeLeftovers(folder: string, isOurs: (result: string) => boolean): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const [, result = '', pid] = /^(.+)\.partial-(\d{1,10})$/.exec(name) ?? [];
    if (pid === undefined || !isOurs(result) || isRunningElsewhere(Number(pid))) continue;
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** A folder with the id of this process is from an earlier process: this one makes one result at a time. */
function isRunningElsewhere(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}
