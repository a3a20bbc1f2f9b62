import type { Charge } from '../../../core/spend.ts';
import type { Waits } from './batch.ts';
import { isAnyIn, type Lock } from './fences.ts';
import { isAlike } from './plainBatch.ts';

/**
 * When the first item of the queue has waited this long, an idle committer takes work of another role: such a wait means a distant
 * database. For a nearby one, larger batches are better: twice as many spends in a batch take far less than twice the time.
 */
export const LEND_AFTER_MS = 5;

/**
 * Decides which items of the queue go out now, in which batch and on which committer. A pure function.
 *
 *   - An item stays behind every earlier item that shares a lock with it, unless both are in the same batch.
 *   - No lock is in two batches, nor in a batch and in flight.
 *   - Spends of one account go together. If some need a general batch, or are not alike, all of them go into a general batch.
 *   - A batch of the pair takes at most half of the recentPeak. One more spend of an account in the batch costs nothing, so it always joins.
 *   - An idempotency key is in a batch once: the second spend has to find the answer of the first.
 */
export function dispatch<Item extends Waiting, Committer extends CommitterState>(
  input: DispatchInput<Item, Committer>,
): BatchChoice<Item, Committer> {
  const { items } = input;
  const ready = readyCommitters(input);
  if (!mayTakeAny(input, ready)) return planOf(input, items, [], []);
  const found = findCandidates(input, ready.length * MAX_BATCH);
  const drafts = new Drafts(input, found, committersFor(input, found, ready));
  for (const item of found.candidates) drafts.assign(item);
  const batches = drafts.finish();
  return planOf(input, restOf(items, batches, drafts.changes), batches, drafts.changes);
}

function restOf<Item>(
  items: readonly Item[],
  batches: readonly { readonly items: readonly Item[] }[],
  changes: readonly Item[],
): readonly Item[] {
  const count = batches.reduce((sum, batch) => sum + batch.items.length, changes.length);
  // Usually nothing is left.
  if (count === items.length) return [];
  if (count === 0) return items;
  const taken = new Set(changes);
  for (const batch of batches) for (const item of batch.items) taken.add(item);
  return items.filter((item) => !taken.has(item));
}

function planOf<Item extends Waiting, Committer extends CommitterState>(
  input: DispatchInput<Item, Committer>,
  rest: readonly Item[],
  batches: readonly PlannedBatch<Item, Committer>[],
  changes: readonly Item[],
): BatchChoice<Item, Committer> {
  const isUsed = (each: Committer): boolean => batches.some(({ committer }) => committer === each);
  const mayLend = input.committers.some((each) => each.isIdle && each.role !== 'contended' && !isUsed(each));
  return { batches, changes, rest, looksAgain: rest.length > 0 && mayLend && !hasWaited(input) };
}

function hasWaited({ items, nowMs }: DispatchInput<Waiting, CommitterState>): boolean {
  return nowMs - (items[0]?.queuedAtMs ?? nowMs) >= LEND_AFTER_MS;
}

/** The idle committers, but not those of the pair while too few spends wait for a batch behind the one in flight. */
function readyCommitters<Committer extends CommitterState>(input: DispatchInput<Waiting, Committer>): Committer[] {
  const { committers, items, recentPeak } = input;
  const isPairReady = isPairIdle(committers) || items.length >= recentPeak * SECOND_SHARE;
  return committers.filter(({ role, isIdle }) => isIdle && (role !== 'plain' || isPairReady));
}

/** A quick check: most calls come while the pair is in flight and the queue holds only plain spends. */
function mayTakeAny(input: DispatchInput<Waiting, CommitterState>, ready: readonly CommitterState[]): boolean {
  const { items, contended } = input;
  if (items.length === 0) return false;
  return ready.some(({ role }) => {
    if (role === 'contended') return items.some(({ kind, locks }) => kind === 'change' || isAnyIn(locks, contended));
    return role === 'plain' || hasWaited(input) || items.some(({ plainCharge }) => plainCharge === null);
  });
}

