import {
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Database } from 'bun:sqlite';

import { type BackupFile } from './backupFile.ts';
import { BackupError } from './backupError.ts';
import { type CopyContents, inspectCopy } from './inspectCopy.ts';
import { makePartialFolder } from './makeBackup.ts';
import {
  DataFolder,
  findOwner,
  flushFolder,
  FolderError,
  FolderOwned,
  isOfService,
  type Owner,
  writeDurably,
} from '../file/dataFolder.ts';
import { notePath, noteText, writeRestoredNote } from '../file/installation.ts';
import { toWriteFailure } from '../file/writeFailure.ts';

/** A link stays: the folder that it leads to is restored. */
export function realFolder(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

/** The place is free, or an empty folder. */
export function isFree(folder: string): boolean {
  if (!existsSync(folder)) return true;
  try {
    return readdirSync(folder).length === 0;
  } catch {
    // The place is a file, or a folder that this user cannot read.
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

/** A part of the path may not be a folder. */
function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The new folder gets the owner of the folder that it replaces, or else of its parent: root runs the command for that user. */
function giveFolderToOwner(made: string, place: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(existsSync(place) ? place : dirname(place));
  for (const name of readdirSync(made)) chownSync(join(made, name), uid, gid);
  chownSync(made, uid, gid);
}

/** The former state of the files that owning a folder writes. */
function readOwnerFiles(folder: string): { putBack(): void } {
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

interface RestoreOptions {
  /** The data folder to make. */
  readonly folder: string;
  /** Moves an existing data folder aside. */
  readonly movesAside: boolean;
  /** This process. It owns an existing folder while it moves it. */
  readonly owner: Owner;
  readonly nowMs: number;
  readonly newFolderId: () => string;
}

export interface Restored {
  readonly folder: string;
  /** The new path of the former folder; null = there was none. */
  readonly movedTo: string | null;
  readonly contents: CopyContents;
}

/**
 * Makes a data folder from a backup. It is built beside its place and renamed when it is complete. An existing folder keeps its files and
 * gets another name.
 */
export async function restoreBackup(backup: BackupFile, options: RestoreOptions): Promise<Restored> {
  const folder = realFolder(options.folder);
  refuseFolder(options.folder, options.movesAside);
  const owner = findOwner(folder);
  if (owner !== null) throw new FolderOwned(folder, owner);
  let partial: string | null = null;
  try {
    partial = makePartialFolder(folder);
    const contents = await build(backup, partial, options);
    giveFolderToOwner(partial, folder);
    const movedTo = takePlace(partial, folder, options);
    return { folder, movedTo, contents };
  } catch (error) {
    throw toRestoreError(folder, error);
  } finally {
    if (partial !== null) rmSync(partial, { recursive: true, force: true });
  }
}

async function build(
  backup: BackupFile,
  partial: string,
  { nowMs, newFolderId }: RestoreOptions,
): Promise<CopyContents> {
  for (const part of backup.parts) await backup.extract(part, join(partial, part.name));
  const path = join(partial, 'keystile.db');
  const contents = await inspectCopy(backup.path, { path, analyticsPath: join(partial, 'analytics.db') });
  const id = newFolderId();
  markRestored(path, { id, madeAtMs: backup.header.madeAtMs, restoredAtMs: nowMs });
  // The operator has accepted what is missing, so the start must not refuse it.
  writeDurably(notePath(partial), noteText({ number: contents.lastCommit, id }));
  flushFolder(partial);
  return contents;
}

interface RestoredMark {
  readonly id: string;
  readonly madeAtMs: number;
  readonly restoredAtMs: number;
}

/** One transaction. It ends all sessions: one that was ended since the backup was made must not be valid again. */
function markRestored(path: string, { id, madeAtMs, restoredAtMs }: RestoredMark): void {
  using db = new Database(path, { readwrite: true, create: false });
  db.run('PRAGMA synchronous = FULL');
  db.transaction(() => {
    db.query(
      "INSERT INTO installation (name, value) VALUES ('folder_id', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1",
    ).run(id);
    writeRestoredNote(db, { madeAtMs, restoredAtMs });
    db.query(
      `INSERT INTO audit_entries (at_ms, actor, action, target, after_json)
       VALUES (?1, 'cli', 'installation.restore', (SELECT value FROM installation WHERE name = 'workspace_id'), ?2)`,
    ).run(restoredAtMs, JSON.stringify({ madeAt: madeAtMs }));
    db.run('DELETE FROM sessions');
    db.run('DELETE FROM portal_sessions');
  }).immediate();
}

/** Returns the new path of the former folder. */
function takePlace(partial: string, folder: string, { owner, nowMs }: RestoreOptions): string | null {
  if (isFree(folder)) {
    renameSync(partial, folder);
    flushFolder(dirname(folder));
    return null;
  }
  const movedTo = `${folder}.before-restore-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')}`;
  // Fails while another process owns the folder, because that process would keep writing there.
  const note = readOwnerFiles(folder);
  const owned = DataFolder.own(folder, owner);
  let isMoved = false;
  try {
    renameSync(folder, movedTo);
    orMoveBack(() => renameSync(partial, folder), { movedTo, folder });
    isMoved = true;
  } finally {
    owned.release();
    if (!isMoved) note.putBack();
  }
  flushFolder(dirname(folder));
  return movedTo;
}

function orMoveBack(
  move: () => void,
  { movedTo, folder }: { readonly movedTo: string; readonly folder: string },
): void {
  try {
    move();
  } catch (error) {
    renameSync(movedTo, folder);
    throw error;
  }
}

function toRestoreError(folder: string, error: unknown): Error {
  if (error instanceof BackupError || error instanceof FolderError) return error;
  const { kind, message } = toWriteFailure(error);
  const advice = kind === 'full' ? 'Make space on its disk.' : adviceFor(message);
  return new BackupError(`The data folder ${folder} was not restored (${message}). Nothing was changed. ${advice}`);
}

function adviceFor(message: string): string {
  if (!/\b(EBUSY|EXDEV|EACCES|EPERM|EROFS)\b/.test(message)) return 'Check the disk.';
  return 'The folder must be one that can be renamed, and this user must be able to write beside it. A mount point is not such a folder: name a folder inside it with --data.';
}
