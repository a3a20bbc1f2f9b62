import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { StatementRow, StatementSpan } from '../../../../src/core/statementRows.ts';
import type { Actor } from '../../../../src/engine/admin/change/requireRight.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { VirtualClock } from '../../../support/clock.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { api, credits, key, newReservation, spendOf } from '../samples.ts';

const HOUR_MS = 3_600_000;
const BEGIN = Date.parse('2026-03-10T12:00:00Z');
const ACTOR: Actor = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };

const RULE = {
  interval: 'daily',
  refillDay: null,
  refillWeekday: null,
  timezone: 'Asia/Kolkata',
  amount: 40,
  mode: 'restore',
  max: null,
  sinceMs: 0,
} as const;

/** One key with credits, and what is known of it besides its statement. */
class Account {
  readonly #storage: Storage;
  readonly #engine: Engine;
  readonly #clock: VirtualClock;
  readonly #id: number;
  readonly #held: string[] = [];
  #number = 0;
  /** What verifications and settlements have answered. */
  spent = 0;

  constructor(storage: Storage, clock: VirtualClock, id: number) {
    this.#storage = storage;
    this.#engine = engineOn(storage);
    this.#clock = clock;
    this.#id = id;
  }

  async rows(per: StatementSpan): Promise<readonly StatementRow[]> {
    const query = { per, startMs: null, endMs: null, limit: 1_000, cursor: null };
    return (await this.#engine.usage.getStatement(ACTOR, { keyId: 'key_1' }, query)).rows.map(({ row }) => row);
  }

  /** Everything that is due is written. */
  async settle(): Promise<void> {
    await this.#engine.dueCredits.settle('key_1');
  }

  async balance(): Promise<{ value: number; held: number }> {
    const [state] = await this.#storage.ledger.read([this.#id]);
    return { value: state?.value ?? 0, held: state?.pockets?.held ?? 0 };
  }

  async step(kind: string, amount: number): Promise<void> {
    if (kind === 'wait') return this.#clock.advance(amount * HOUR_MS);
    await this.settle();
    if (kind === 'spend') await this.#spend(amount);
    else if (kind === 'adjust') await this.#change({ add: amount - 15 });
    else if (kind === 'grant') {
      const expiresAtMs = amount % 2 === 0 ? null : this.#clock.nowMs() + amount * HOUR_MS;
      await this.#change({ grant: { id: `grant ${++this.#number}`, amount, expiresAtMs } });
    } else if (kind === 'reserve') await this.#reserve(amount);
    else await this.#end(amount);
  }

  async #spend(amount: number): Promise<void> {
    const outcome = await this.#storage.ledger.spend(spendOf(credits(this.#id, amount)));
    if (outcome.status === 'taken') this.spent += amount;
  }

  async #change(fields: object): Promise<void> {
    const change = { account: this.#id, expect: 1, refill: null, revision: 1, ...fields };
    expect((await this.#storage.ledger.apply({ writes: [], accounts: [change] })).status).toBe('done');
  }

  async #reserve(cost: number): Promise<void> {
    const id = `rsv_${++this.#number}`;
    const spend = spendOf(credits(this.#id, cost));
    const made = await this.#storage.ledger.reserve(spend, newReservation(id, { cost, ttlMs: 30 * HOUR_MS }));
    if (made.reservation !== null) this.#held.push(id);
  }

  async #end(cost: number): Promise<void> {
    const id = this.#held.shift();
    if (id === undefined) return;
    const ending =
      cost % 3 === 0 ? { kind: 'release' as const } : { kind: 'settle' as const, cost, allowOverage: true };
    const ended = await this.#storage.ledger.endReservation(id, ending);
    if (ended.status === 'done') this.spent += ended.reservation.charged;
  }
}

describePort('the sums of statements', (setup) => {
  test('whatever happens, every row adds up, goes on from the one before, and tells what was answered', async () => {
    const steps = fc.array(
      fc.tuple(
        fc.constantFrom('spend', 'spend', 'wait', 'adjust', 'grant', 'reserve', 'end'),
        fc.integer({ min: 1, max: 30 }),
      ),
      { minLength: 60, maxLength: 60 },
    );
    const [list = []] = fc.sample(steps, 1);
    const { storage, clock } = setup();
    clock.set(BEGIN);
    const [id = 0] = await storage.ledger.reserveAccounts(1);
    const opened = {
      account: id,
      expect: 0,
      open: 'credits' as const,
      refill: null,
      set: 40,
      mark: BEGIN,
      revision: 1,
    };
    await storage.ledger.apply({
      writes: [
        { kind: 'insertApi', api: api('api_1') },
        { kind: 'insertKey', key: key('key_1', { credits: { account: id, refill: RULE } }) },
      ],
      accounts: [opened],
    });
    const account = new Account(storage, clock, id);
    for (const [kind, amount] of list) {
      await account.step(kind, amount);
      const seen = { day: await account.rows('day'), period: await account.rows('period') };
      for (const rows of Object.values(seen)) expectSound(rows);
    }
    const before = { day: await account.rows('day'), period: await account.rows('period') };
    await account.settle();
    const after = { day: await account.rows('day'), period: await account.rows('period') };
    expect(sums(after.day)).toEqual(sums(after.period));
    expect(sums(before.day)).toEqual(sums(before.period));
    expect([sums(before.day)['spent'], sums(after.day)['spent']]).toEqual([account.spent, account.spent]);
    const { value, held } = await account.balance();
    const last = after.day.at(-1);
    expect(last?.closing).toBe(value + held);
    // A reservation that is released is no movement: a day with nothing else has no row.
    if ((last?.endMs ?? 0) > clock.nowMs()) expect(last?.held).toBe(held);
  });
});

function expectSound(rows: readonly StatementRow[]): void {
  for (const [i, row] of rows.entries()) {
    const { opening, granted, refilled, adjusted, spent, expired } = row;
    expect([row, opening + granted + refilled + adjusted - spent - expired]).toEqual([row, row.closing]);
    expect([row, row.held <= row.closing, spent >= 0]).toEqual([row, true, true]);
    const before = rows[i - 1];
    if (before !== undefined)
      expect([before, row, before.closing, before.startMs < row.startMs]).toEqual([before, row, opening, true]);
  }
}

function sums(rows: readonly StatementRow[]): Record<string, number> {
  const names = ['granted', 'refilled', 'adjusted', 'spent', 'expired'] as const;
  return Object.fromEntries(names.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]));
}
