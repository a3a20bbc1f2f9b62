import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';

import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { FaultLab, openCounters, untilBackend } from '../../support/cluster/faultLab.ts';
import { change, credits, spendOf, strict } from '../conformance/samples.ts';
import { VirtualClock } from '../../support/clock.ts';

const WAITS_FOR_A_ROW = "wait_event_type = 'Lock' AND query LIKE '%ledger_take_v2%'";

let lab: FaultLab;

beforeAll(async () => {
  lab = await FaultLab.start();
});

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

async function isAlone(storage: PostgresStorage): Promise<boolean> {
  await storage.localCounts.sync([], true);
  return storage.localCounts.isAlone;
}

describe('a node that is alone', () => {
  test('knows it at every exchange: until another one says hello, and again when that one has gone', async () => {
    const [one, other] = [await lab.open(), await lab.open()];
    // Not before it has looked.
    expect(one.localCounts.isAlone).toBe(false);
    await one.sayHello(null);
    expect(await isAlone(one)).toBe(true);
    await other.sayHello(null);
    expect([await isAlone(one), await isAlone(other)]).toEqual([false, false]);
    await lab.query(`UPDATE nodes SET seen_at_ms = seen_at_ms - 10000 WHERE id <> (SELECT min(id) FROM nodes)`);
    expect([await isAlone(one), await isAlone(other)].filter((alone) => alone).length).toBe(1);
    await lab.query('DELETE FROM nodes');
  });

  test('waits for a row that a change holds, and takes from what that leaves', async () => {
    const storage = await lab.open();
    const [first = 0, second = 0] = await openCounters(storage, 2, 10);
    expect(await isAlone(storage)).toBe(true);
    const holder = await lab.client();
    await holder.query('BEGIN');
    await holder.query('UPDATE accounts SET value = 3 WHERE id = $1', [first]);
    const spends = [first, second, first].map((account) => storage.ledger.spend(spendOf(credits(account, 1))));
    await untilBackend(lab, WAITS_FOR_A_ROW);
    await holder.query('COMMIT');
    const left = (await Promise.all(spends)).map((outcome) => ('legs' in outcome ? outcome.legs[0]?.left : outcome));
    expect(left).toEqual([2, 9, 1]);
    expect(await lab.values([first, second])).toEqual([1, 9]);
  });

  test('a spend that waited for a row while its window ended is counted in the window that runs then', async () => {
    const clock = new VirtualClock('2026-03-15T12:00:00.900Z');
    const storage = await lab.open({ nowMs: clock.nowMs, isTimeVirtual: true });
    const [account = 0] = await storage.ledger.reserveAccounts(1);
    await storage.ledger.apply(change({ account, expect: 0, open: 'window', refill: null, set: 0, revision: 1 }));
    expect(await isAlone(storage)).toBe(true);
    const ask = () => storage.ledger.spend(spendOf(strict(account, 1, 5, 1000, 1)));
    expect(await ask()).toMatchObject({ status: 'taken', legs: [{ left: 4, resetAtMs: clock.nowMs() + 100 }] });
    const holder = await lab.client();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [account]);
    const spend = ask();
    await untilBackend(lab, WAITS_FOR_A_ROW);
    clock.advance(100);
    // Longer than the time that was looked at before may be out of date.
    await holder.query('SELECT pg_sleep(0.15)');
    await holder.query('COMMIT');
    expect(await spend).toMatchObject({ status: 'taken', legs: [{ left: 4, resetAtMs: clock.nowMs() + 1000 }] });
  });

  test('that has waited for long does not wait in passing for ten seconds: free rows are not held up beside a held one', async () => {
    const clock = new VirtualClock('2026-03-15T12:00:00.900Z');
    let laterMs = 0;
    const monotonicMs = () => performance.now() + laterMs;
    const storage = await lab.open({ nowMs: clock.nowMs, isTimeVirtual: true, monotonicMs });
    const [held = 0, free = 0] = await storage.ledger.reserveAccounts(2);
    const open = (account: number) =>
      ({ account, expect: 0, open: 'window', refill: null, set: 0, revision: 1 }) as const;
    for (const account of [held, free]) await storage.ledger.apply(change(open(account)));
    expect(await isAlone(storage)).toBe(true);
    const ask = (account: number) => storage.ledger.spend(spendOf(strict(account, 1, 9, 1000, 1)));
    const holder = await lab.client();
    const batchNumbers = async () => Number((await lab.query('SELECT sum(batch) AS sum FROM lanes'))[0]?.['sum']);
    const hold = async () => {
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [held]);
    };
    await hold();
    const late = ask(held);
    await untilBackend(lab, WAITS_FOR_A_ROW);
    clock.advance(100);
    await holder.query('SELECT pg_sleep(0.15)');
    await holder.query('COMMIT');
    await late;
    laterMs = 9_000;
    await hold();
    const before = await batchNumbers();
    const beside = ask(held);
    expect(await ask(free)).toMatchObject({ status: 'taken' });
    // By the first batch that was sent: none was given up because it had waited.
    expect(await batchNumbers()).toBe(before + 1);
    await holder.query('COMMIT');
    expect(await beside).toMatchObject({ status: 'taken' });
    laterMs = 20_000;
    await hold();
    const both = Promise.all([ask(held), ask(free)]);
    await untilBackend(lab, WAITS_FOR_A_ROW);
    const taken = await lab.values([free]);
    await holder.query('COMMIT');
    expect(await both).toMatchObject([{ status: 'taken' }, { status: 'taken' }]);
    // It had waited in one batch with the other.
    expect([taken, await lab.values([free])]).toEqual([[1], [2]]);
  });
});

