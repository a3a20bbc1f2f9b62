import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { StatementLine } from '../../../../src/core/statement.ts';
import type { Holder, LineQuery } from '../../../../src/storage/port/credits.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import {
  api,
  change,
  credits,
  identity,
  key,
  openCredits,
  plan,
  removal,
  newReservation,
  spendOf,
  write,
} from '../samples.ts';
import type { StatementRow, StatementSpan } from '../../../../src/core/statementRows.ts';
import type { Actor } from '../../../../src/engine/admin/change/requireRight.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { VirtualClock } from '../../../support/clock.ts';
import { engineOn } from '../engineOn.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const BEGIN = Date.parse('2026-03-10T12:00:00Z');
const DAY = Date.parse('2026-03-10T00:00:00Z');

const add = (storage: Storage, account: number, by: number) =>
  storage.ledger.apply(change({ account, expect: 1, refill: null, add: by, revision: 1 }));
const close = (storage: Storage, account: number, owner: string) =>
  storage.ledger.apply(change({ account, expect: 1, close: true, owner, refill: null, revision: 1 }));

async function lines(storage: Storage, accounts: readonly number[], query: Partial<LineQuery> = {}) {
  const spans = accounts.map((account) => ({ account, fromMs: 0 }));
  const read = await storage.statements.lines({ spans, untilMs: null, after: null, limit: 100, ...query });
  return read.map(({ account, line }) => [accounts.indexOf(account), line.startMs, net(line)]);
}

const net = ({ adjusted, spent }: StatementLine): number => adjusted - spent;

describePort('the line of a day that a spend ends', (setup) => {
  test('has what reservations hold, in its balances and by itself', async () => {
    const { storage, clock } = setup();
    clock.set(BEGIN);
    const account = await openCredits(storage, 100);
    await storage.ledger.reserve(
      spendOf(credits(account, 40)),
      newReservation('rsv_1', { cost: 40, ttlMs: 20 * HOUR_MS }),
    );
    await storage.ledger.spend(spendOf(credits(account, 5)));
    clock.set(DAY + DAY_MS + HOUR_MS);
    // Once in a batch of plain spends, once in a general one.
    await storage.ledger.spend(spendOf(credits(account, 1)));
    clock.set(DAY + DAY_MS + 2 * HOUR_MS);
    await storage.ledger.spend(spendOf(credits(account, 1), credits(account, 1)));
    const spans = [{ account, fromMs: 0 }];
    const [first, ...others] = await storage.statements.lines({ spans, untilMs: null, after: null, limit: 10 });
    expect(first?.line).toMatchObject({ startMs: BEGIN, adjusted: 100, spent: 5, closing: 95, held: 40 });
    expect(others).toEqual([]);
    const [state] = await storage.ledger.read([account]);
    expect(state).toMatchObject({ value: 52, base: 55, pockets: { held: 40 } });
  });
});

