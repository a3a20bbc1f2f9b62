import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import type { Spend, SpendOutcome } from '../../../src/core/spend.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { FaultLab, openCounters, untilBackend, openStorage, sharedServer } from '../../support/cluster/faultLab.ts';
import { credits, idempotency, spendOf, change, strict } from '../conformance/samples.ts';
import { PRUNE_GRACE_MS } from '../../../src/storage/port/storage.ts';
import { Connector } from '../../../src/storage/postgres/connection/connector.ts';
import { ConnectionLost } from '../../../src/storage/postgres/connection/databaseError.ts';
import { parseAddress } from '../../../src/core/databaseUrl.ts';
import { LedgerClock } from '../../../src/storage/postgres/connection/ledgerClock.ts';
import type { Batch } from '../../../src/storage/postgres/ledger/batch.ts';
import { Committer } from '../../../src/storage/postgres/ledger/committer.ts';
import { VirtualClock } from '../../support/clock.ts';

describe('one account', () => {
  const MANY = 200;

  let lab: FaultLab;
  let storage: PostgresStorage;
  /** Sizes of the batches that came back. */
  let batches: number[] = [];

  beforeAll(async () => {
    lab = await FaultLab.start();
    storage = await lab.open({ observe: { committed: (size) => batches.push(size), refused() {} } });
  });

  beforeEach(async () => {
    const [account = 0] = await openCounters(storage, 1, MANY);
    // The committers have their rows.
    await Promise.all([ask(account, 1), Promise.resolve(storage.ledger.spend(keyed(account, crypto.randomUUID())))]);
    batches = [];
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  const ask = (account: number, cost: number): Promise<SpendOutcome> =>
    Promise.resolve(storage.ledger.spend(spendOf(credits(account, cost))));
  const keyed = (account: number, id: string): Spend => ({
    charges: [credits(account, 1)],
    fences: [],
    idempotency: idempotency(id),
  });
  const leftOf = (outcome: SpendOutcome): unknown => ('charges' in outcome ? outcome.charges[0]?.left : outcome);

  describe('very many spends of one account', () => {
    test('all alike are one batch', async () => {
      const [account = 0] = await openCounters(storage, 1, MANY);
      const outcomes = await Promise.all(Array.from({ length: MANY }, () => ask(account, 1)));
      expect(outcomes.map(leftOf)).toEqual(outcomes.map((_, i) => MANY - 1 - i));
      expect(batches).toEqual([MANY]);
    });

    test('of different costs are one batch as well', async () => {
      const [account = 0] = await openCounters(storage, 1, 2 * MANY);
      const outcomes = await Promise.all(Array.from({ length: MANY }, (_, i) => ask(account, 1 + (i % 2))));
      expect(outcomes.map(leftOf)).toEqual(outcomes.map((_, i) => 2 * MANY - 1 - i - Math.ceil(i / 2)));
      expect(batches).toEqual([MANY]);
    });

    test('with and without idempotency keys too', async () => {
      const [account = 0] = await openCounters(storage, 1, MANY);
      const spends = Array.from({ length: MANY }, (_, i) =>
        i % 2 === 0 ? ask(account, 1) : Promise.resolve(storage.ledger.spend(keyed(account, `key ${i}`))),
      );
      expect((await Promise.all(spends)).map(leftOf)).toEqual(spends.map((_, i) => MANY - 1 - i));
      expect(batches).toEqual([MANY]);
    });

    test('of which none suffices are refused by one batch, and of which some do by two', async () => {
      const [empty = 0] = await openCounters(storage, 1, 0);
      const refused = await Promise.all(Array.from({ length: MANY }, () => ask(empty, 1)));
      expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(['refused']));
      expect(batches).toEqual([MANY]);
      batches = [];
      const [few = 0] = await openCounters(storage, 1, 5);
      const outcomes = await Promise.all(Array.from({ length: MANY }, () => ask(few, 1)));
      expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map((_, i) => (i < 5 ? 'taken' : 'refused')));
      expect(batches).toEqual([MANY, MANY]);
    });
  });

  describe('a row that someone holds for long', () => {
    test('does not keep a node from other spends', async () => {
      const [held = 0, free = 0] = await openCounters(storage, 2, 10);
      const holder = await lab.client();
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [held]);
      const waiting = ask(held, 1).catch((error: unknown) => error as Error);
      await untilBackend(lab, "wait_event_type = 'Lock' AND query LIKE '%ledger_take_v1%'");
      expect(leftOf(await ask(free, 1))).toBe(9);
      const again = ask(held, 1).catch((error: unknown) => error as Error);
      expect(leftOf(await ask(free, 1))).toBe(8);
      await holder.query('COMMIT');
      const outcomes = (await Promise.all([waiting, again])).map((each) =>
        each instanceof Error ? each.message : each.status,
      );
      // One that had waited for long already may have been refused: then nothing was spent.
      const taken = outcomes.filter((outcome) => outcome === 'taken').length;
      expect(outcomes.filter((outcome) => outcome !== 'taken' && !outcome.includes('nothing was spent'))).toEqual([]);
      expect(await lab.values([held, free])).toEqual([10 - taken, 8]);
    });
  });

  describe('a table that someone holds', () => {
    test('is a refusal that says that nothing was spent, and not a question that is asked for ever', async () => {
      const [account = 0] = await openCounters(storage, 1, 10);
      const holder = await lab.client();
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE accounts');
      const refused = await ask(account, 1).catch((error: unknown) => error as Error);
      expect(refused).toMatchObject({
        name: 'StorageUnavailable',
        message: expect.stringContaining('nothing was spent'),
      });
      await holder.query('COMMIT');
      expect(leftOf(await ask(account, 1))).toBe(9);
    });
  });
});

