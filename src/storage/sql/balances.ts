import type { ChangedAccount } from '../../core/accountChange.ts';
import type { Reservation } from '../../core/reservation.ts';
import type { AuditEntry } from '../port/auditEntries.ts';
import type { NewEvent } from '../port/events.ts';
import type { Statement } from './query/statement.ts';

/** Adds the balance before and after, as the ledger saw it, to entries that name a counter; null = there is no counter. */
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

/** Adds the charge of an ended reservation to its event. */
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

/** Totals kept in memory. */
const MAX_TOTALS = 1000;

interface Known {
  readonly version: number;
  readonly total: number;
}

/**
 * The total number of keys of each listing, kept until any record changes. Counting a million keys takes a hundred times as long as
 * reading a page, and a caller that reads all pages would wait for it with each of them.
 */
export class RememberedTotals {
  readonly #version: () => Promise<number>;
  readonly #known = new Map<string, Known>();

  constructor(version: () => Promise<number>) {
    this.#version = version;
  }

  async find({ sql, params }: Statement, count: () => Promise<number>): Promise<number> {
    const name = JSON.stringify([sql, params]);
    // The version is read before the count, so that a change during the count makes the next call count again.
    const version = await this.#version();
    const known = this.#known.get(name);
    if (known?.version === version) return known.total;
    const total = await count();
    if (this.#known.size >= MAX_TOTALS) this.#known.clear();
    this.#known.set(name, { version, total });
    return total;
  }
}
