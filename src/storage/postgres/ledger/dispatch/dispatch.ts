import { isAnyIn } from '../locks.ts';
import { Drafts, formOf, isPairIdle, MAX_BATCH, routeOf, SECOND_SHARE, type Route } from './batchDrafts.ts';
import type { CommitterState, DispatchInput, Waiting } from './dispatchInput.ts';
import type { DispatchPlan, PlannedBatch } from './plan.ts';
import { type Candidates, findCandidates } from './findCandidates.ts';

/**
 * When the first item of the queue has waited this long, an idle committer takes work of another role, because a wait this long means a
 * distant database. For a near one, larger batches are better: twice as many spends in a batch take far less than twice the time.
 */
export const LEND_AFTER_MS = 5;

/**
 * Decides what of the queue goes out now: which items form which batch, on which committer. A pure function.
 *
 *   - An item stays behind every earlier item that shares a lock with it, unless both are in one batch.
 *   - No lock is in two batches, nor in a batch and in what is in flight.
 *   - Spends of one account go together. When some need a general batch, or are not alike, all of them go into a general batch.
 *   - A batch of the pair takes at most half of the crowd. One more spend of an account that it has costs nothing, and joins it.
 *   - An idempotency key is in a batch once: the second spend has to find what the first one leaves.
 */
export function dispatch<Item extends Waiting, Committer extends CommitterState>(
  input: DispatchInput<Item, Committer>,
): DispatchPlan<Item, Committer> {
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
  // Mostly nothing is left.
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
): DispatchPlan<Item, Committer> {
  const isUsed = (each: Committer): boolean => batches.some(({ committer }) => committer === each);
  const mayLend = input.committers.some((each) => each.isIdle && each.role !== 'contended' && !isUsed(each));
  return { batches, changes, rest, looksAgain: rest.length > 0 && mayLend && !hasWaited(input) };
}

function hasWaited({ items, nowMs }: DispatchInput<Waiting, CommitterState>): boolean {
  return nowMs - (items[0]?.queuedAtMs ?? nowMs) >= LEND_AFTER_MS;
}

/** The idle committers, without those of the pair while too few wait to send a batch behind the one in flight. */
function readyCommitters<Committer extends CommitterState>(input: DispatchInput<Waiting, Committer>): Committer[] {
  const { committers, items, crowd } = input;
  const isPairReady = isPairIdle(committers) || items.length >= crowd * SECOND_SHARE;
  return committers.filter(({ role, isIdle }) => isIdle && (role !== 'plain' || isPairReady));
}

/** A quick look: most calls come while the pair is in flight and the queue holds nothing but plain spends. */
function mayTakeAny(input: DispatchInput<Waiting, CommitterState>, ready: readonly CommitterState[]): boolean {
  const { items, contended } = input;
  if (items.length === 0) return false;
  return ready.some(({ role }) => {
    if (role === 'contended') return items.some(({ kind, locks }) => kind === 'change' || isAnyIn(locks, contended));
    return role === 'plain' || hasWaited(input) || items.some(({ plainCharge }) => plainCharge === null);
  });
}

/** The committers of each route, in the order in which they are used. One without work of its own may be lent. */
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
