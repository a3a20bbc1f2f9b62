import {
  chmodSync,
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Database } from 'bun:sqlite';

import { toWriteFailure } from './writeFailure.ts';

/** A problem with the data folder that an operator has to solve. The message says how. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
  /** The problem may go away by itself: the disk is full, or another process uses the folder. */
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary = false) {
    super(message);
    this.isTemporary = isTemporary;
  }
}

/** Another process owns the data folder. */
export class FolderOwned extends FolderError {
  readonly owner: Owner;

  constructor(path: string, owner: Owner) {
    super(
      `The data folder ${path} is in use by process ${owner.pid} on ${owner.host}, started ${owner.startedAt}. ` +
        'Stop that process first, or set KEYSTILE_DATA to another folder.',
      true,
    );
    this.owner = owner;
  }
}

export interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: string;
  /** Where the owner listens for the command line; null = it does not. */
  readonly control: string | null;
  /** Where it answers HTTP; null = it does not, or not yet. */
  readonly url: string | null;
  /** The file of its certificate, as an absolute path; absent: it speaks plain HTTP. */
  readonly tlsCert?: string;
}

/** The files that the service and its commands write into a data folder. Others may put files there too, such as lost+found of a disk. */
const OF_SERVICE = /^(keystile\.db|analytics\.db|owner\.|control\.sock|commit-number|encryption-key|root-key)/;

export function isOfService(name: string): boolean {
  return OF_SERVICE.test(name);
}

/** `findOwner` of another process holds the lock for an instant, which must not make a start fail. */
const OWN_PATIENCE_MS = 500;

/**
 * The data folder, and the right to write in it. The right is an exclusive lock that SQLite takes on the file owner.lock. The operating
 * system drops it when the process dies in any way, and backups can still read the database. Nothing else in this process opens owner.lock:
 * closing any handle on it would drop the lock (POSIX).
 */
export class DataFolder {
  readonly path: string;
  readonly isNew: boolean;
  readonly #lock: Database;

  private constructor(path: string, isNew: boolean, lock: Database) {
    this.path = path;
    this.isNew = isNew;
    this.#lock = lock;
  }

  /** `requiresData`: the folder must already have a database. Otherwise nothing is created. */
  static own(path: string, owner: Owner, requiresData = false): DataFolder {
    if (requiresData && !existsSync(join(path, 'keystile.db'))) throw withoutData(path);
    // Only this user can use files in the data folder.
    process.umask(0o077);
    makeFolder(path);
    const lock = takeLock(path, OWN_PATIENCE_MS);
    // Checked under the lock: an owner that has just ended may have created it.
    const isNew = !existsSync(join(path, 'keystile.db'));
    const folder = new DataFolder(path, isNew, lock);
    try {
      folder.nameOwner(owner);
    } catch (error) {
      folder.release();
      throw error;
    }
    return folder;
  }

  get databasePath(): string {
    return join(this.path, 'keystile.db');
  }

  get analyticsPath(): string {
    return join(this.path, 'analytics.db');
  }

  nameOwner(owner: Owner): void {
    try {
      writeDurably(join(this.path, 'owner.json'), JSON.stringify(owner));
    } catch (error) {
      throw unwritable(this.path, error);
    }
  }

  release(): void {
    this.#lock.run('ROLLBACK');
    this.#lock.close();
  }
}

function withoutData(path: string): FolderError {
  return new FolderError(
    `There is no keystile.db in the data folder ${path}, and KEYSTILE_REQUIRE_DATA is on: no new installation is begun. ` +
      'Check KEYSTILE_DATA, and that its disk is mounted. For a first start, turn KEYSTILE_REQUIRE_DATA off.',
  );
}

/** The process that owns the folder now, or null when none does. */
export function findOwner(path: string): Owner | null {
  if (!existsSync(join(path, 'owner.lock'))) return null;
  try {
    const lock = takeLock(path, 0);
    lock.run('ROLLBACK');
    lock.close();
    return null;
  } catch (error) {
    if (error instanceof FolderOwned) return error.owner;
    throw error;
  }
}

