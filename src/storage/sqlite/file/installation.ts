import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from 'bun:sqlite';

import { ADD_RELEASE_ENTRY, MOVED_NOTE, type MovedNote, movedReason } from '../../sql/move/importedNote.ts';
import { flushFolder, FolderError, writeDurably } from './dataFolder.ts';

/** The note that a database was restored from a backup. The database keeps it, and every start shows it. */
export interface RestoredNote {
  /** When the backup was made. What changed from then until `restoredAtMs` is missing. */
  readonly madeAtMs: number;
  readonly restoredAtMs: number;
}

/** null = the database is new. */
export function readWorkspaceId(db: Database): string | null {
  return readValue(db, 'workspace_id');
}

/** null = the database was never restored. */
export function readRestoredNote(db: Database): RestoredNote | null {
  const text = readValue(db, 'restored');
  return text === null ? null : (JSON.parse(text) as RestoredNote);
}

export function writeRestoredNote(db: Database, note: RestoredNote): void {
  db.query(
    "INSERT INTO installation (name, value) VALUES ('restored', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1",
  ).run(JSON.stringify(note));
}

function readValue(db: Database, name: string): string | null {
  const row = db.query('SELECT value FROM installation WHERE name = ?').get(name) as { value: string } | null;
  return row?.value ?? null;
}

/**
 * The file `commit-number` beside the database: the number of the last commit and the id of the data folder. The database holds the same
 * id; a copy of the database does not have this file. So a start notices two things:
 *
 *   fewer commits than noted             an older copy was put back, or the -wal file was removed
 *   another id, or no file at all        the database is a copy that was put into another data folder
 *
 * In both cases, credits that were spent since the copy could be spent again. A copy of the whole data folder has this file too, so it is
 * not noticed.
 */
interface FolderNote {
  readonly number: number;
  readonly id: string;
}

export function notePath(folder: string): string {
  return join(folder, 'commit-number');
}

export function noteText({ number, id }: FolderNote): string {
  return `${number} ${id}\n`;
}

/** Null: there is no such file, or it cannot be read. */
export function readNote(folder: string): FolderNote | null {
  const path = notePath(folder);
  if (!existsSync(path)) return null;
  const [, number, id] = /^(\d{1,16}) (\S+)\n?$/.exec(readFileSync(path, 'utf8')) ?? [];
  return number === undefined || id === undefined ? null : { number: Number(number), id };
}

interface DataFolderIdentity {
  readonly folder: string;
  readonly newId: () => string;
}

/** Refuses a database that was copied here from another folder. Changes nothing. */
export function refuseCopy(db: Database, folder: string): void {
  const known = readFolderId(db);
  if (known === null || readNote(folder)?.id === known) return;
  throw new FolderError(
    `The database in ${folder} is a copy: it was made in another folder, or the file commit-number beside it was removed. ` +
      'It lacks what was spent or revoked since it was copied: spent credits could be spent again, and revoked keys would be valid again. ' +
      'Start the original instead (to move it, move the whole folder), or accept this copy once with KEYSTILE_ACCEPT_LOST_COMMITS=true.',
  );
}

/**
 * Gives the data folder and the database the same id, and returns it. The file is written first: after a crash in between, the database
 * takes the id of the file. An accepted copy gets a new id.
 */
export function claimFolder(db: Database, { folder, newId }: DataFolderIdentity): string {
  const [known, note] = [readFolderId(db), readNote(folder)];
  if (known !== null && note?.id === known) return known;
  const id = (known === null ? note?.id : null) ?? newId();
  writeDurably(notePath(folder), noteText({ number: note?.number ?? 0, id }));
  flushFolder(folder);
  db.query(
    "INSERT INTO installation (name, value) VALUES ('folder_id', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1",
  ).run(id);
  return id;
}

export function readFolderId(db: Database): string | null {
  const row = db.query("SELECT value FROM installation WHERE name = 'folder_id'").get() as { value: string } | null;
  return row?.value ?? null;
}

/** Refuses a database that was moved to another place. Changes nothing. */
export function refuseMoved(db: Database, folder: string): void {
  const note = findMoved(db);
  if (note !== null) throw new FolderError(movedReason(`The data folder ${folder}`, note));
}

export function findMoved(db: Database): string | null {
  const note = db.query('SELECT value FROM installation WHERE name = ?').get(MOVED_NOTE) as { value: string } | null;
  return note?.value ?? null;
}

export function noteMoved(db: Database, note: MovedNote): void {
  db.query('INSERT INTO installation (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2').run(
    MOVED_NOTE,
    JSON.stringify(note),
  );
}

/** Returns whether the database had been moved. */
export function releaseMoved(db: Database, atMs: number): boolean {
  return db.transaction(() => {
    const wasMoved = db.query('DELETE FROM installation WHERE name = ?').run(MOVED_NOTE).changes > 0;
    if (wasMoved) db.query(ADD_RELEASE_ENTRY).run(atMs);
    return wasMoved;
  })();
}

const KEY_BYTES = 32;

/** The encryption key in the data folder (0600). It is created when it is first needed, and never changed. */
export class FolderKey {
  readonly #folder: string;
  readonly #newKey: () => Uint8Array;
  #known: Uint8Array | null = null;

  constructor(folder: string, newKey: () => Uint8Array) {
    this.#folder = folder;
    this.#newKey = newKey;
  }

  /** The key, if there is one. */
  find(): readonly Uint8Array[] {
    if (this.#known === null && existsSync(this.#path)) this.#known = this.#read();
    return this.#known === null ? [] : [this.#known];
  }

  findOrMake(): Uint8Array {
    const [found] = this.find();
    if (found !== undefined) return found;
    const made = this.#newKey();
    writeDurably(this.#path, `${Buffer.from(made).toString('base64')}\n`);
    flushFolder(this.#folder);
    return (this.#known = made);
  }

  get #path(): string {
    return join(this.#folder, 'encryption-key');
  }

  #read(): Uint8Array {
    const key = Buffer.from(readFileSync(this.#path, 'utf8').trim(), 'base64');
    if (key.length === KEY_BYTES) return key;
    throw new FolderError(
      `The file ${this.#path} is not a valid encryption key. It must contain ${KEY_BYTES} bytes in base64.`,
    );
  }
}