/** The committers of each route, in the order in which they are used. A committer without work of its own may be lent. */
function committersFor<Item extends Waiting, Committer extends CommitterState>(
  input: DispatchInput<Item, Committer>,
  { candidates, mixed }: Candidates<Item>,
  ready: readonly Committer[],
): Record<Route, Committer[]> {
  const plain = ready.filter(({ role }) => role === 'plain');
  const general = ready.filter(({ role }) => role === 'general');
  const contended = ready.filter(({ role }) => role === 'contended');
  if (!hasWaited(input)) return { plain, general, contended };
  const isOnRoute = (item: Item, route: Route): boolean =>
    item.kind === 'spend' && routeOf(item, formOf(item, mixed), input) === route;
  const hasWork = (route: Route): boolean => candidates.some((item) => isOnRoute(item, route));
  return {
    plain: hasWork('general') ? plain : [...plain, ...general],
    general: hasWork('plain') ? general : [...general, ...plain],
    contended,
  };
}

/** A plain batch is decided by one statement. A general batch is decided spend by spend. */
type Form = 'plain' | 'general';

/** What `dispatch` needs to know about an item of the queue. */
export interface Waiting {
  readonly kind: 'spend' | 'change';
  readonly locks: readonly Lock[];
  /** The only charge of a plain spend; null for all others. */
  readonly plainCharge: Charge | null;
  readonly fences: number;
  readonly queuedAtMs: number;
}

/**
 * The role of a committer:
 *   plain      one of the pair that shares a connection: it sends plain batches, one behind the other
 *   general    sends general batches
 *   contended  sends batches of contended accounts, of either form, and waits for their rows
 */
export interface CommitterState {
  readonly role: 'plain' | 'general' | 'contended';
  readonly isIdle: boolean;
}

/** The input of `dispatch`. */
export interface DispatchInput<Item, Committer> {
  /** The queue, in order. */
  readonly items: readonly Item[];
  readonly committers: readonly Committer[];
  /** Locks of the batches and changes in flight. */
  readonly locked: { has(lock: Lock): boolean; readonly size: number };
  readonly contended: { has(lock: Lock): boolean; readonly size: number };
  /** The largest number that recently waited at one time. */
  readonly recentPeak: number;
  readonly nowMs: number;
}

export interface PlannedBatch<Item, Committer> {
  readonly committer: Committer;
  readonly form: Form;
  readonly items: readonly Item[];
  readonly waits: Waits;
}

/** The decision of `dispatch`. */
interface BatchChoice<Item, Committer> {
  readonly batches: readonly PlannedBatch<Item, Committer>[];
  /** Changes that start now. */
  readonly changes: readonly Item[];
  /** What stays in the queue, in order. */
  readonly rest: readonly Item[];
  /** An idle committer may take from the rest after it has waited for LEND_AFTER_MS. */
  readonly looksAgain: boolean;
}

/** How many items of the queue one dispatch looks at: more than may wait by default, so that it sees all items behind a locked account. */
const MAX_LOOKED_AT = 50_000;

interface Candidates<Item> {
  /** Items that neither anything in flight nor any earlier item holds back. */
  readonly candidates: readonly Item[];
  /** Accounts of candidates that cannot all be in one plain batch. */
  readonly mixed: ReadonlySet<Lock>;
}

/** The first pass over the queue: which items can go at all, and which accounts need a general batch. */
function findCandidates<Item extends Waiting>(
  input: DispatchInput<Item, CommitterState>,
  maxCandidates: number,
): Candidates<Item> {
  const { items, locked } = input;
  const candidates: Item[] = [];
  const keptBack = new Set<Lock>();
  const keepBack = (locks: readonly Lock[]): void => {
    for (const lock of locks) keptBack.add(lock);
  };
  const names = new Set<Lock>();
  const mixed = new Set<Lock>();
  const firstCharges = new Map<Lock, Charge>();
  const end = Math.min(items.length, MAX_LOOKED_AT);
  for (let i = 0; i < end && candidates.length < maxCandidates; i++) {
    const item = items[i] as Item;
    const { locks, plainCharge } = item;
    if (isAnyIn(locks, locked) || isAnyIn(locks, keptBack) || isAnyIn(locks, names)) {
      keepBack(locks);
      continue;
    }
    candidates.push(item);
    if (item.kind === 'change') keepBack(locks);
    else if (plainCharge === null) for (const lock of locks) (typeof lock === 'number' ? mixed : names).add(lock);
    else {
      const first = firstCharges.get(plainCharge.account);
      if (first === undefined) firstCharges.set(plainCharge.account, plainCharge);
      else if (!isAlike(first, plainCharge)) mixed.add(plainCharge.account);
    }
  }
  return { candidates, mixed };
}

