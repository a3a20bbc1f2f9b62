import {
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { isOfService } from '../file/dataFolder.ts';
import { BackupError } from './backupError.ts';

/** A link keeps its place: the folder that it leads to is restored. */
export function realFolder(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

/** There is nothing in its place, or an empty folder. */
export function isFree(folder: string): boolean {
  if (!existsSync(folder)) return true;
  try {
    return readdirSync(folder).length === 0;
  } catch {
    // A file, or a folder that this user may not read.
    return false;
  }
}

/** Refuses a place that is taken. Only a data folder is moved aside. Changes nothing. */
export function refuseFolder(path: string, movesAside: boolean): void {
  const folder = realFolder(path);
  if (lstatOf(folder)?.isSymbolicLink() === true)
    throw new BackupError(`${folder} is a link that leads nowhere. Remove it, or name another folder with --data.`);
  if (!existsSync(folder)) return;
  const names = namesIn(folder);
  if (names.length === 0) return;
  if (!names.includes('keystile.db') && !names.every(isOfService))
    throw new BackupError(
      `${folder} holds other files and no keystile.db: it is not a data folder, and is not moved aside. Name another one with --data.`,
    );
  if (movesAside) return;
  throw new BackupError(
    `The data folder ${folder} exists. Name another one with --data, or move it aside with --force. Nothing is deleted.`,
  );
}

function namesIn(folder: string): readonly string[] {
  if (!statSync(folder).isDirectory())
    throw new BackupError(`${folder} is a file, and a data folder is needed. Name another one with --data.`);
  try {
    return readdirSync(folder);
  } catch (error) {
    throw new BackupError(
      `The folder ${folder} cannot be read (${(error as { code?: string }).code ?? String(error)}). Run the command as its user, or name another one with --data.`,
    );
  }
}

/** Something on the way may not be a folder. */
function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The new folder belongs to the user of what was at its place, or to that of the folder around it: root runs the command for that user. */
export function giveFolderToOwner(made: string, place: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(existsSync(place) ? place : dirname(place));
  for (const name of readdirSync(made)) chownSync(join(made, name), uid, gid);
  chownSync(made, uid, gid);
}

/** What owning a folder writes into it, as it was before. */
export function readOwnerFiles(folder: string): { putBack(): void } {
  const [lock, note] = [join(folder, 'owner.lock'), join(folder, 'owner.json')];
  const hadLock = existsSync(lock);
  const text = existsSync(note) ? readFileSync(note) : null;
  return {
    putBack() {
      if (!hadLock) rmSync(lock, { force: true });
      if (text === null) rmSync(note, { force: true });
      else writeFileSync(note, text);
    },
  };
}
