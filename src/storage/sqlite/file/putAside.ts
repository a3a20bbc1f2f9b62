import { Database } from 'bun:sqlite';
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { Tell } from '../../port/tell.ts';
import { FolderError, flushFolder } from './dataFolder.ts';
import { toWriteFailure } from './writeFailure.ts';

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
    const { message } = toWriteFailure(error);
    throw new FolderError(
      `No copy of ${path} could be put aside before its migration (${message}). Nothing was changed. ` +
        `Make sure that its disk has ${Math.ceil(bytes / MIB)} MiB of space and that the folder can be written, then start again.`,
    );
  }
  return copy;
}

/** What its copy takes at most. */
function sizeOf(db: Database): number {
  const { page_count } = db.query('PRAGMA page_count').get() as { page_count: number };
  const { page_size } = db.query('PRAGMA page_size').get() as { page_size: number };
  return page_count * page_size;
}

function refuseFullDisk(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < bytes) throw new Error(`the disk has ${Math.floor((bavail * bsize) / MIB)} MiB free`);
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
