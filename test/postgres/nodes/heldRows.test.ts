import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { FaultLab, openCounters, untilBackend } from '../../support/cluster/faultLab.ts';
import { change, credits, spendOf, strict } from '../conformance/samples.ts';

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
    expect(outcomes.map((outcome) => 'charges' in outcome && outcome.charges[0]?.left)).toEqual(accounts.map(() => 8));
    expect(await lab.values(accounts)).toEqual(accounts.map(() => 8));
  });
});