describe('the two halves of a batch', () => {
  let lab: FaultLab;

  beforeAll(async () => {
    lab = await FaultLab.start();
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  /**
   * Spends once from each account, all at once. Answers what is left of each, and the sizes of the batches. They are sorted, because another
   * committer may overtake when a spend has waited for long.
   */
  async function spendAtOnce(pick: (accounts: readonly number[]) => readonly number[], count: number): Promise<Spent> {
    const batches: number[] = [];
    const storage: PostgresStorage = await lab.open({
      observe: { committed: (size) => batches.push(size), refused() {} },
    });
    const accounts = await openCounters(storage, count, 1_000);
    const outcomes = await Promise.all(
      pick(accounts).map((account) => storage.ledger.spend(spendOf(credits(account, 1)))),
    );
    const left = outcomes.map((outcome) => ('charges' in outcome ? outcome.charges[0]?.left : outcome));
    return { left, batches: batches.toSorted((a, b) => b - a) };
  }

  interface Spent {
    readonly left: readonly unknown[];
    readonly batches: readonly number[];
  }

  test('many that wait are decided in two halves', async () => {
    const { left, batches } = await spendAtOnce((accounts) => accounts, 201);
    expect(batches).toEqual([101, 100]);
    expect(left).toEqual(left.map(() => 999));
  });

  test('few are one batch', async () => {
    for (const few of [2, 17, 31]) expect((await spendAtOnce((accounts) => accounts, few)).batches).toEqual([few]);
    expect((await spendAtOnce((accounts) => accounts, 32)).batches).toEqual([16, 16]);
  });

  test('spends of one account stay together, in the order in which they came', async () => {
    const { left, batches } = await spendAtOnce((accounts) => accounts.flatMap((one) => [one, accounts[0] ?? 0]), 60);
    // 60 accounts in all, the first of them 61 times: half of 120 has room for all.
    expect(batches).toEqual([120]);
    const ofFirst = left.filter((_, i) => i === 0 || i % 2 === 1);
    expect(ofFirst).toEqual(ofFirst.map((_, i) => 999 - i));
  });

  test('so they do where not all accounts are in the same half', async () => {
    const behind = 40;
    const pick = (accounts: readonly number[]): number[] => [
      ...accounts,
      ...Array.from({ length: behind }, () => accounts[0] ?? 0),
    ];
    const { left, batches } = await spendAtOnce(pick, 100);
    // Half of 140 are 70 accounts, and with them all that the first one is asked for.
    expect(batches).toEqual([70 + behind, 30]);
    expect(left.slice(100)).toEqual(Array.from({ length: behind }, (_, i) => 998 - i));
  });
});

describe('rows and batches on their way', () => {
  const WAITS = "wait_event_type = 'Lock' AND query LIKE '%ledger_take_v1%'";

  /** Short: a test waits for its end. */
  const WINDOW_MS = 500;

  let lab: FaultLab;

  beforeAll(async () => {
    lab = await FaultLab.start();
  });

  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
  });

  describe('a row that another transaction holds', () => {
    test('does not keep back spends of other accounts; its own spends wait, and take from what it leaves', async () => {
      const storage = await lab.open();
      const [held = 0, free = 0] = await openCounters(storage, 2, 10);
      const holder = await lab.client();
      await holder.query('BEGIN');
      await holder.query('UPDATE accounts SET value = 3 WHERE id = $1', [held]);
      const spends = [held, held].map((account) => storage.ledger.spend(spendOf(credits(account, 1))));
      await untilBackend(lab, WAITS);
      expect(await storage.ledger.spend(spendOf(credits(free, 1)))).toMatchObject({ charges: [{ left: 9 }] });
      await holder.query('COMMIT');
      const left = (await Promise.all(spends)).map((outcome) =>
        'charges' in outcome ? outcome.charges[0]?.left : outcome,
      );
      expect(left).toEqual([2, 1]);
    });

    test('a spend that waited for a row while its window ended is counted in the window that runs then', async () => {
      const storage = await lab.open();
      const [account = 0] = await storage.ledger.reserveAccounts(1);
      await storage.ledger.apply(change({ account, expect: 0, open: 'window', refill: null, set: 0, revision: 1 }));
      const ask = () => storage.ledger.spend(spendOf(strict(account, 1, 5, WINDOW_MS, 1)));
      expect(await ask()).toMatchObject({ status: 'taken', charges: [{ left: 4 }] });
      const holder = await lab.client();
      await holder.query('BEGIN');
      const { rows } = await holder.query('SELECT mark FROM accounts WHERE id = $1 FOR UPDATE', [account]);
      const endsAtMs = Number(rows[0].mark);
      const spend = ask();
      await untilBackend(lab, WAITS);
      await holder.query('SELECT pg_sleep(($1 - ledger_now_v1(NULL)) / 1000.0)', [endsAtMs]);
      await holder.query('COMMIT');
      const outcome = await spend;
      expect(outcome).toMatchObject({ status: 'taken', charges: [{ left: 4 }] });
      expect('charges' in outcome && outcome.charges[0]?.resetAtMs).toBeGreaterThan(endsAtMs);
    });
  });

  const isTake = (bytes: Buffer): boolean => bytes.includes('take');
  const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  describe('two batches on their way on one connection', () => {
    const CUTS = {
      'that breaks before the second arrives': () => lab.proxy.cutNext(isTake),
      'that breaks before the first is answered': () => lab.proxy.cutBeforeAnswer(isTake),
    };

    test.each(Object.entries(CUTS))('%s: both are done once, and answered', async (_when, cut) => {
      const storage = await lab.open();
      const accounts = await openCounters(storage, 6, 10);
      const spendFrom = (account: number) => storage.ledger.spend(spendOf(credits(account, 1)));
      // The committers have their rows.
      await Promise.all(accounts.map(spendFrom));
      const holder = await lab.client();
      await holder.query('BEGIN');
      // A batch leaves held rows alone, but waits for the table.
      await holder.query('LOCK TABLE accounts IN SHARE MODE');
      const first = accounts.slice(0, 3).map(spendFrom);
      await untilBackend(lab, WAITS);
      // The second goes out while the first waits: that is what the network looks for.
      const broken = cut();
      const second = accounts.slice(3).map(spendFrom);
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      await holder.query('COMMIT');
      await broken;
      const outcomes = await Promise.all([...first, ...second]);
      expect(outcomes.map((outcome) => 'charges' in outcome && outcome.charges[0]?.left)).toEqual(
        accounts.map(() => 8),
      );
      expect(await lab.values(accounts)).toEqual(accounts.map(() => 8));
    });
  });
});

