import type { LimitRecord } from '../../../core/records.ts';
import type { KeyRecord } from '../../../model/keys.ts';

/** The first account of a key, and its limits with their accounts counted from there. */
export interface CountedFrom {
  readonly first: number;
  readonly limits: readonly LimitRecord[];
}

/**
 * Accounts that were opened together have consecutive numbers. Counted from the first one, keys that were made alike share one list
 * of limits. Null: the numbers are not consecutive, because a limit was added later or another node took a number in between.
 * Every such distance would need a list of its own, and the number of lists is bounded.
 */
export function countAccounts({ credits, limits }: KeyRecord): CountedFrom | null {
  const first = credits?.account ?? limits.find(({ account }) => account !== null)?.account ?? 0;
  let next = credits === null ? first : first + 1;
  const counted: LimitRecord[] = [];
  for (const limit of limits) {
    if (limit.account !== null && limit.account !== next++) return null;
    counted.push(limit.account === null ? limit : { ...limit, account: limit.account - first });
  }
  return { first, limits: counted };
}
