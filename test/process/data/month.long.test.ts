import { expect, test } from 'bun:test';

import type { UsageRow } from '../../../src/cli/commands/usage.ts';
import { Killable } from '../../support/month/killable.ts';
import { timesAsMany } from '../../support/runs.ts';
import { TempFolder } from '../process.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);
const HOUR_MS = 3_600_000;
const DAYS = 31;
const KILLS = timesAsMany(4);

/** A key or customer whose credits are spent, and what its answers say was spent. */
interface Holder {
  readonly name: { readonly keyId: string } | { readonly externalId: string };
  readonly key: string;
  readonly isMetered: boolean;
  answered: number;
  /** What was asked for and not answered. */
  unanswered: number;
}

/** Numbers from 0 to below 1, the same for the same seed. */
function randomFrom(first: number): () => number {
  let state = first >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Month {
  readonly service: Killable;
  readonly holders: Holder[] = [];
  readonly #random = randomFrom(seed);
  #calls = 0;

  constructor(folder: string) {
    this.service = new Killable(folder, '2026-03-01T00:00:00Z');
  }

  upTo(most: number): number {
    return Math.floor(this.#random() * (most + 1));
  }

  // The shape of an answer is what the test asserts.
  // oxlint-disable-next-line typescript/no-explicit-any
  async ok(path: string, body: unknown): Promise<any> {
    const reply = await this.service.call(path, body);
    if (reply?.status !== 200) throw new Error(`${path} answered ${JSON.stringify(reply)}`);
    return reply.body;
  }

  async begin(): Promise<void> {
    await this.service.start();
    const { apiId } = await this.ok('/v1/apis.createApi', { name: 'a month' });
    const daily = { interval: 'daily', amount: 50, timezone: 'America/New_York' };
    const kinds: readonly (readonly ['key' | 'customer', object])[] = [
      ['key', { remaining: 40, refill: daily }],
      ['key', { remaining: 500 }],
      ['key', { metered: true }],
      ['customer', { remaining: 30, refill: { interval: 'weekly', amount: 60, mode: 'add', max: 200 } }],
      ['customer', { remaining: 5, refill: { interval: 'hourly', amount: 5 } }],
    ];
    for (const [i, [kind, credits]] of kinds.entries()) {
      const externalId = `customer-${i}`;
      if (kind === 'customer') await this.ok('/v1/identities.createIdentity', { externalId, ...credits });
      const fields = kind === 'customer' ? { externalId } : credits;
      const { key, keyId } = await this.ok('/v1/keys.createKey', { apiId, ...fields });
      const name = kind === 'customer' ? { externalId } : { keyId };
      this.holders.push({ name, key, isMetered: 'metered' in credits, answered: 0, unanswered: 0 });
    }
  }

  /** A few calls at the same time, of which a kill may leave some unanswered. */
  async step(kills: boolean): Promise<void> {
    const works = Array.from({ length: 4 + this.upTo(4) }, () => {
      const holder = this.holders[this.upTo(this.holders.length - 1)] as Holder;
      return this.#work(holder);
    });
    if (kills) {
      // In the middle of them: some have been answered by then.
      for (let turns = this.upTo(6); turns > 0; turns--) await new Promise((turn) => setImmediate(turn));
      await this.service.kill();
    }
    await Promise.all(works);
    if (kills) await this.service.start();
    else if (this.upTo(5) === 0) await this.service.ask({ kind: 'sweep' });
  }

  #work(holder: Holder): Promise<void> {
    const kind = this.upTo(5);
    if (kind <= 2) return this.#spend(holder);
    if (kind === 3) return this.#grant(holder);
    return kind === 4 ? this.#adjust(holder) : this.#reserve(holder);
  }

  async #spend(holder: Holder): Promise<void> {
    const cost = 1 + this.upTo(6);
    const reply = await this.service.call('/v1/keys.verifyKey', { key: holder.key, remaining: { cost } });
    if (reply === null) holder.unanswered += cost;
    else if ((reply.body as { valid: boolean }).valid) holder.answered += cost;
  }

  async #grant(holder: Holder): Promise<void> {
    if (holder.isMetered) return;
    const expiresAt = this.upTo(1) === 0 ? {} : { expiresAt: this.service.nowMs + 1 + this.upTo(60) * HOUR_MS };
    const call = { amount: 1 + this.upTo(20), reason: 'a payment', idempotencyKey: `payment-${++this.#calls}` };
    await this.service.call('/v1/credits.grant', { ...holder.name, ...call, ...expiresAt });
  }

  async #adjust(holder: Holder): Promise<void> {
    const by = this.upTo(1) === 0 ? 1 + this.upTo(9) : -1 - this.upTo(9);
    await this.service.call('/v1/credits.adjust', { ...holder.name, by, reason: 'a mistake' });
  }

  async #reserve(holder: Holder): Promise<void> {
    const cost = 1 + this.upTo(9);
    const ttlMs = 1_000 + this.upTo(5) * HOUR_MS;
    const reply = await this.service.call('/v1/reservations.create', { key: holder.key, cost, ttlMs });
    const { reservationId } = (reply?.body ?? {}) as { reservationId?: string };
    if (reservationId === undefined) return;
    const real = this.upTo(12);
    // One of four is left to expire, which returns it.
    const end = this.upTo(3);
    if (end === 0) return;
    if (end === 1) return void (await this.service.call('/v1/reservations.release', { reservationId }));
    const settle = { reservationId, cost: real, allowOverage: true };
    const settled = await this.service.call('/v1/reservations.settle', settle);
    if (settled === null) holder.unanswered += real;
    else if (settled.status === 200) holder.answered += (settled.body as { charged: number }).charged;
  }

  async statement(holder: Holder, per: 'day' | 'period'): Promise<UsageRow[]> {
    const rows: UsageRow[] = [];
    for (let cursor: string | undefined; ;) {
      const more = cursor === undefined ? {} : { cursor };
      const page = await this.ok('/v1/usage.getStatement', { ...holder.name, per, ...more });
      rows.push(...page.rows);
      cursor = page.cursor;
      if (cursor === undefined) return rows;
    }
  }
}

