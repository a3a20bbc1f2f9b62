import { closeSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a command writes: its kind in words, and how such a file begins. */
export interface TargetKind {
  readonly words: string;
  readonly begin: RegExp;
}

/** The longest beginning that is read. */
const BEGIN_BYTES = 200;

/** Why a file of this kind cannot be made at this absolute path; null = it can. Only an older file of the same kind is replaced. */
export function targetProblem(path: string, { words, begin }: TargetKind, replaces: boolean): string | null {
  const folder = dirname(path);
  const place = statOrNull(folder);
  if (place === null) return `The folder ${folder} does not exist. Create it, or name a file in another folder.`;
  if (!place.isDirectory()) return `${folder} is not a folder. Name a file in a folder.`;
  // Of a link, the link itself: a rename would replace it, and not what it leads to.
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (found.isDirectory()) return `${path} is a folder. Name a file in it.`;
  if (found.isSymbolicLink()) return `${path} is a link. Name the file itself, or another one.`;
  if (!found.isFile()) return `${path} is a pipe, a socket or a device. Name another file.`;
  if (!replaces) return `${path} exists. Name another file, or replace it with --force.`;
  if (begin.test(beginOf(path))) return null;
  return `${path} is not ${words}, and --force replaces only ${words}. Name another file.`;
}

/** null = there is nothing, or something on the way is not a folder. */
export function statOrNull(path: string): Stats | null {
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
    const buffer = Buffer.alloc(BEGIN_BYTES);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(file);
  }
}
