import { type AccountState, type AccountChange, refilled } from '../../core/account.ts';
import type { AuditEntry } from '../port/auditEntries.ts';
import type { NewEvent } from '../port/events.ts';

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
    const { before, after } = balances(entry.counter, known);
    return { ...entry, before: withBalance(entry.before, before), after: withBalance(entry.after, after) };
  });
}

/** The same for events, in the `before` and `after` of their data. */
export function withEventBalances(events: readonly NewEvent[], known: KnownAccounts): readonly NewEvent[] {
  return events.map((event) => {
    if (event.counter === undefined) return event;
    const data = JSON.parse(event.data) as { before?: object; after?: object };
    const { before, after } = balances(event.counter, known);
    const changed = {
      before: { ...data.before, remaining: before },
      after: { ...data.after, remaining: after },
    };
    return { ...event, data: JSON.stringify({ ...data, ...changed }) };
  });
}

function balances(
  counter: number,
  { changes, before, after }: KnownAccounts,
): { before: number | null; after: number | null } {
  const was = before[counter];
  const refill = changes[counter]?.refill ?? null;
  return {
    before: was === undefined ? null : refilled(was, refill).value,
    after: after[counter]?.value ?? null,
  };
}

function withBalance(text: string | null, remaining: number | null): string {
  return JSON.stringify({ ...(JSON.parse(text ?? '{}') as object), remaining });
}
