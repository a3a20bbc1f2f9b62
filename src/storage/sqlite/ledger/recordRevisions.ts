import type { Database } from 'bun:sqlite';

import { dropFirst } from '../../../basics/dropFirst.ts';
import { ABSENT, type Fence, type FenceKind, fencedRecord } from '../../../core/fence.ts';
import { FENCED_REVISION } from '../../sql/fences.ts';

/** Records of a kind whose revision is kept in memory. That of another one is read when it is needed, which takes as long as ten spends. */
const MAX_KEPT = 20_000;
/** Of keys and identities, about 100 bytes each: as many as the cache holds by default. */
const MAX_KEPT_HOLDERS = 1_000_000;

/** The revisions of the records that spends are fenced by, as they were last committed. */
export class RecordRevisions {
  readonly #db: Database;
  /** By kind, then by id. One text of both would be made again for every fence. */
  readonly #kept = new Map<FenceKind, Map<string, number>>();
  /** Counts the commits that changed a record which existed before, from 1 on. */
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

  /** What is not kept is read from the database, which has these by now. */
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

/** The name of a record among those of its kind. */
function nameOf({ id, name }: Fence): string {
  return name === '' ? id : `${id} ${name}`;
}

/** What a batch sees: its own changes over those that were committed. */
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

  /** It has changed a record which existed before. */
  get endsNotes(): boolean {
    return this.#endsNotes;
  }

  /** 0: the batch has changed records itself, so that each fence must be looked at. */
  get lastChange(): number {
    return this.#own.size === 0 ? this.#committed.lastChange : 0;
  }

  /** The records that the batch has changed, as they are now. */
  get revised(): Iterable<Fence> {
    return this.#own.values();
  }

  holds(fence: Fence): boolean {
    const own = this.#own.size === 0 ? undefined : this.#own.get(fencedRecord(fence));
    return own === undefined ? this.#committed.holds(fence) : own.revision === fence.revision;
  }
}
