import type { ImportBatch, ImportProgress, Imports } from '../../port/imports.ts';
import { FIND_IMPORT, IMPORT_ERRORS, WAITING_IMPORTS } from '../query/queries.ts';
import type { SqlReader } from '../query/statement.ts';

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