const DAY_MS = PRUNE_GRACE_MS / 2;

test('a batch that was not done is told so after days without a spend that was taken: its row is not old enough to be pruned', async () => {
  const server = await sharedServer();
  const url = await server.createDatabase();
  await (await openStorage(url)).close();
  const time = new VirtualClock(0);
  const clock = new LedgerClock({ monotonicMs: time.nowMs, wallClockMs: time.nowMs }, true);
  const options = { clock, random: Math.random, monotonicMs: time.nowMs };
  const [committer] = Committer.share(new Connector(parseAddress(url), 'idle'), 1, options);
  const used: number[] = [];
  const run = (end: () => Promise<void>): Promise<string> => {
    const batch: Batch = {
      size: 0,
      read: () => [],
      async ask(_client, { committer: id }) {
        used.push(id);
        await end();
        return '';
      },
    };
    return committer?.run(batch, 'never').then(() => 'done', String) ?? Promise.resolve('none');
  };
  // As a batch whose spends are all refused: it leaves no trace in its row.
  const refused = async (): Promise<void> => {};

  expect(await run(refused)).toBe('done');
  time.advance(DAY_MS);
  expect(await run(refused)).toBe('done');
  expect(used[1]).toBe(used[0]);
  time.advance(1);
  // As pruning does at the latest a day later.
  await server.query('DELETE FROM committers', new URL(url).pathname.slice(1));
  const lost = await run(async () => {
    throw new ConnectionLost('it broke');
  });
  expect(lost).toBe('BatchUndone: it broke');
  expect(used[2]).not.toBe(used[1]);
  await committer?.close();
});