/** The same without any change to the folder. It also works for a user who can read the folder but not write in it. */
export function peekOwner(path: string): Owner | null {
  if (!existsSync(join(path, 'owner.lock'))) return null;
  const lock = new Database(join(path, 'owner.lock'), { readonly: true });
  try {
    // A read waits for the exclusive lock of an owner. Without an owner it finds nothing, because the file is empty.
    lock.query('SELECT count(*) FROM sqlite_schema').get();
    return null;
  } catch (error) {
    if (((error as { code?: string }).code ?? '').startsWith('SQLITE_BUSY')) return readOwner(path);
    throw error;
  } finally {
    lock.close();
  }
}

function makeFolder(path: string): void {
  try {
    // Only for a new folder: an existing one may be shared on purpose.
    if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, 0o700);
  } catch (error) {
    const code = (error as { code?: string }).code ?? '';
    throw new FolderError(
      `The data folder ${path} cannot be created or written (${code}). Set KEYSTILE_DATA to another folder.`,
      toWriteFailure(error).kind === 'full',
    );
  }
}

function takeLock(path: string, patienceMs: number): Database {
  let lock: Database | null = null;
  try {
    lock = new Database(join(path, 'owner.lock'), { create: true, readwrite: true });
    lock.run(`PRAGMA busy_timeout = ${patienceMs}`);
    lock.run('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    const code = (error as { code?: string }).code ?? '';
    if (!code.startsWith('SQLITE_BUSY')) {
      throw unwritable(path, error);
    }
    throw new FolderOwned(path, readOwner(path));
  }
}

/** The error for a failed write in this data folder. */
export function unwritable(path: string, error: unknown): FolderError {
  const { kind, message } = toWriteFailure(error);
  return new FolderError(`The data folder ${path} cannot be written (${message}).`, kind === 'full');
}

/** What the last owner has written about itself, whether it still runs or not. */
export function readOwner(path: string): Owner {
  try {
    const owner = JSON.parse(readFileSync(join(path, 'owner.json'), 'utf8')) as Owner;
    return { ...owner, control: isTrusted(path, owner.control) ? owner.control : null };
  } catch {
    return { pid: 0, host: 'unknown', startedAt: 'unknown', control: null, url: null };
  }
}

/** The socket must be in the data folder or in a private folder: after a folder was removed, somebody else may have taken its place. */
function isTrusted(path: string, control: string | null): boolean {
  if (control === null) return false;
  const folder = dirname(control);
  return folder === resolve(path) || isPrivate(folder, statSync(path).uid);
}

/** Replaces a small file as a whole: readers, and a start after a crash, see either the old text or the new one. */
export function writeDurably(path: string, text: string): void {
  const temporary = `${path}.new`;
  // A file that a crash has left would keep its permissions.
  rmSync(temporary, { force: true });
  const file = openSync(temporary, 'wx', 0o600);
  try {
    giveToOwner(file, dirname(path));
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** Makes sure that a command that root runs in the folder of the service leaves no file that the service cannot read. */
function giveToOwner(file: number, folder: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  try {
    fchownSync(file, uid, gid);
  } catch {
    // Not every root may give files away, and not every disk stores owners. Doctor reports files of another user.
  }
}

/** Flushes the folder, so that a new file in it still exists after a crash. Like SQLite, this ignores a folder that cannot be flushed. */
export function flushFolder(path: string): void {
  let folder: number | null = null;
  try {
    folder = openSync(path, 'r');
    fsyncSync(folder);
  } catch {
    // Some file systems refuse this.
  } finally {
    if (folder !== null) closeSync(folder);
  }
}

/** Whether this is a folder, not a link, of this user that nobody else can read or change. */
export function isPrivate(folder: string, uid: number): boolean {
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}
