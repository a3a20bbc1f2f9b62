import type { KeyRecord, LimitRecord } from '../../core/records.ts';

/** Where the accounts of a key begin, and its limits with theirs counted from there. */
export interface CountedFrom {
  readonly first: number;
  readonly limits: readonly LimitRecord[];
}

/**
 * The accounts of a key follow one another when they were opened together: with one number for all of them, keys that are
 * made alike share their limits. Null where they do not, because one was added later or another node took a number in
 * between: every such distance would be a list of limits of its own, and there may not be many of those.
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
