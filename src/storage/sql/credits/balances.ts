import type { ChangedAccount } from '../../../core/accountChange.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';
import type { Reservation } from '../../../core/reservation.ts';
import type { NewEvent } from '../../port/events.ts';

/** Adds the balance before and after to entries that name a counter, as the ledger saw it; null = there is no counter. */
export function withBalances(
  entries: readonly AuditEntry[],
  accounts: readonly ChangedAccount[],
): readonly AuditEntry[] {
  return entries.map((entry) => {
    if (entry.counter === undefined) return entry;
    const { before, after } = balances(entry.counter, accounts);
    return { ...entry, before: withBalance(entry.before, before), after: withBalance(entry.after, after) };
  });
}

/** The same for events, in the `before` and `after` of their data. */
export function withEventBalances(
  events: readonly NewEvent[],
  accounts: readonly ChangedAccount[],
): readonly NewEvent[] {
  return events.map((event) => {
    if (event.counter === undefined) return event;
    const data = JSON.parse(event.data) as { before?: object; after?: object };
    const { before, after } = balances(event.counter, accounts);
    const changed = {
      before: { ...data.before, remaining: before },
      after: { ...data.after, remaining: after },
    };
    return { ...event, data: JSON.stringify({ ...data, ...changed }) };
  });
}

/** Adds to an event what the end of a reservation has charged. */
export function withCharged(event: NewEvent, { charged }: Reservation): NewEvent {
  return { ...event, data: JSON.stringify({ ...(JSON.parse(event.data) as object), charged }) };
}

function balances(
  counter: number,
  accounts: readonly ChangedAccount[],
): { before: number | null; after: number | null } {
  return { before: accounts[counter]?.valueBefore ?? null, after: accounts[counter]?.state?.value ?? null };
}

function withBalance(text: string | null, remaining: number | null): string {
  return JSON.stringify({ ...(JSON.parse(text ?? '{}') as object), remaining });
}
