import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Database } from 'bun:sqlite';

import type { Tell } from '../../port/events.ts';
import { flushFolder, FolderError } from './dataFolder.ts';
import { isDamage, toWriteFailure, WriteFailure } from './writeFailure.ts';

export interface Aside {
  /** The file of the database. */
  readonly path: string;
  /** Its schema version. */
  readonly version: number;
  readonly nowMs: () => number;
  readonly tell: Tell;
}

const MIB = 2 ** 20;

/**
 * Saves a complete, consistent copy beside the database before a migration, and returns its path. The copy has another name until it is
 * complete and on disk, so that a crash or a full disk never leaves half a copy under the final name.
 */
export function copyBeforeMigration(db: Database, { path, version, nowMs, tell }: Aside): string {
  const stamp = new Date(nowMs()).toISOString().replaceAll(/[:.]/g, '-');
  const copy = `${path}.v${version}.${stamp}.backup`;
  const partial = `${copy}.partial`;
  const bytes = sizeOf(db);
  removePartials(path);
  tell('the database has an older schema version: it is copied before it is migrated', { copy, bytes });
  try {
    refuseFullDisk(dirname(path), bytes);
    db.query('VACUUM INTO ?').run(partial);
    flush(partial);
    requireVersion(partial, version);
    renameSync(partial, copy);
    flushFolder(dirname(path));
  } catch (error) {
    removePartials(path);
    const { kind, message } = toWriteFailure(error);
    throw new FolderError(
      `No copy of ${path} could be made before its migration (${message}). Nothing was changed. ` +
        `Make sure that its disk has ${Math.ceil(bytes / MIB)} MiB of space and that the folder can be written, then start again.`,
      kind === 'full',
    );
  }
  return copy;
}

/**
 * Otherwise a start that is retried again and again would fill the disk with copies. The copy of a damaged database is kept, and the
 * message names it.
 */
export function removeUnlessDamaged(copy: string, error: unknown): string {
  if (isDamage(error)) return ` A copy is in ${copy}.`;
  rmSync(copy, { force: true });
  return '';
}

/** Called before each step with its number and the number of steps. */
export function tellStep({ path, version, tell }: Aside, step: number, steps: number): void {
  const [from, to] = [version + step - 1, version + step];
  tell('migrating the database', { step: `${step} of ${steps}`, from, to, file: path });
}

export function tellMigrated(
  { tell }: Aside,
  migrated: { readonly version: number; readonly milliseconds: number; readonly copy: string },
): void {
  tell('the database is migrated; the copy is no longer needed once the new version works', migrated);
}

/** The largest size of its copy. */
function sizeOf(db: Database): number {
  const { page_count } = db.query('PRAGMA page_count').get() as { page_count: number };
  const { page_size } = db.query('PRAGMA page_size').get() as { page_size: number };
  return page_count * page_size;
}

function refuseFullDisk(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize >= bytes) return;
  throw new WriteFailure('full', `the disk has ${Math.floor((bavail * bsize) / MIB)} MiB free`);
}

/** Left by killed starts. This process owns the folder, so no other process is making a copy now. */
function removePartials(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  for (const found of readdirSync(folder)) {
    if (found.startsWith(`${name}.v`) && /\.backup\.partial(-journal)?$/.test(found)) rmSync(join(folder, found));
  }
}

/** SQLite lets the system decide when a copy reaches the disk. */
function flush(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function requireVersion(path: string, version: number): void {
  using copy = new Database(path, { readonly: true });
  const { user_version } = copy.query('PRAGMA user_version').get() as { user_version: number };
  if (user_version !== version) throw new Error(`the copy has schema version ${user_version}`);
}

/** A kind of file that a command writes: its name in words, and how such a file begins. */
interface TargetKind {
  readonly words: string;
  readonly begin: RegExp;
}

/** The longest beginning that is compared. */
const BEGIN_BYTES = 200;

/** Why a file of this kind cannot be made at this absolute path; null = it can. Only an older file of the same kind is replaced. */
export function targetProblem(path: string, { words, begin }: TargetKind, replaces: boolean): string | null {
  const folder = dirname(path);
  const place = statOrNull(folder);
  if (place === null) return `The folder ${folder} does not exist. Create it, or name a file in another folder.`;
  if (!place.isDirectory()) return `${folder} is not a folder. Name a file in a folder.`;
  // Looks at a link itself: a rename would replace the link, not the file that it leads to.
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (found.isDirectory()) return `${path} is a folder. Name a file in it.`;
  if (found.isSymbolicLink()) return `${path} is a link. Name the file itself, or another one.`;
  if (!found.isFile()) return `${path} is a pipe, a socket or a device. Name another file.`;
  if (!replaces) return `${path} exists. Name another file, or replace it with --force.`;
  if (begin.test(beginOf(path))) return null;
  return `${path} is not ${words}, and --force replaces only ${words}. Name another file.`;
}

/** null = there is no file, or a part of the path is not a folder. */
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
