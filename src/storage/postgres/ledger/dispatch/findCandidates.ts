import type { Charge } from '../../../../core/spend.ts';
import { isAnyIn, type Lock } from '../locks.ts';
import { isAlike } from '../plainBatch.ts';
import type { CommitterState, DispatchInput, Waiting } from './dispatchInput.ts';

/** Items of the queue that one dispatch looks at: more than may wait by default, so that it sees all behind a locked account. */
const MAX_LOOKED_AT = 50_000;

export interface Candidates<Item> {
  /** Items that nothing in flight and nothing before them keeps back. */
  readonly candidates: readonly Item[];
  /** Accounts of candidates that cannot all be in one plain batch. */
  readonly mixed: ReadonlySet<Lock>;
}

/** The first pass over the queue: who can go at all, and which accounts need a general batch. */
export function findCandidates<Item extends Waiting>(
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
