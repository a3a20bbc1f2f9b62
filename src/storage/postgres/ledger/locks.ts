import type { Spend } from '../../../core/spend.ts';
import { effectsOf } from '../../port/writeEffects.ts';
import type { Change } from '../../port/storage.ts';

/** What nobody else may use meanwhile: accounts by number; an idempotency key and records by name. */
export type Claim = number | string;

export function claimsOfSpend({ legs, idempotency }: Spend): Claim[] {
  const claims: Claim[] = [];
  for (const { account } of legs) claims.push(account);
  if (idempotency !== null) claims.push(`${idempotency.scope}\0${idempotency.id}`);
  return claims;
}

export function claimsOfChange({ accounts, writes }: Change): Claim[] {
  return [...accounts.map(({ account }) => account), ...writes.flatMap((write) => effectsOf(write).locks)];
}
