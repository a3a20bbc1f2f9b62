import type { Database } from 'bun:sqlite';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { FolderError, flushFolder, writeDurably } from './dataFolder.ts';

/**
 * The file `commit-number` beside the database: the number of the last commit and the id of the data folder. The database holds
 * the same id; a copy of the database does not have this file. So a start notices two things:
 *
 *   fewer commits than noted             an older copy was put back, or the -wal file was removed
 *   another id, or no file at all        the database is a copy that was put into another data folder
 *
 * In both cases credits that were spent since the copy could be spent again. A copy of the whole data folder has this file too:
 * that is not noticed.
 */
export interface FolderNote {
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

export interface DataFolderIdentity {
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
 * Gives the data folder and the database the same id, and answers it. The file is written first: after a crash in between, the
 * database takes the id of the file. An accepted copy gets a new id.
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
