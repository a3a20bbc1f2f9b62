import { closeSync, lstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

import { BackupError } from './backupError.ts';
import { FORMAT_LINE, MAX_LINE_BYTES } from './backupFormat.ts';

export interface BackupTarget {
  /** The file to make. */
  readonly file: string;
  /** The data folder. */
  readonly folder: string;
  /** Replace an older backup. */
  readonly replaces: boolean;
}

/** Refuses a place where a backup would take the place of something else. Changes nothing. */
export function refuseTarget({ file, folder, replaces }: BackupTarget): void {
  const whole = resolve(file);
  requireFolder(dirname(whole));
  refuseInside(whole, folder);
  // Of a link, the link itself: a rename would replace it, and not what it leads to.
  const found = lstatSync(whole, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) throw new BackupError(`${whole} is a folder. Name a file in it.`);
  if (found.isSymbolicLink()) throw new BackupError(`${whole} is a link. Name the file itself, or another one.`);
  if (!found.isFile()) throw new BackupError(`${whole} is a pipe, a socket or a device. Name another file.`);
  if (!replaces) throw new BackupError(`${whole} exists. Name another file, or replace it with --force.`);
  if (!FORMAT_LINE.test(beginOf(whole)))
    throw new BackupError(`${whole} is not a backup, and --force replaces only a backup. Name another file.`);
}

function requireFolder(path: string): void {
  const found = statOrNull(path);
  if (found === null)
    throw new BackupError(`The folder ${path} does not exist. Create it, or name a file in another folder.`);
  if (!found.isDirectory()) throw new BackupError(`${path} is not a folder. Name a file in a folder.`);
}

function refuseInside(file: string, folder: string): void {
  if (!isInside(file, folder)) return;
  throw new BackupError(
    `${file} is in the data folder ${realpathSync(folder)}. Name a file in another folder: a backup must not be lost with what it is a copy of.`,
  );
}

/** Why scheduled backups must not go into this folder; null = they may. */
export function refusalOf(backupFolder: string, dataFolder: string): string | null {
  if (!isInside(join(backupFolder, 'backup'), dataFolder)) return null;
  return `The folder ${resolve(backupFolder)} of KEYSTILE_BACKUP_FOLDER is in the data folder ${resolve(dataFolder)}. Set it to another folder: a backup must not be lost with what it is a copy of.`;
}

/** By real paths, so that no link leads into the data folder. */
function isInside(path: string, folder: string): boolean {
  const data = realPath(resolve(folder));
  return realPath(resolve(path)).startsWith(data.endsWith(sep) ? data : `${data}${sep}`);
}

/** As far as the path exists, its links are followed. */
function realPath(path: string): string {
  if (statOrNull(path) !== null) return realpathSync(path);
  return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
}

/** null = there is nothing, or something on the way is not a folder. */
function statOrNull(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return null;
    throw error;
  }
}

function beginOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(MAX_LINE_BYTES);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(file);
  }
}
