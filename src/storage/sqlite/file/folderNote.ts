import type { Database } from 'bun:sqlite';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { FolderError, flushFolder, writeDurably } from './dataFolder.ts';

/**
 * What stands beside the database in the file `commit-number`, and is in no copy of the database: the number of the last commit
 * and the id of the folder. The database holds the same id. So two things are noticed at the start:
 *
 *   fewer commits than were noted        an older copy was put back, or the -wal file was removed
 *   another id, or no file at all        the database is a copy that was put into another folder
 *
 * Either way credits that were spent since the copy could be spent again. A copy of the whole folder has this file too, and is
 * not noticed.
 */
export interface FolderNote {
  readonly number: number;
  /** Null in a file that an older program wrote. */
  readonly id: string | null;
}

export function notePath(folder: string): string {
  return join(folder, 'commit-number');
}

export function noteText({ number, id }: FolderNote): string {
  return id === null ? `${number}\n` : `${number} ${id}\n`;
}

/** Null where there is none, or none that can be read. */
export function readNote(folder: string): FolderNote | null {
  const path = notePath(folder);
  if (!existsSync(path)) return null;
  const [number, id = null] = readFileSync(path, 'utf8').trim().split(' ');
  return /^\d{1,16}$/.test(number ?? '') ? { number: Number(number), id } : null;
}

export interface Claim {
  readonly folder: string;
  readonly newId: () => string;
}

/** Refuses a database that was copied here from another folder. Changes nothing. */
export function refuseCopy(db: Database, folder: string): void {
  const known = readFolderId(db);
  if (known === null || isOwn(known, readNote(folder))) return;
  throw new FolderError(
    `The database in ${folder} is a copy: it was made in another folder, or the file commit-number beside it was removed. ` +
      'What was spent or revoked since the copy was made is not in it: spent credits could be spent again, revoked keys would work again. ' +
      'Start the original instead (to move it, move the whole folder), or accept this copy once with KEYSTILE_ACCEPT_LOST_COMMITS=true.',
  );
}

/**
 * Makes the folder and the database known to each other; answers the id. The file is written first: after a crash in between, a
 * database without an id takes the one of the file. A copy that was accepted gets an id of its own.
 */
export function claimFolder(db: Database, { folder, newId }: Claim): string {
  const [known, note] = [readFolderId(db), readNote(folder)];
  if (known !== null && note?.id === known) return known;
  const keeps = known !== null && isOwn(known, note);
  const id = keeps ? known : ((known === null ? note?.id : null) ?? newId());
  writeDurably(notePath(folder), noteText({ number: note?.number ?? 0, id }));
  flushFolder(folder);
  db.query(
    "INSERT INTO installation (name, value) VALUES ('folder_id', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1",
  ).run(id);
  return id;
}

/** A file of an older program names no folder: it tells of the number alone. */
function isOwn(known: string, note: FolderNote | null): boolean {
  return note !== null && (note.id === null || note.id === known);
}

function readFolderId(db: Database): string | null {
  const row = db.query("SELECT value FROM installation WHERE name = 'folder_id'").get() as { value: string } | null;
  return row?.value ?? null;
}
