import { expect, test } from 'bun:test';

import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import { MAX_COUNT } from '../../../../src/core/bounds.ts';
import { SPANS } from '../../../../src/storage/port/analytics.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { verificationCount, verdictCounts as counts } from '../samples.ts';
import { DAY_START_MS, MINUTE_MS, row, sum } from './analyticsQuestions.ts';

const later = DAY_START_MS + MINUTE_MS;

/** Calls `look` while all is in slices, while part of it is folded, and when all of it is. */
async function inEveryPlace(storage: Storage, look: () => Promise<void>): Promise<void> {
  await look();
  for (let isEnd = false; !isEnd; await look()) isEnd = await storage.analytics.fold();
}

describePort('credits beside counts', (setup) => {
  test('are summed by every group and span, wherever they stand', async () => {
    const { storage } = setup();
    // Rows with credits beside rows without, of the same key too.
    await storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', counts: counts(2), credits: 2 }),
        verificationCount({ keyId: 'key_2', counts: counts(1) }),
        verificationCount({ keyId: 'key_1', identityId: 'id_1', tags: '["a"]', counts: counts(1), credits: 10 }),
      ]),
      1,
    );
    await storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', counts: counts(3) }),
        verificationCount({ keyId: 'key_2', counts: counts(1), credits: 400, minuteMs: later }),
        verificationCount({ keyId: '', counts: counts(0, 1) }),
      ]),
      2,
    );
    await inEveryPlace(storage, async () => {
      for (const span of SPANS) {
        expect(await sum(storage, { span })).toEqual([row({ counts: counts(8, 1), credits: 412 })]);
        expect(await sum(storage, { span, groupBy: ['key'] })).toEqual([
          row({ keyId: '', counts: counts(0, 1) }),
          row({ keyId: 'key_1', counts: counts(6), credits: 12 }),
          row({ keyId: 'key_2', counts: counts(2), credits: 400 }),
        ]);
      }
      expect(await sum(storage, { groupBy: ['time'] })).toEqual([
        row({ timeMs: DAY_START_MS, counts: counts(7, 1), credits: 12 }),
        row({ timeMs: later, counts: counts(1), credits: 400 }),
      ]);
      expect(await sum(storage, { groupBy: ['tags'] })).toEqual([
        row({ tags: '', counts: counts(7, 1), credits: 402 }),
        row({ tags: '["a"]', counts: counts(1), credits: 10 }),
      ]);
      expect(await sum(storage, { identityIds: ['id_1'] })).toEqual([row({ counts: counts(1), credits: 10 })]);
    });
  });

  test('are exact up to the largest whole number, and stop there', async () => {
    const { storage } = setup();
    const add = (keyId: string, credits: number, batch: number) =>
      storage.analytics.add(CountColumns.of([verificationCount({ keyId, credits })]), batch);
    await add('key_1', MAX_COUNT - 2, 1);
    await add('key_1', 1, 2);
    expect(await sum(storage)).toEqual([row({ counts: counts(2), credits: MAX_COUNT - 1 })]);
    await inEveryPlace(storage, async () => {
      expect(await sum(storage)).toEqual([row({ counts: counts(2), credits: MAX_COUNT - 1 })]);
    });
    // Added to what is folded, within one fold, and to what stands at the maximum.
    for (const batch of [3, 4, 5]) await add('key_1', MAX_COUNT, batch);
    await inEveryPlace(storage, async () => {
      expect(await sum(storage, { groupBy: ['key'] })).toEqual([
        row({ keyId: 'key_1', counts: counts(5), credits: MAX_COUNT }),
      ]);
    });
    await add('key_1', 1, 6);
    await inEveryPlace(storage, async () => {
      for (const span of SPANS) {
        expect(await sum(storage, { span })).toEqual([row({ counts: counts(6), credits: MAX_COUNT })]);
      }
    });
  });

  test('so many rows at the maximum that their sum exceeds 64 bits are one row at the maximum', async () => {
    const { storage } = setup();
    const many = Array.from({ length: 1_100 }, (_, i) => verificationCount({ keyId: `key_${i}`, credits: MAX_COUNT }));
    await storage.analytics.add(CountColumns.of(many), 1);
    const keyIds = many.map(({ keyId }) => keyId);
    await inEveryPlace(storage, async () => {
      for (const query of [{}, { keyIds }]) {
        expect(await sum(storage, query)).toEqual([row({ counts: counts(1_100), credits: MAX_COUNT })]);
      }
    });
  });
});
