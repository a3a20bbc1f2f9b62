import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import type { Spend, SpendOutcome } from '../../../src/core/spend.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { FaultLab, openCounters, untilBackend } from '../../support/cluster/faultLab.ts';
import { credits, idempotency, spendOf } from '../conformance/samples.ts';

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
