import { describe, expect, test } from 'bun:test';

import { recordFence } from '../../../../src/core/fence.ts';
import type { RecordsCheck, Spend, SpendOutcome } from '../../../../src/core/spend.ts';
import { LastSeenChange } from '../../../../src/storage/postgres/freshness/freshness.ts';
import { BatchFences, fenceCount } from '../../../../src/storage/postgres/ledger/fences.ts';
import { BROKEN, RECORDS_KIND } from '../../../../src/storage/postgres/schema/spendFunctions.ts';

const TAKEN: SpendOutcome = { status: 'taken', charges: [], nowMs: 5, replayed: false };

function spendOf(keyId: string, lastCheck?: RecordsCheck): Spend {
  return { charges: [], fences: [recordFence('key', keyId, 1)], idempotency: null, lastCheck };
}

function setup() {
  const seen = new LastSeenChange();
  seen.see('a');
  const noted: RecordsCheck = { checkedAt: seen.sequence };
  const fresh: RecordsCheck = { checkedAt: 0 };
  const spends = [spendOf('key_1', noted), spendOf('key_2', fresh), spendOf('key_3'), spendOf('key_4', noted)];
  return { seen, noted, fresh, spends };
}

describe('the fences of a batch', () => {
  test('one for all spends with a lastCheck, and their own for the others', () => {
    const { seen, spends } = setup();
    const { columns } = new BatchFences(spends, seen);
    expect(columns).toEqual({
      kinds: [0, 0, RECORDS_KIND],
      ids: ['key_2', 'key_3', ''],
      names: ['', '', 'a'],
      revisions: [1, 1, 0],
    });
    expect(spends.map((spend) => fenceCount(spend, seen))).toEqual([3, 1, 1, 3]);
  });

  test('are their own before a change was seen, and after another one was', () => {
    const { spends, seen } = setup();
    expect(new BatchFences(spends, new LastSeenChange()).columns.ids).toEqual(['key_1', 'key_2', 'key_3', 'key_4']);
    seen.see('b');
    expect(new BatchFences(spends, seen).columns.ids).toEqual(['key_1', 'key_2', 'key_3', 'key_4']);
  });

  test('a change that was not seen: all are sent again, and those with a lastCheck with fences of their own', () => {
    const { seen, spends, fresh } = setup();
    const fences = new BatchFences(spends, seen);
    expect(fences.readBroken([BROKEN, 5, 3])).toEqual(['resend', 'resend', 'resend', 'resend']);
    const again = new BatchFences(spends, seen);
    expect(again.columns.ids).toEqual(['key_1', 'key_2', 'key_3', 'key_4']);
    // Nothing is noted, and no batch is sent twice, until the change is seen.
    again.noteCompared([TAKEN, TAKEN, TAKEN, TAKEN]);
    expect([fresh.checkedAt, new BatchFences(spends, seen).columns.ids.length]).toEqual([0, 4]);
    seen.see('b');
    const after = new BatchFences(spends, seen);
    after.noteCompared([TAKEN, TAKEN, TAKEN, TAKEN]);
    expect([after.columns.ids.length, new BatchFences(spends, seen).columns.names]).toEqual([4, ['', 'b']]);
  });

  test('a broken fence of one spend leaves the notes of the others', () => {
    const { seen, spends, noted } = setup();
    const [, second] = spends;
    const outcomes = new BatchFences(spends, seen).readBroken([BROKEN, 5, 1]);
    const stale = { status: 'stale', nowMs: 5, fence: second?.fences[0] ?? null } as const;
    expect(outcomes).toEqual(['resend', stale, 'resend', 'resend']);
    expect(noted.checkedAt).toBe(1);
  });

  test('notes what was compared: for new answers, under the change that was seen when the batch was made', () => {
    const { seen, fresh, spends } = setup();
    const fences = new BatchFences(spends, seen);
    seen.see('b');
    const others: Exclude<Parameters<typeof fences.noteCompared>[0][number], undefined>[] = [
      'busy',
      'resend',
      'needs general',
      { status: 'stale', nowMs: 5, fence: null },
      { ...TAKEN, replayed: true },
    ];
    for (const outcome of others) fences.noteCompared([TAKEN, outcome, TAKEN, TAKEN]);
    expect(fresh.checkedAt).toBe(0);
    fences.noteCompared([TAKEN, TAKEN, TAKEN, TAKEN]);
    expect(fresh.checkedAt).toBe(1);
  });
});