describe('local counts that were saved while nobody was there to be told', () => {
  const counted = (count: number) => ({ owner: 'key_1', name: 'a', durationMs: 1e14, count, resetAtMs: 1e14 });
  const told = async () => (await lab.query('SELECT count::int, pushed_at FROM edge_counts'))[0];
  const unseenFor = (ms: number) => lab.query(`UPDATE nodes SET seen_at_ms = ledger_now_v1(NULL) - ${ms}`);

  /** What was told is so old that nobody would look back to it. */
  const longAgo = () => lab.query(`UPDATE edge_counts SET pushed_at = pushed_at - interval '1 minute'`);

  afterEach(() => lab.query('DELETE FROM edge_counts; DELETE FROM nodes'));

  /** Two nodes know of each other, and one has told of 3. */
  async function together() {
    const [one, other] = [await lab.open(), await lab.open()];
    let again = 0;
    one.localCounts.onForgotten(() => again++);
    for (const storage of [one, other]) await storage.sayHello(null);
    expect(await other.localCounts.sync([], true)).toEqual([]);
    await one.localCounts.sync([counted(3)], true);
    expect(await other.localCounts.sync([], true)).toEqual([counted(3)]);
    return { one, other, timesAgain: () => again };
  }

  test('are saved again, and told, as soon as another node is seen', async () => {
    const { one, other, timesAgain } = await together();
    const before = await told();
    await unseenFor(600_000);
    expect(await isAlone(one)).toBe(true);
    await one.localCounts.sync([counted(7)], true);
    expect(await told()).toEqual({ count: 7, pushed_at: before?.['pushed_at'] });
    await longAgo();
    expect(timesAgain()).toBe(0);
    await other.sayHello(null);
    expect(await isAlone(one)).toBe(false);
    expect(timesAgain()).toBe(1);
    expect(await other.localCounts.sync([], true)).toEqual([]);
    await one.localCounts.sync([counted(7)], true);
    expect(await other.localCounts.sync([], true)).toEqual([counted(7)]);
    expect(await isAlone(one)).toBe(false);
    expect(timesAgain()).toBe(1);
  });

  test('are told as they are saved while the other one may come back', async () => {
    const { one, other, timesAgain } = await together();
    await longAgo();
    await unseenFor(590_000);
    expect(await isAlone(one)).toBe(true);
    await one.localCounts.sync([counted(7)], true);
    expect(await other.localCounts.sync([], true)).toEqual([counted(7)]);
    expect(timesAgain()).toBe(0);
  });
});

describe('a node that is not alone', () => {
  test('lets others go on beside a row that is held, and waits for that one for as long as it takes', async () => {
    const storage = await lab.open();
    const [held = 0, free = 0] = await openCounters(storage, 2, 10);
    expect(storage.localCounts.isAlone).toBe(false);
    const holder = await lab.client();
    await holder.query('BEGIN');
    await holder.query('UPDATE accounts SET value = 3 WHERE id = $1', [held]);
    const spends = [held, held].map((account) => storage.ledger.spend(spendOf(credits(account, 1))));
    await untilBackend(lab, WAITS_FOR_A_ROW);
    expect(await storage.ledger.spend(spendOf(credits(free, 1)))).toMatchObject({ legs: [{ left: 9 }] });
    // Longer than one would wait in passing.
    await holder.query('SELECT pg_sleep(0.15)');
    await holder.query('COMMIT');
    const left = (await Promise.all(spends)).map((outcome) => ('legs' in outcome ? outcome.legs[0]?.left : outcome));
    expect(left).toEqual([2, 1]);
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
    const held = accounts[0] ?? 0;
    const spendFrom = (account: number) => storage.ledger.spend(spendOf(credits(account, 1)));
    expect(await isAlone(storage)).toBe(true);
    // The lanes have their rows.
    await Promise.all(accounts.map(spendFrom));
    const holder = await lab.client();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [held]);
    const first = accounts.slice(0, 3).map(spendFrom);
    await untilBackend(lab, WAITS_FOR_A_ROW);
    // The second goes out while the first waits: that is what the network looks for.
    const broken = cut();
    const second = accounts.slice(3).map(spendFrom);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    await holder.query('COMMIT');
    await broken;
    const outcomes = await Promise.all([...first, ...second]);
    expect(outcomes.map((outcome) => 'legs' in outcome && outcome.legs[0]?.left)).toEqual(accounts.map(() => 8));
    expect(await lab.values(accounts)).toEqual(accounts.map(() => 8));
  });
});
