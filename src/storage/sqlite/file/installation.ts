import type { Database } from 'bun:sqlite';

/** That a database was restored from a backup. The database keeps it, and every start shows it. */
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
