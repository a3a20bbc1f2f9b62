import { describe, expect, test } from 'bun:test';

import type { Charge, Spend } from '../../../../src/core/spend.ts';
import { plainBatchOf } from '../../../../src/storage/postgres/ledger/plainBatch.ts';
import type { BatchOutcome } from '../../../../src/storage/postgres/ledger/batch.ts';
import { BatchFences } from '../../../../src/storage/postgres/ledger/fences.ts';
import { LastSeenChange } from '../../../../src/storage/postgres/freshness/freshness.ts';

const WINDOW = { kind: 'window', limit: 100, durationMs: 60_000 } as const;

function spend(account: number, fields: Partial<Charge> = {}): Spend {
  return { charges: [{ account, amount: 1, revision: 1, rule: WINDOW, ...fields }], fences: [], idempotency: null };
}

const batchOf = (spends: readonly Spend[]) => plainBatchOf(spends, new BatchFences(spends, new LastSeenChange()));

const taken = (left: number, resetAtMs: number): BatchOutcome => ({
  status: 'taken',
  charges: [{ left, resetAtMs }],
  nowMs: 5,
  replayed: false,
});

describe('the answer to a plain batch', () => {
  test('is told of accounts in the order of their numbers, whatever the order of the spends and of the answer', () => {
    const batch = batchOf([spend(30), spend(10), spend(20)]);
    // Now, how many were taken, their ordinals, values and marks.
    expect(batch.read('5,3,3,1,2,33,11,22,60,60,120')).toEqual([taken(67, 60), taken(89, 60), taken(78, 120)]);
  });

  test('spends of one account have one after the other, in the order in which they came', () => {
    const batch = batchOf([spend(10), spend(7), spend(10), spend(10)]);
    expect(batch.read('5,2,1,2,50,43,60,60')).toEqual([taken(59, 60), taken(50, 60), taken(58, 60), taken(57, 60)]);
  });

  test('tells of those that were not taken, each with its reason', () => {
    const batch = batchOf([spend(1), spend(2), spend(3), spend(4), spend(5)]);
    // Of each its ordinal, status, value and mark.
    expect(batch.read('5,1,2,9,60,1,1,100,60,3,2,0,0,4,7,0,0,5,5,0,0')).toEqual([
      { status: 'refused', by: 0, charges: [{ left: 0, resetAtMs: 60 }], nowMs: 5 },
      taken(91, 60),
      { status: 'stale', nowMs: 5, fence: null },
      'needs general',
      'busy',
    ]);
  });

  test('that leaves one out is none', () => {
    expect(batchOf([spend(1), spend(2)]).read('5,1,2,9,60')).toEqual([]);
  });

  test('large numbers are read exactly, and below nothing as well', () => {
    const batch = batchOf([spend(1, { rule: { kind: 'credits', refill: null } })]);
    expect(batch.read(`5,1,1,${Number.MAX_SAFE_INTEGER},0`)).toEqual([taken(Number.MAX_SAFE_INTEGER, 0)]);
    expect(batch.read('5,1,1,-3,0')).toEqual([taken(-3, 0)]);
  });
});
