import { Database } from 'bun:sqlite';

import { WriteFailure } from './writeFailure.ts';

/** How long a statement waits for another process (a backup, a person with a shell) before it gives up. */
const BUSY_TIMEOUT_MS = 5000;

/** Makes commits durable. The settings are read back, because SQLite ignores what it does not understand. */
export function configure(db: Database): void {
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const journal = db.query('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
  db.run('PRAGMA synchronous = FULL');
  const synchronous = db.query('PRAGMA synchronous').get() as { synchronous: number };
  if (journal.journal_mode !== 'wal' || synchronous.synchronous !== 2) {
    throw new WriteFailure(
      'broken',
      `SQLite refused durable settings (journal_mode ${journal.journal_mode}, synchronous ${synchronous.synchronous})`,
    );
  }
  db.run('PRAGMA journal_size_limit = 67108864');
}

/** Opens an existing database with durable commits. One that cannot be configured is not left open. */
export function openDurably(path: string): Database {
  const db = new Database(path, { readwrite: true, create: false });
  try {
    configure(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Reads analytics.db through the same connection. */
export function attachAnalytics(db: Database, path: string): void {
  db.query('ATTACH DATABASE ? AS analytics').run(path);
}