test(
  `a month of spends, grants, refills, reservations and ${KILLS} kills: every row adds up, and what was spent is what was answered`,
  async () => {
    using folder = new TempFolder();
    const month = new Month(folder.join('data'));
    const { service } = month;
    await month.begin();
    try {
      const steps = 4 * DAYS;
      const killsBy = (step: number): number => Math.floor((step * KILLS) / steps);
      for (let step = 1; step <= steps; step++) {
        await month.step(killsBy(step) > killsBy(step - 1));
        await service.advance(1 + month.upTo(11 * HOUR_MS));
      }
      // All reservations that were left have expired.
      await service.advance(48 * HOUR_MS);
      await service.ask({ kind: 'sweep' });
      expect(service.kills).toBe(KILLS);
      let [answered, unanswered] = [0, 0];
      for (const holder of month.holders) {
        const days = await month.statement(holder, 'day');
        for (const rows of [days, await month.statement(holder, 'period')]) {
          expect(rows.length).toBeGreaterThan(0);
          const wrong = rows.filter(
            (row) => row.closing !== row.opening + row.granted + row.refilled + row.adjusted - row.spent - row.expired,
          );
          expect(wrong).toEqual([]);
          expect(rows.slice(1).map(({ opening }) => opening)).toEqual(rows.slice(0, -1).map(({ closing }) => closing));
          const spent = rows.reduce((sum, row) => sum + row.spent, 0);
          expect(spent).toBeGreaterThanOrEqual(holder.answered);
          expect(spent).toBeLessThanOrEqual(holder.answered + holder.unanswered);
        }
        expect(days.at(-1)?.held).toBe(0);
        answered += holder.answered;
        unanswered += holder.unanswered;
      }
      expect(answered).toBeGreaterThan(unanswered);
    } finally {
      await service.kill();
    }
  },
  timesAsMany(120_000),
);