/** The most spends of one batch. This bounds its time and the size of its answer. */
export const MAX_BATCH = 500;
/** A batch with this many fences takes no further spend. A single spend may have more. */
export const MAX_FENCES = 1_000;
/**
 * The second of the pair sends a batch behind the first one when this share of the recentPeak waits. A smaller batch does not pay, because
 * beginning a batch costs the database as much as 15 rows.
 */
const SECOND_SHARE = 1 / 3;
/**
 * Each of the pair takes at most this share of the recentPeak, so that the node answers one half while the database decides the other. Clients
 * that are answered together ask again together: without this limit, batches of 240 and 10 alternated for ever.
 */
const HALF = 1 / 2;
/** A smaller recentPeak is not halved. */
const HALVED_FROM = 32;

/** The route of a spend, considered by itself. */
type Route = Form | 'contended';

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

/** The second pass: each candidate in turn joins a batch or stays. */
class Drafts<Item extends Waiting, Committer extends CommitterState> {
  /** Changes that start now. */
  readonly changes: Item[] = [];
  readonly #input: DispatchInput<Item, Committer>;
  readonly #mixed: ReadonlySet<Lock>;
  readonly #free: Record<Route, Committer[]>;
  readonly #drafts: Draft<Item, Committer>[] = [];
  readonly #current: Partial<Record<Route, Draft<Item, Committer>>> = {};
  /** The batch that holds a lock. null = a waiting item holds it, and later items must wait. */
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

  /** The batches, except one that is not worth sending behind another. */
  finish(): PlannedBatch<Item, Committer>[] {
    const { items, committers, recentPeak } = this.#input;
    const batches: PlannedBatch<Item, Committer>[] = [];
    let isBehind = !isPairIdle(committers);
    let waiting = items.length;
    for (const { committer, form, items: batch } of this.#drafts) {
      if (committer.role === 'plain') {
        if (isBehind && waiting < recentPeak * SECOND_SHARE) continue;
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

  /** The batch that has some of the locks; undefined = no batch has any; null = the item has to stay. */
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

  /** A batch that has space for one more account; null = every committer of the route has a full batch. */
  #open(route: Route, form: Form): Draft<Item, Committer> | null {
    const current = this.#current[route];
    if (current !== undefined && !isFull(current) && current.locks < current.maxLocks) return current;
    const committer = this.#free[route].shift();
    if (committer === undefined) return null;
    const { recentPeak } = this.#input;
    const isHalved = committer.role === 'plain' && form === 'plain' && recentPeak >= HALVED_FROM;
    const maxLocks = isHalved ? Math.ceil(recentPeak * HALF) : Infinity;
    const draft = { committer, route, form, items: [], maxLocks, locks: 0, fences: 0 };
    this.#current[route] = draft;
    this.#drafts.push(draft);
    return draft;
  }
}

function isFull({ items, fences }: Draft<unknown, unknown>): boolean {
  return items.length >= MAX_BATCH || fences >= MAX_FENCES;
}

function formOf({ plainCharge }: Waiting, mixed: ReadonlySet<Lock>): Form {
  return plainCharge !== null && !mixed.has(plainCharge.account) ? 'plain' : 'general';
}

function routeOf({ locks }: Waiting, form: Form, { contended }: DispatchInput<Waiting, CommitterState>): Route {
  return isAnyIn(locks, contended) ? 'contended' : form;
}

function isPairIdle(committers: readonly CommitterState[]): boolean {
  return committers.every(({ role, isIdle }) => role !== 'plain' || isIdle);
}
