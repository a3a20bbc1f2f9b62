import { alertsOf, tellsBelow } from '../../core/alerts.ts';
import { heldRefill } from '../../core/plan.ts';
import type { Alerts, LimitRecord, RefillRule } from '../../core/records.ts';
import { type AppliedLimit, asConfigured } from './appliedLimit.ts';
import type { EntryCredits, PlanEntry } from './planEntry.ts';
import type { KeyRecord } from '../../model/keys.ts';

/** What keys share of their credits. */
interface CreditRules {
  readonly refill: RefillRule | null;
  readonly alerts: Alerts | null;
  /** Without a plan. */
  readonly tellsBelow: number;
}

const PLAIN_CREDITS: CreditRules = { refill: null, alerts: null, tellsBelow: tellsBelow(null, null) };

/** Values that keys share, by number. 0 = none, -1 = there are too many different values. */
export class SharedRecords {
  readonly apis = new Shared<string>();
  readonly limits = new Shared<readonly AppliedLimit[]>();
  readonly credits = new Shared<CreditRules>();

  limitsNumber(limits: readonly LimitRecord[]): number {
    return limits.length === 0 ? 0 : this.limits.indexOf(JSON.stringify(limits), limits.map(asConfigured));
  }

  /** The time at which a rule was set does not matter to a verification. Without it, many keys share one rule. */
  creditsNumber({ credits, alerts }: Pick<KeyRecord, 'credits' | 'alerts'>): number {
    const rule = credits?.refill ?? null;
    const threshold = alertsOf(null, alerts?.creditsBelow ?? null);
    if (credits === null || (rule === null && threshold === null)) return 0;
    const refill = rule === null ? null : { ...rule, sinceMs: 0 };
    const shared = { refill, alerts: threshold, tellsBelow: tellsBelow(threshold, null) };
    return this.credits.indexOf(JSON.stringify(shared), shared);
  }

  /** The credits of a key under these rules; null = they are metered. */
  creditsOf(account: number, rulesNumber: number | null, plan: PlanEntry | null): EntryCredits {
    if (rulesNumber === null) return { account, refill: null, metered: true, tellsBelow: 0 };
    const rules = rulesNumber === 0 ? PLAIN_CREDITS : this.credits.at(rulesNumber);
    if (plan === null) return { account, refill: rules.refill, tellsBelow: rules.tellsBelow };
    const refill = heldRefill({ account, refill: rules.refill }, plan.record);
    return { account, refill, tellsBelow: tellsBelow(rules.alerts, plan.record) };
  }
}

/** Different values that keys share; one more is refused. Their numbers fit into 16 bits. */
const MAX_SHARED = 10_000;
const COMPANIONS_PER_BLOCK = 1024;

/** Objects that belong to some rows. Blocks of rows without such objects take no memory. */
export class Companions<T> {
  readonly #blocks: ((T | null)[] | null)[] = [];

  at(row: number): T | null {
    return this.#blocks[Math.floor(row / COMPANIONS_PER_BLOCK)]?.[row % COMPANIONS_PER_BLOCK] ?? null;
  }

  put(row: number, companion: T | null): void {
    const number = Math.floor(row / COMPANIONS_PER_BLOCK);
    const block = this.#blocks[number] ?? (companion === null ? null : this.#open(number));
    if (block !== null) block[row % COMPANIONS_PER_BLOCK] = companion;
  }

  /** Calls `use` for each row that has one. Of a million rows, a thousand with one are found in a few milliseconds. */
  forEach(use: (companion: T, row: number) => void): void {
    for (let number = 0; number < this.#blocks.length; number++) {
      const block = this.#blocks[number] ?? [];
      for (let i = 0; i < block.length; i++) {
        const companion = block[i] ?? null;
        if (companion !== null) use(companion, number * COMPANIONS_PER_BLOCK + i);
      }
    }
  }

  #open(number: number): (T | null)[] {
    const block = Array.from({ length: COMPANIONS_PER_BLOCK }, () => null);
    while (this.#blocks.length <= number) this.#blocks.push(null);
    this.#blocks[number] = block;
    return block;
  }
}

/** Values that many keys share, by number; 0 = none. */
class Shared<T> {
  readonly #numbers = new Map<string, number>();
  readonly #values: T[] = [];

  /** -1 when there are too many different ones. */
  indexOf(name: string, value: T): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#values.length >= MAX_SHARED) return -1;
    this.#values.push(value);
    this.#numbers.set(name, this.#values.length);
    return this.#values.length;
  }

  /** 0 when it was never seen. */
  find(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }

  at(number: number): T {
    return this.#values[number - 1] as T;
  }
}
