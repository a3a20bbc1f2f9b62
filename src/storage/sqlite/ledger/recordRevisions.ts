import type { Database } from 'bun:sqlite';

import { dropFirst } from '../../../basics/dropFirst.ts';
import { ABSENT, type Fence, type FenceKind, fencedRecord } from '../../../core/fence.ts';
import { FENCED_REVISION } from '../../sql/fences.ts';

/**
 * How many revisions of a kind of records are kept in memory. Other revisions are read when they are needed, which takes as long as ten
 * spends.
 */
const MAX_KEPT = 20_000;
/** For keys and identities, about 100 bytes each: as many as the cache holds by default. */
const MAX_KEPT_HOLDERS = 1_000_000;

/** The last committed revisions of the records that fence spends. */
export class RecordRevisions {
  readonly #db: Database;
  /** By kind, then by id. A text of both would have to be made for every fence. */
  readonly #kept = new Map<FenceKind, Map<string, number>>();
  /** Counts the commits that changed an existing record, beginning at 1. */
  #lastChange = 1;

  constructor(db: Database) {
    this.#db = db;
  }

  get lastChange(): number {
    return this.#lastChange;
  }

  holds(fence: Fence): boolean {
    return this.#revisionOf(fence) === fence.revision;
  }

  #revisionOf(fence: Fence): number {
    const kept = this.#keptOf(fence);
    const known = kept.get(nameOf(fence));
    if (known !== undefined) return known;
    const read = this.#read(fence);
    kept.set(nameOf(fence), read);
    if (kept.size > (isHolder(fence) ? MAX_KEPT_HOLDERS : MAX_KEPT)) dropFirst(kept);
    return read;
  }

  /** A revision that is not kept is read from the database, which has these changes by now. */
  adopt({ revised, endsNotes }: Pick<BatchRevisions, 'revised' | 'endsNotes'>): void {
    if (endsNotes) this.#lastChange++;
    for (const fence of revised) {
      const kept = this.#keptOf(fence);
      if (kept.has(nameOf(fence))) kept.set(nameOf(fence), fence.revision);
    }
  }

  #keptOf({ kind }: Fence): Map<string, number> {
    const known = this.#kept.get(kind);
    if (known !== undefined) return known;
    const made = new Map<string, number>();
    this.#kept.set(kind, made);
    return made;
  }

  #read({ kind, id, name }: Fence): number {
    const sql = FENCED_REVISION[kind]('?1', '?2');
    const query = this.#db.query<{ revision: number }, string[]>(sql);
    const row = kind === 'noOverride' ? query.get(id, name) : query.get(id);
    return row?.revision ?? ABSENT;
  }
}

function isHolder({ kind }: Fence): boolean {
  return kind === 'key' || kind === 'identity';
}

/** The name of a record, unique among its kind. */
function nameOf({ id, name }: Fence): string {
  return name === '' ? id : `${id} ${name}`;
}

/** The revisions that a batch sees: its own changes on top of the committed ones. */
export class BatchRevisions {
  readonly #committed: RecordRevisions;
  readonly #own = new Map<string, Fence>();
  #endsNotes = false;

  constructor(committed: RecordRevisions) {
    this.#committed = committed;
  }

  revise(fences: readonly Fence[], endsNotes: boolean): void {
    for (const fence of fences) this.#own.set(fencedRecord(fence), fence);
    this.#endsNotes ||= endsNotes;
  }

  /** The batch has changed an existing record. */
  get endsNotes(): boolean {
    return this.#endsNotes;
  }

  /** 0: the batch has changed records itself, so each fence must be checked. */
  get lastChange(): number {
    return this.#own.size === 0 ? this.#committed.lastChange : 0;
  }

  /** The present revisions of the records that the batch has changed. */
  get revised(): Iterable<Fence> {
    return this.#own.values();
  }

  holds(fence: Fence): boolean {
    const own = this.#own.size === 0 ? undefined : this.#own.get(fencedRecord(fence));
    return own === undefined ? this.#committed.holds(fence) : own.revision === fence.revision;
  }
}
