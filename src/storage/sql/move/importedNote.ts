import type { FinishedData } from './dataFormat.ts';

/** The note about the import that made a database, in its table `installation`. */
export const IMPORTED_NOTE = 'imported';
/** The note about an unfinished import, in the same table. Nobody may use the database then. */
export const IMPORT_NOTE = 'import';
/** The note that the database was moved to another one, in the same table. Nobody may use it then. */
export const MOVED_NOTE = 'moved';

/** The entry that an import adds to the audit log. */
export const IMPORT_ACTION = 'installation.import';

/** Adds the entry of a release to the audit log, at the instant $1. */
export const ADD_RELEASE_ENTRY = `INSERT INTO audit_entries (at_ms, actor, action, target)
  SELECT $1, 'cli', 'installation.release', value FROM installation WHERE name = 'workspace_id'`;

export function importedNote({ header, importedAtMs }: FinishedData): string {
  const { exportId, engine, takenAtMs } = header;
  return JSON.stringify({ exportId, engine, takenAtMs, importedAtMs });
}

/** Searches the rows of `installation` for a finished import of the same export, which is then refused; null = it was another one. */
export function findImported(place: string, known: ReadonlyMap<string, string>, exportId: string): string | null {
  const [imported, moved] = [known.get(IMPORTED_NOTE), known.get(MOVED_NOTE)];
  if (imported === undefined || (JSON.parse(imported) as { exportId: string }).exportId !== exportId) return null;
  const next = moved === undefined ? 'Start the service on it.' : movedReason('It', moved);
  return `${place} already has this export: its import is finished. Nothing was changed. ${next}`;
}

export function importEntry({ header }: FinishedData): string {
  return JSON.stringify({ takenAt: header.takenAtMs, engine: header.engine, version: header.version });
}

export interface MovedNote {
  readonly exportId: string;
  readonly atMs: number;
}

/** Why nobody may use a database. */
export interface UseRefusal {
  readonly kind: 'moved' | 'import';
  readonly text: string;
}

const UNFINISHED =
  'An import into this database is not finished. If it was from a file, run the same keystile data import again, which goes on where it stopped. ' +
  'If it was from a pipe, drop the database, and begin again.';

/** Searches the rows of `installation` for a reason. `place` names the database. */
export function findUseRefusal(place: string, known: ReadonlyMap<string, string>): UseRefusal | null {
  if (known.has(IMPORT_NOTE)) return { kind: 'import', text: UNFINISHED };
  const moved = known.get(MOVED_NOTE);
  return moved === undefined ? null : { kind: 'moved', text: movedReason(place, moved) };
}

/** Why a moved database is not served. `place` names it. */
export function movedReason(place: string, note: string): string {
  const { atMs } = JSON.parse(note) as MovedNote;
  const at = `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return (
    `${place} was exported with --move at ${at}, and its credits may be spent in another place now. ` +
    'Start the service there. To use this one again, run keystile data release: whatever was spent in the other place is then not known here.'
  );
}
