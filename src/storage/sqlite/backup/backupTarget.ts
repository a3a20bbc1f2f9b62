import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

import { statOrNull, targetProblem } from '../file/targetFile.ts';
import { BackupError } from './backupError.ts';
import { FORMAT_LINE } from './backupFormat.ts';

export interface BackupTarget {
  /** The file to make. */
  readonly file: string;
  /** The data folder. */
  readonly folder: string;
  /** Replace an older backup. */
  readonly replaces: boolean;
}

const BACKUP = { words: 'a backup', begin: FORMAT_LINE };

/** Refuses a place where a backup would take the place of something else. Changes nothing. */
export function refuseTarget({ file, folder, replaces }: BackupTarget): void {
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

/** Why scheduled backups must not go into this folder; null = they may. A folder that cannot be looked at is told by the backup that fails. */
export function refusalOf(backupFolder: string, dataFolder: string): string | null {
  try {
    if (!isInside(join(backupFolder, 'backup'), dataFolder)) return null;
  } catch {
    return null;
  }
  return `The folder ${resolve(backupFolder)} of KEYSTILE_BACKUP_FOLDER is in the data folder ${resolve(dataFolder)}.`;
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
