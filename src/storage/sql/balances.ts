import { type AccountState, type AccountChange, refilled } from '../../core/account.ts';
import type { AuditEvent } from '../port/events.ts';

/** The accounts of a change, before and after it, in the order of the change. */
export interface KnownAccounts {
  readonly changes: readonly AccountChange[];
  readonly before: readonly (AccountState | undefined)[];
  readonly after: readonly (AccountState | null)[];
}

/** Adds the balance before and after to events that name a counter, as the ledger saw it; null = there is no counter. */
export function withBalances(events: readonly AuditEvent[], known: KnownAccounts): readonly AuditEvent[] {
  return events.map((event) => {
    if (event.counter === undefined) return event;
    const was = known.before[event.counter];
    const refill = known.changes[event.counter]?.refill ?? null;
    const before = was === undefined ? null : refilled(was, refill).value;
    const after = known.after[event.counter]?.value ?? null;
    return { ...event, before: withBalance(event.before, before), after: withBalance(event.after, after) };
  });
}

function withBalance(text: string | null, remaining: number | null): string {
  return JSON.stringify({ ...(JSON.parse(text ?? '{}') as object), remaining });
}
