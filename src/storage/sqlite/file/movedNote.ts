import type { Database } from 'bun:sqlite';

import { ADD_RELEASE_ENTRY, MOVED_NOTE, type MovedNote, movedReason } from '../../sql/move/importedNote.ts';
import { FolderError } from './dataFolder.ts';

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

/** Answers whether the database had been moved. */
export function releaseMoved(db: Database, atMs: number): boolean {
  return db.transaction(() => {
    const wasMoved = db.query('DELETE FROM installation WHERE name = ?').run(MOVED_NOTE).changes > 0;
    if (wasMoved) db.query(ADD_RELEASE_ENTRY).run(atMs);
    return wasMoved;
  })();
}
