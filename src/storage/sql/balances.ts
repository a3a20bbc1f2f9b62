import { type AccountState, type AccountChange, refilled } from '../../core/account.ts';
import type { AuditEvent } from '../port/events.ts';

/** What the ledger knows of a change: each account before it and after it, in its order. */
export interface KnownAccounts {
  readonly changes: readonly AccountChange[];
  readonly before: readonly (AccountState | undefined)[];
  readonly after: readonly (AccountState | null)[];
}

/** Events that are about a counter tell its balance as the ledger saw it: null = there is none. */
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
