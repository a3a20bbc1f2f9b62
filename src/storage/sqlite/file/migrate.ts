import type { Database } from 'bun:sqlite';

import { takeOverCounts } from '../analytics/analyticsFile.ts';
import { SCHEMA_V1 } from './schema.ts';
import { SCHEMA_V2 } from './schemaV2.ts';
import { SCHEMA_V3 } from './schemaV3.ts';
import { SCHEMA_V4 } from './schemaV4.ts';
import { NAMED_KEYS, type NamedRow, storedWords } from '../../sql/wordIndex.ts';

/**
 * Forward migrations: entry N brings version N to N + 1. An entry that was released is never edited; a new one is added,
 * with a fixture of the version before it (test/support/fixtures/databases).
 */
export const MIGRATIONS: readonly string[] = [SCHEMA_V1, SCHEMA_V2, SCHEMA_V3, SCHEMA_V4];

export const SCHEMA_VERSION = MIGRATIONS.length;

export function readSchemaVersion(db: Database): number {
  return (db.query('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** The version after which there is an index of words, which the keys until then have to be put into. */
const WORDS_SINCE = 1;
/** The last version with what is counted behind the answers in the database itself. */
const COUNTS_UNTIL = 2;
const STEP = 1000;

function fillWords(db: Database): void {
  const insert = db.prepare('INSERT INTO key_words (api_id, word, key_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const select = db.prepare(NAMED_KEYS);
  let last = '';
  for (;;) {
    const rows = select.all(last, STEP) as NamedRow[];
    for (const row of rows) for (const word of storedWords(row)) insert.run(row.api_id, word, row.id);
    if (rows.length < STEP) return;
    last = rows.at(-1)?.id ?? last;
  }
}

/** Brings an opened database to the newest version, each step in a transaction of its own. Analytics are attached. */
export function migrate(db: Database): void {
  const first = readSchemaVersion(db);
  for (let version = first; version < SCHEMA_VERSION; version++) {
    // A new one has none.
    if (version === COUNTS_UNTIL && first > 0) db.transaction(() => takeOverCounts(db)).immediate();
    db.transaction(() => {
      db.run(MIGRATIONS[version] ?? '');
      if (version === WORDS_SINCE) fillWords(db);
      db.run(`PRAGMA user_version = ${version + 1}`);
    }).immediate();
  }
}
