import type { FinishedBatch, ImportBatch, ImportProgress, Imports } from '../port/imports.ts';
import { FIND_IMPORT, IMPORT_ERRORS, WAITING_IMPORTS } from './query/queries.ts';
import { remove, type SqlReader, type WriteStatement } from './query/statement.ts';

interface ImportRow {
  id: string;
  api_id: string;
  queued: number;
  done: number;
  failed: number;
}

interface BatchRow {
  id: string;
  import_id: string;
  api_id: string;
  first_index: number;
  size: number;
  keys: string;
  actor: string;
}

export class SqlImports implements Imports {
  readonly #reader: SqlReader;

  constructor(reader: SqlReader) {
    this.#reader = reader;
  }

  async findProgress(migrationId: string): Promise<ImportProgress | null> {
    const [row] = await this.#reader.find<ImportRow>({ sql: FIND_IMPORT, params: [migrationId] });
    if (row === undefined) return null;
    const errors = await this.#reader.find<{ key_index: number; message: string }>({
      sql: IMPORT_ERRORS,
      params: [migrationId],
    });
    return {
      migrationId: row.id,
      apiId: row.api_id,
      queued: row.queued,
      done: row.done,
      failed: row.failed,
      errors: errors.map(({ key_index: index, message }) => ({ index, message })),
    };
  }

  async listWaiting(limit: number): Promise<readonly ImportBatch[]> {
    const rows = await this.#reader.find<BatchRow>({ sql: WAITING_IMPORTS, params: [limit] });
    return rows.map((row) => ({
      id: row.id,
      migrationId: row.import_id,
      apiId: row.api_id,
      first: row.first_index,
      count: row.size,
      keys: row.keys,
      actor: row.actor,
    }));
  }
}

/** How many errors of one import are kept. Further errors are only counted. */
const MAX_IMPORT_ERRORS = 1000;

/**
 * Raising the counter first locks its row. So two simultaneous calls get consecutive ranges of indexes, and together do not exceed the
 * bound on waiting keys.
 */
export function enqueueImport(
  { id, migrationId, apiId, count, keys, actor }: ImportBatch,
  mostWaiting: number,
): WriteStatement[] {
  return [
    {
      sql: 'INSERT INTO imports (id, api_id, queued, done, failed) VALUES ($1, $2, 0, 0, 0) ON CONFLICT (id) DO NOTHING',
      params: [migrationId, apiId],
      expects: null,
    },
    {
      sql: 'UPDATE imports SET queued = queued + $1 WHERE id = $2 AND api_id = $3 AND queued - done - failed + $1 <= $4',
      params: [count, migrationId, apiId, mostWaiting],
      expects: 1,
    },
    {
      sql: `INSERT INTO import_batches (id, import_id, api_id, first_index, size, keys, actor)
        SELECT $1, $2, $3, queued - $4, $4, $5, $6 FROM imports WHERE id = $2`,
      params: [id, migrationId, apiId, count, keys, actor],
      expects: 1,
    },
  ];
}

/** Removing the batch finishes it. Only one transaction can remove it. */
export function finishImport({ id, migrationId, done, errors }: FinishedBatch): WriteStatement[] {
  return [
    remove('import_batches', { id }),
    {
      sql: 'UPDATE imports SET done = done + $1, failed = failed + $2 WHERE id = $3',
      params: [done, errors.length, migrationId],
      expects: 1,
    },
    ...errors.map(({ index, message }) => ({
      sql: `INSERT INTO import_errors (import_id, key_index, message)
        SELECT $1, $2, $3 WHERE (SELECT count(*) FROM import_errors WHERE import_id = $1) < ${MAX_IMPORT_ERRORS}`,
      params: [migrationId, index, message],
      expects: null,
    })),
  ];
}
