import { isAnyIn, type Lock } from '../locks.ts';
import type { CommitterState, Form, DispatchInput, Waiting } from './dispatchInput.ts';
import type { PlannedBatch } from './plan.ts';
import type { Candidates } from './findCandidates.ts';

/** Spends of one batch at the most: bounds its time and the size of its answer. */
export const MAX_BATCH = 500;
/** A batch with this many fences takes no further spend. A single spend may have more. */
export const MAX_FENCES = 1_000;
/**
 * The second of the pair sends a batch behind the first one when this share of the crowd waits. A smaller batch does not pay: the start
 * of a batch costs the database as much as 15 rows.
 */
export const SECOND_SHARE = 1 / 3;
/**
 * One of the pair takes at most this share of the crowd, so that the node answers one half while the database decides the other.
 * Clients that are answered together ask again together: without this limit, batches of 240 and 10 alternated forever.
 */
const HALF = 1 / 2;
/** A smaller crowd is not halved. */
const HALVED_FROM = 32;

/** Where a spend goes by itself. */
export type Route = Form | 'contended';

/** A batch that is being filled. */
interface Draft<Item, Committer> {
  readonly committer: Committer;
  readonly route: Route;
  readonly form: Form;
  readonly items: Item[];
  /** A batch with this many locks takes no further account. */
  readonly maxLocks: number;
  locks: number;
  fences: number;
}

/** The second pass: each candidate, in order, joins a batch or stays. */
export class Drafts<Item extends Waiting, Committer extends CommitterState> {
  /** Changes that start now. */
  readonly changes: Item[] = [];
  readonly #input: DispatchInput<Item, Committer>;
  readonly #mixed: ReadonlySet<Lock>;
  readonly #free: Record<Route, Committer[]>;
  readonly #drafts: Draft<Item, Committer>[] = [];
  readonly #current: Partial<Record<Route, Draft<Item, Committer>>> = {};
  /** The batch that holds a lock. null: a waiting item holds it, and later items must wait. */
  readonly #holders = new Map<Lock, Draft<Item, Committer> | null>();

  constructor(
    input: DispatchInput<Item, Committer>,
    found: Candidates<Item>,
    free: Readonly<Record<Route, readonly Committer[]>>,
  ) {
    this.#input = input;
    this.#mixed = found.mixed;
    this.#free = { plain: [...free.plain], general: [...free.general], contended: [...free.contended] };
  }

  assign(item: Item): void {
    if (item.kind === 'change') {
      if (!isAnyIn(item.locks, this.#holders)) this.changes.push(item);
      return;
    }
    const draft = this.#draftFor(item);
    if (draft !== null) {
      draft.items.push(item);
      draft.fences += item.fences;
    }
    for (const lock of item.locks) {
      if (draft !== null && !this.#holders.has(lock)) draft.locks++;
      this.#holders.set(lock, draft);
    }
  }

  /** The batches, without one that is not worth sending behind another. */
  finish(): PlannedBatch<Item, Committer>[] {
    const { items, committers, crowd } = this.#input;
    const batches: PlannedBatch<Item, Committer>[] = [];
    let isBehind = !isPairIdle(committers);
    let waiting = items.length;
    for (const { committer, form, items: batch } of this.#drafts) {
      if (committer.role === 'plain') {
        if (isBehind && waiting < crowd * SECOND_SHARE) continue;
        isBehind = true;
        waiting -= batch.length;
      }
      batches.push({ committer, form, items: batch, waits: committer.role === 'contended' ? 'first' : 'never' });
    }
    return batches;
  }

  #draftFor(item: Item): Draft<Item, Committer> | null {
    const form = formOf(item, this.#mixed);
    const route = routeOf(item, form, this.#input);
    const holder = this.#holderOf(item.locks);
    const draft = holder === undefined ? this.#open(route, form) : holder;
    if (draft === null || draft.form !== form || draft.route !== route || isFull(draft)) return null;
    return draft;
  }

  /** The batch that has some of the locks; undefined: no batch has one; null: the item has to stay. */
  #holderOf(locks: readonly Lock[]): Draft<Item, Committer> | null | undefined {
    let found: Draft<Item, Committer> | null | undefined;
    for (const lock of locks) {
      const holder = this.#holders.get(lock);
      if (holder === undefined) continue;
      if (holder === null || (found !== undefined && found !== holder)) return null;
      found = holder;
    }
    return found;
  }

  /** A batch that has space for one more account; null: every committer of the route has a full batch. */
  #open(route: Route, form: Form): Draft<Item, Committer> | null {
    const current = this.#current[route];
    if (current !== undefined && !isFull(current) && current.locks < current.maxLocks) return current;
    const committer = this.#free[route].shift();
    if (committer === undefined) return null;
    const { crowd } = this.#input;
    const isHalved = committer.role === 'plain' && form === 'plain' && crowd >= HALVED_FROM;
    const maxLocks = isHalved ? Math.ceil(crowd * HALF) : Infinity;
    const draft = { committer, route, form, items: [], maxLocks, locks: 0, fences: 0 };
    this.#current[route] = draft;
    this.#drafts.push(draft);
    return draft;
  }
}

function isFull({ items, fences }: Draft<unknown, unknown>): boolean {
  return items.length >= MAX_BATCH || fences >= MAX_FENCES;
}

export function formOf({ plainCharge }: Waiting, mixed: ReadonlySet<Lock>): Form {
  return plainCharge !== null && !mixed.has(plainCharge.account) ? 'plain' : 'general';
}

export function routeOf({ locks }: Waiting, form: Form, { contended }: DispatchInput<Waiting, CommitterState>): Route {
  return isAnyIn(locks, contended) ? 'contended' : form;
}

export function isPairIdle(committers: readonly CommitterState[]): boolean {
  return committers.every(({ role, isIdle }) => role !== 'plain' || isIdle);
}
