import { type Fence, fencedRecord } from '../../../core/fence.ts';
import type { Spend } from '../../../core/spend.ts';
import type { Change } from '../../port/storage.ts';
import { effectsOf } from '../../port/writes.ts';
import type { LastSeenChange } from '../freshness/freshness.ts';
import type { BatchOutcome } from './batch.ts';
import { BROKEN, RECORDS_KIND } from '../schema/spendFunctions.ts';
import { FENCE_KINDS } from '../../sql/fences.ts';

/** The fences of a batch, each once, as columns. */
export interface FenceColumns {
  readonly kinds: readonly number[];
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly revisions: readonly number[];
}

/**
 * What a batch asks about the records that decided its spends. Spends whose records were compared since the last change need no own fences:
 * one fence for all of them says that there was no further change.
 */
export class BatchFences {
  readonly columns: FenceColumns;
  readonly #spends: readonly Spend[];
  readonly #seen: LastSeenChange;
  /** The last change when the batch was made: another one may be seen while the batch is under way. */
  readonly #sequence: number;
  /** For each spend: whether it relies on its last check. */
  readonly #isCovered: readonly boolean[];
  readonly #distinct: readonly Fence[];

  constructor(spends: readonly Spend[], seen: LastSeenChange) {
    this.#spends = spends;
    this.#seen = seen;
    this.#sequence = seen.sequence;
    this.#isCovered = spends.map((spend) => seen.covers(spend));
    this.#distinct = distinctFences(spends.filter((_, i) => this.#isCovered[i] !== true));
    this.columns = columnsOf(this.#distinct, this.#isCovered.includes(true) ? seen.token : null);
  }

  /**
   * If the answer names broken fences, nothing of the batch was done: the spends that carry one are stale, and the others are sent again.
   * Otherwise null.
   */
  readBroken(numbers: readonly number[]): BatchOutcome[] | null {
    if (numbers[0] !== BROKEN) return null;
    const [, nowMs = 0, ...positions] = numbers;
    const broken = new Set(positions.map((position) => nameOf(this.#distinct[position - 1])));
    // There was another change. Until it is seen, all spends that rely on notes are sent with their own fences.
    if (positions.includes(this.#distinct.length + 1)) this.#seen.outdate(this.#sequence);
    return this.#spends.map((spend, i): BatchOutcome => {
      const fence = this.#isCovered[i] === true ? undefined : spend.fences.find((each) => broken.has(nameOf(each)));
      return fence === undefined ? 'resend' : { status: 'stale', nowMs, fence };
    });
  }

  /** Notes the spends for which all records were compared: each record that decided has a fence, or a charge names its revision. */
  noteCompared(outcomes: readonly BatchOutcome[]): void {
    if (this.#sequence === 0) return;
    for (const [i, { lastCheck }] of this.#spends.entries()) {
      const outcome = outcomes[i];
      if (lastCheck === undefined || this.#isCovered[i] === true || typeof outcome !== 'object') continue;
      const isNew = outcome.status === 'refused' || (outcome.status === 'taken' && !outcome.replayed);
      if (isNew) lastCheck.checkedAt = this.#sequence;
    }
  }
}

/** A key, its identity and a plan. */
const MOST_NOTED = 3;

/** How many fences a spend adds to a batch. After a last check, this is the number that it may need after another change. */
export function fenceCount(spend: Spend, seen: LastSeenChange): number {
  return seen.covers(spend) ? MOST_NOTED : spend.fences.length;
}

function columnsOf(fences: readonly Fence[], token: string | null): FenceColumns {
  const columns = { kinds: [] as number[], ids: [] as string[], names: [] as string[], revisions: [] as number[] };
  for (const { kind, id, name, revision } of fences) {
    columns.kinds.push(FENCE_KINDS.indexOf(kind));
    columns.ids.push(id);
    columns.names.push(name);
    columns.revisions.push(revision);
  }
  if (token === null) return columns;
  columns.kinds.push(RECORDS_KIND);
  columns.ids.push('');
  columns.names.push(token);
  columns.revisions.push(0);
  return columns;
}

function distinctFences(spends: readonly Spend[]): Fence[] {
  const distinct = new Map<string, Fence>();
  for (const { fences } of spends) for (const fence of fences) distinct.set(nameOf(fence), fence);
  return [...distinct.values()];
}

function nameOf(fence: Fence | undefined): string {
  return fence === undefined ? '' : `${fencedRecord(fence)} ${fence.revision}`;
}

/**
 * What a batch or a change in flight keeps others of this node from using: an account by its number, an idempotency key or a
 * record by its name.
 */
export type Lock = number | string;

export function locksOfSpend({ charges, idempotency }: Spend): Lock[] {
  const locks: Lock[] = [];
  for (const { account } of charges) locks.push(account);
  if (idempotency !== null) locks.push(`${idempotency.scope}\0${idempotency.id}`);
  return locks;
}

export function locksOfChange({ accounts, writes }: Change): Lock[] {
  return [...accounts.map(({ account }) => account), ...writes.flatMap((write) => effectsOf(write).locks)];
}

export function isAnyIn(locks: readonly Lock[], among: { has(lock: Lock): boolean; readonly size: number }): boolean {
  if (among.size === 0) return false;
  for (let i = 0; i < locks.length; i++) if (among.has(locks[i] as Lock)) return true;
  return false;
}
