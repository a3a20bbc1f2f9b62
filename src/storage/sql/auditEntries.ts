import type { AuditEntries } from '../port/auditEntries.ts';
import type { SqlWriter } from './query/statement.ts';

/** Entries that one step removes. Each is in five indexes, and a commit may have to wait for a step. */
const PRUNE_STEP = 500;

/** Removes old entries of the audit log of both engines. Changes write them. */
export class SqlAuditEntries implements AuditEntries {
  readonly #writer: SqlWriter;

  constructor(writer: SqlWriter) {
    this.#writer = writer;
  }

  /** By the index audit_entries_by_time. */
  async prune(untilMs: number): Promise<boolean> {
    const sql = `DELETE FROM audit_entries WHERE number IN (
      SELECT number FROM audit_entries WHERE at_ms <= $1 ORDER BY at_ms LIMIT ${PRUNE_STEP})`;
    const [removed = 0] = (await this.#writer.write([{ sql, params: [untilMs], expects: null }])) ?? [];
    return removed < PRUNE_STEP;
  }
}
