import { type AccountState, type AccountChange, refilled } from '../../core/account.ts';
import type { AuditEntry } from '../port/auditEntries.ts';

/** The accounts of a change, before and after it, in the order of the change. */
export interface KnownAccounts {
  readonly changes: readonly AccountChange[];
  readonly before: readonly (AccountState | undefined)[];
  readonly after: readonly (AccountState | null)[];
}

/** Adds the balance before and after to entries that name a counter, as the ledger saw it; null = there is no counter. */
export function withBalances(entries: readonly AuditEntry[], known: KnownAccounts): readonly AuditEntry[] {
  return entries.map((entry) => {
    if (entry.counter === undefined) return entry;
    const was = known.before[entry.counter];
    const refill = known.changes[entry.counter]?.refill ?? null;
    const before = was === undefined ? null : refilled(was, refill).value;
    const after = known.after[entry.counter]?.value ?? null;
    return { ...entry, before: withBalance(entry.before, before), after: withBalance(entry.after, after) };
  });
}

function withBalance(text: string | null, remaining: number | null): string {
  return JSON.stringify({ ...(JSON.parse(text ?? '{}') as object), remaining });
}
