import { afterAll, beforeAll, expect, test } from 'bun:test';

import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import { FaultLab, openCounters } from '../../support/cluster/faultLab.ts';
import { credits, spendOf } from '../conformance/samples.ts';

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
