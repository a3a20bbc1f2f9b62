import type { FinishedBatch, ImportBatch } from '../../port/imports.ts';
import { remove, type WriteStatement } from '../query/statement.ts';

/** Errors of one import that are kept. Further errors are only counted. */
const MAX_IMPORT_ERRORS = 1000;

/**
 * Raising the counter first locks its row, so two calls at the same time get consecutive ranges of indexes, and do not exceed the bound on
 * what waits together.
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

/** Removing the batch makes it finished. Only one transaction can remove it. */
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