describePort('reading statements', (setup) => {
  test('lines of several accounts are read by time and account, from where each is wanted, in parts', async () => {
    const { storage, clock } = setup();
    clock.set(BEGIN);
    const [a, b] = [await openCredits(storage, 50), await openCredits(storage, 70)];
    clock.set(DAY + DAY_MS);
    await storage.ledger.spend(spendOf(credits(b, 7)));
    await add(storage, a, 1);
    clock.set(DAY + 2 * DAY_MS);
    await add(storage, a, 2);
    await add(storage, b, 3);
    const all: [number, number, number][] = [
      [0, BEGIN, 50],
      [1, BEGIN, 70],
      [0, DAY + DAY_MS, 1],
      [1, DAY + DAY_MS, -7],
      [0, DAY + 2 * DAY_MS, 2],
      [1, DAY + 2 * DAY_MS, 3],
    ];
    expect(await lines(storage, [a, b])).toEqual(all);
    expect(await lines(storage, [b], {})).toEqual(all.filter(([i]) => i === 1).map(([, ...rest]) => [0, ...rest]));
    expect(await lines(storage, [a, b], { untilMs: DAY + DAY_MS })).toEqual(all.slice(0, 2));
    expect(await lines(storage, [a, b], { untilMs: DAY + DAY_MS + 1, limit: 3 })).toEqual(all.slice(0, 3));
    const spans = [
      { account: a, fromMs: DAY + 2 * DAY_MS },
      { account: b, fromMs: BEGIN + 1 },
    ];
    expect(await lines(storage, [a, b], { spans })).toEqual(all.slice(3));
    expect(await lines(storage, [a, b], { spans: [] })).toEqual([]);
    const parts: unknown[] = [];
    for (let after: LineQuery['after'] = null; ;) {
      const read = await storage.statements.lines({
        spans: [a, b].map((account) => ({ account, fromMs: 0 })),
        untilMs: null,
        after,
        limit: 2,
      });
      parts.push(...read.map(({ account, line }) => [account === a ? 0 : 1, line.startMs, net(line)]));
      const last = read.at(-1);
      if (last === undefined) break;
      after = { account: last.account, startMs: last.line.startMs };
    }
    expect(parts).toEqual(all);
  });

  test('the refill period before an instant is that of the last line before it', async () => {
    const { storage, clock } = setup();
    clock.set(BEGIN);
    const a = await openCredits(storage, 5, { mark: DAY });
    const b = await openCredits(storage, 5);
    clock.set(BEGIN + HOUR_MS);
    const moved = { account: a, expect: 1, refill: null, mark: DAY + HOUR_MS, add: 1, revision: 1 };
    await storage.ledger.apply(change(moved));
    await add(storage, a, 1);
    const before = async (atMs: number) => {
      const found = await storage.statements.periodsBefore([a, b, 999_999], atMs);
      return Object.fromEntries(found.map(({ account, periodMs }) => [account === a ? 'a' : 'b', periodMs]));
    };
    expect(await before(BEGIN)).toEqual({});
    expect(await before(BEGIN + 1)).toEqual({ a: DAY, b: 0 });
    expect(await before(BEGIN + HOUR_MS + 1)).toEqual({ a: DAY + HOUR_MS, b: 0 });
    expect(await storage.statements.periodsBefore([], BEGIN)).toEqual([]);
  });

  test('holders are all that have credits or had some, by id, also those that were deleted; those of a plan are its identities', async () => {
    const { storage, clock } = setup();
    clock.set(BEGIN);
    const refill = { interval: 'daily', refillDay: null, refillWeekday: null, timezone: 'UTC', sinceMs: 5 } as const;
    const rule = { ...refill, amount: 5, mode: 'restore', max: null } as const;
    const accounts = await storage.ledger.reserveAccounts(5);
    const [k1 = 0, k2 = 0, k3 = 0, i1 = 0, i2 = 0] = accounts;
    const open = (account: number) => ({
      account,
      expect: 0,
      open: 'credits' as const,
      refill: null,
      set: 5,
      revision: 1,
    });
    await storage.ledger.apply({
      writes: [
        { kind: 'insertApi', api: api('api_1') },
        { kind: 'insertPlan', plan: plan('plan_1', 'pro') },
        { kind: 'insertKey', key: key('key_1', { credits: { account: k1, refill: rule } }) },
        { kind: 'insertKey', key: key('key_2', { credits: { account: k2, refill: null }, deletedAtMs: 9 }) },
        { kind: 'insertKey', key: key('key_3', { credits: { account: k3, refill: null } }) },
        { kind: 'insertKey', key: key('key_4') },
        { kind: 'insertKey', key: key('key_5') },
        ...[
          identity('id_1', 'a', {
            planId: 'plan_1',
            credits: { account: i1, refill: null },
            planMove: { planId: null, atMs: 77, balance: 'keep' },
          }),
          identity('id_2', 'b', { credits: { account: i2, refill: null } }),
          identity('id_3', 'c', { planId: 'plan_1' }),
        ].map((each) => ({ kind: 'insertIdentity' as const, identity: each, words: [] })),
      ],
      accounts: accounts.map(open),
    });
    expect((await close(storage, k3, 'key_3')).status).toBe('done');
    expect((await write(storage, removal('key_3', 1))).status).toBe('done');
    const former = await openCredits(storage, 1);
    await close(storage, former, 'key_4');
    const holder = (id: string, fields: Partial<Holder> = {}): Holder => ({
      id,
      apiId: null,
      externalId: null,
      credits: null,
      planId: null,
      movesAtMs: null,
      isDeleted: false,
      ...fields,
    });
    const own = (account: number) => ({ credits: { account, refill: null } });
    const all = [
      holder('id_1', { externalId: 'a', planId: 'plan_1', movesAtMs: 77, ...own(i1) }),
      holder('id_2', { externalId: 'b', ...own(i2) }),
      holder('key_1', { apiId: 'api_1', credits: { account: k1, refill: rule } }),
      holder('key_2', { apiId: 'api_1', isDeleted: true, ...own(k2) }),
      holder('key_3', { isDeleted: true }),
      holder('key_4', { apiId: 'api_1' }),
    ];
    const { statements } = storage;
    const list = (fields: object = {}) => statements.listHolders({ planId: null, after: null, limit: 10, ...fields });
    expect(await list()).toEqual(all);
    expect(await list({ after: 'id_2', limit: 3 })).toEqual(all.slice(2, 5));
    expect(await list({ planId: 'plan_1' })).toEqual(all.slice(0, 1));
    expect(await list({ planId: 'plan_1', after: 'id_1' })).toEqual([]);
    expect(await statements.findHolders(['key_3', 'id_1', 'key_5', 'id_3', 'key_9', 'key_4'])).toEqual(
      all.filter(({ id }) => ['key_3', 'id_1', 'key_4'].includes(id)),
    );
    expect(await statements.findHolders([])).toEqual([]);
    const generation = { ...api('api_1', { revision: 1 }), generation: 1 };
    expect((await write(storage, { kind: 'updateApi', api: generation, expect: 0, endsKeys: true })).status).toBe(
      'done',
    );
    expect((await statements.findHolders(['key_1']))[0]?.isDeleted).toBe(true);
  });

  test('pruning removes lines that began before an instant, and with the last lines of a closed account whose it was', async () => {
    const { storage, clock } = setup();
    const { statements } = storage;
    clock.set(BEGIN);
    const a = await openCredits(storage, 5);
    clock.set(BEGIN + DAY_MS);
    await storage.ledger.spend(spendOf(credits(a, 2)));
    await close(storage, a, 'key_1');
    const b = await openCredits(storage, 8);
    expect(await statements.prune(BEGIN, 0)).toBe(true);
    expect((await lines(storage, [a, b])).length).toBe(3);
    expect(await statements.prune(DAY + DAY_MS, 0)).toBe(true);
    expect(await lines(storage, [a, b])).toEqual([
      [0, DAY + DAY_MS, -5],
      [1, BEGIN + DAY_MS, 8],
    ]);
    expect(await statements.closedAccountsOf(['key_1'])).toEqual([{ owner: 'key_1', account: a, metered: false }]);
    expect(await statements.prune(DAY + DAY_MS + 1, 0)).toBe(true);
    expect(await statements.closedAccountsOf(['key_1'])).toEqual([]);
    expect(await statements.findHolders(['key_1'])).toEqual([]);
    expect(await lines(storage, [a, b])).toEqual([[1, BEGIN + DAY_MS, 8]]);
  });
});

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
    const patch = { account: this.#id, expect: 1, refill: null, revision: 1, ...fields };
    expect((await this.#storage.ledger.apply({ writes: [], accounts: [patch] })).status).toBe('done');
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

describePort('a balance and what is held', (setup) => {
  test('are read together, at any moment while reservations come and go', async () => {
    const { storage } = setup();
    const { ledger } = storage;
    const account = await openCredits(storage, 1_000);
    const totals = new Set<number>();
    /** Reads without a pause until the work is done. */
    const readDuring = async (work: Promise<unknown>): Promise<void> => {
      let isDone = false;
      const ended = work.finally(() => (isDone = true));
      const look = async (): Promise<void> => {
        const [state] = await ledger.read([account]);
        totals.add((state?.value ?? 0) + (state?.pockets?.held ?? 0));
        await new Promise((turn) => setImmediate(turn));
        if (!isDone) await look();
      };
      await Promise.all([ended, look()]);
    };
    for (let i = 0; i < 100; i++) {
      await readDuring(ledger.reserve(spendOf(credits(account, 30)), newReservation(`rsv_${i}`, { cost: 30 })));
      await readDuring(ledger.endReservation(`rsv_${i}`, { kind: 'release' }));
    }
    expect([...totals]).toEqual([1_000]);
  });
});
