import { holdsExpired } from '../../../core/pockets.ts';
import type { HeldCredits } from '../../../core/records.ts';
import type { ReadAccount } from '../../../storage/port/storage.ts';
import type { AdminContext } from './adminContext.ts';

/** A key or identity with its credits. */
export interface CreditsHolder {
  readonly id: string;
  readonly credits: HeldCredits | null;
}

/** The accounts of these keys or identities, in their order. Reservations whose time is over are ended before. */
export async function readCredits(
  { storage, settle }: Pick<AdminContext, 'storage' | 'settle'>,
  holders: readonly CreditsHolder[],
): Promise<readonly (ReadAccount | undefined)[]> {
  const states = await readAccounts(storage, holders);
  const nowMs = storage.ledger.nowMs();
  const due = holders.filter((_, i) => holdsExpired(states[i]?.pockets, nowMs));
  if (due.length === 0) return states;
  for (const { id } of due) await settle(id);
  return readAccounts(storage, holders);
}

async function readAccounts(
  { ledger }: AdminContext['storage'],
  holders: readonly CreditsHolder[],
): Promise<(ReadAccount | undefined)[]> {
  const accounts = holders.flatMap(({ credits }) => credits?.account ?? []);
  const states = accounts.length === 0 ? [] : await ledger.read(accounts);
  const stateOf = new Map(accounts.map((account, i) => [account, states[i]]));
  return holders.map(({ credits }) => (credits === null ? undefined : stateOf.get(credits.account)));
}
