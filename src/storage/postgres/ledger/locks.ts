import type { Spend } from '../../../core/spend.ts';
import { effectsOf } from '../../port/writeEffects.ts';
import type { Change } from '../../port/storage.ts';

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
