import { Database } from 'bun:sqlite';
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { Tell } from '../../port/tell.ts';
import { FolderError, flushFolder } from './dataFolder.ts';
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
 * Saves a complete, consistent copy beside the database before a migration, and returns its path. It has another name until it is whole and
 * on disk, so that a crash or a full disk never leaves half a copy under the name of one.
 */
export function putAside(db: Database, { path, version, nowMs, tell }: Aside): string {
  const stamp = new Date(nowMs()).toISOString().replaceAll(/[:.]/g, '-');
  const copy = `${path}.v${version}.${stamp}.backup`;
  const partial = `${copy}.partial`;
  const bytes = sizeOf(db);
  removePartials(path);
  tell('the database has an older schema version: a copy is put aside before it is migrated', { copy, bytes });
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
      `No copy of ${path} could be put aside before its migration (${message}). Nothing was changed. ` +
        `Make sure that its disk has ${Math.ceil(bytes / MIB)} MiB of space and that the folder can be written, then start again.`,
      kind === 'full',
    );
  }
  return copy;
}

/** Otherwise a start that is tried again and again would fill the disk with copies. One of a damaged database is kept, and named. */
export function removeUnlessDamaged(copy: string, error: unknown): string {
  if (isDamage(error)) return ` A copy is in ${copy}.`;
  rmSync(copy, { force: true });
  return '';
}

/** Before each step: its number, and how many there are. */
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

/** What its copy takes at most. */
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

/** Of starts that were killed. This process owns the folder, so no other one makes a copy now. */
function removePartials(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  for (const found of readdirSync(folder)) {
    if (found.startsWith(`${name}.v`) && /\.backup\.partial(-journal)?$/.test(found)) rmSync(join(folder, found));
  }
}

/** SQLite leaves it to the system when a copy reaches the disk. */
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
