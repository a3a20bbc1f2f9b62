import type { Database } from 'bun:sqlite';

import { ABSENT, type Fence, fencedRecord } from '../../../core/fence.ts';
import { FENCED_REVISION } from '../../sql/fences.ts';

/** Records whose revision is kept in memory; that of another one is read when it is needed. */
const MAX_KEPT = 20_000;

/** The revisions of the records that spends are fenced by, as they were last committed. */
export class RecordRevisions {
  readonly #db: Database;
  readonly #kept = new Map<string, number>();

  constructor(db: Database) {
    this.#db = db;
  }

  revisionOf(fence: Fence, record: string): number {
    const kept = this.#kept.get(record);
    if (kept !== undefined) return kept;
    const read = this.#read(fence);
    this.#kept.set(record, read);
    if (this.#kept.size > MAX_KEPT) this.#dropOldest();
    return read;
  }

  /** What is not kept is read from the database, which has these by now. */
  adopt(revisions: ReadonlyMap<string, number>): void {
    for (const [record, revision] of revisions) if (this.#kept.has(record)) this.#kept.set(record, revision);
  }

  #read({ kind, id, name }: Fence): number {
    const sql = FENCED_REVISION[kind]('?1', '?2');
    const query = this.#db.query<{ revision: number }, string[]>(sql);
    const row = kind === 'noOverride' ? query.get(id, name) : query.get(id);
    return row?.revision ?? ABSENT;
  }

  #dropOldest(): void {
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** What a batch sees: its own changes over those that were committed. */
export class BatchRevisions {
  readonly #committed: RecordRevisions;
  readonly own = new Map<string, number>();

  constructor(committed: RecordRevisions) {
    this.#committed = committed;
  }

  revise(fences: readonly Fence[]): void {
    for (const fence of fences) this.own.set(fencedRecord(fence), fence.revision);
  }

  holds(fence: Fence): boolean {
    const record = fencedRecord(fence);
    return (this.own.get(record) ?? this.#committed.revisionOf(fence, record)) === fence.revision;
  }
}
