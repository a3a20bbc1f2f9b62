import { expect, test } from 'bun:test';

import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import type { Span } from '../../../../src/storage/port/analytics.ts';
import { describePort } from '../adapters.ts';
import { verificationCount, verdictCounts as counts } from '../samples.ts';
import { DAY_START_MS, MINUTE_MS, row, sum } from './analyticsQuestions.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
describePort('analytics', (setup) => {
  test('what is added is summed by minute, hour and day, and stays after a reopen', async () => {
    await setup().storage.analytics.add(
      CountColumns.of([
        verificationCount({ minuteMs: DAY_START_MS + HOUR_MS, counts: counts(100) }),
        verificationCount({ minuteMs: DAY_START_MS, counts: counts(1, 2, 3, 4, 5, 6, 7, 8) }),
        verificationCount({ minuteMs: DAY_START_MS + DAY_MS, counts: counts(1000) }),
        verificationCount({ minuteMs: DAY_START_MS + HOUR_MS - MINUTE_MS, counts: counts(10) }),
      ]),
      1,
    );
    await setup().reopen();
    const times = async (span: Span) =>
      (await sum(setup().storage, { span, groupBy: ['time'] })).map(({ timeMs, counts: [valid] }) => [
        (timeMs ?? 0) - DAY_START_MS,
        valid,
      ]);
    expect(await times('minute')).toEqual([
      [0, 1],
      [HOUR_MS - MINUTE_MS, 10],
      [HOUR_MS, 100],
      [DAY_MS, 1000],
    ]);
    expect(await times('hour')).toEqual([
      [0, 11],
      [HOUR_MS, 100],
      [DAY_MS, 1000],
    ]);
    expect(await times('day')).toEqual([
      [0, 111],
      [DAY_MS, 1000],
    ]);
    for (const span of ['minute', 'hour', 'day'] as const) {
      expect(await sum(setup().storage, { span })).toEqual([row({ counts: counts(1111, 2, 3, 4, 5, 6, 7, 8) })]);
    }
  });

  test('adding again adds to what is there, outcome by outcome', async () => {
    const { storage } = setup();
    await storage.analytics.add(
      CountColumns.of([verificationCount({ counts: counts(1, 0, 2) }), verificationCount({ counts: counts(0, 5) })]),
      1,
    );
    await storage.analytics.add(CountColumns.of([verificationCount({ counts: counts(10, 0, 0, 0, 0, 0, 0, 3) })]), 2);
    expect(await sum(storage)).toEqual([row({ counts: counts(11, 5, 2, 0, 0, 0, 0, 3) })]);
  });

  test('numbers past 32 bits stay exact', async () => {
    const { storage } = setup();
    for (const batch of [1, 2])
      await storage.analytics.add(CountColumns.of([verificationCount({ counts: counts(2 ** 51 + 1) })]), batch);
    expect(await sum(storage)).toEqual([row({ counts: counts(2 ** 52 + 2) })]);
    expect(await sum(storage, { groupBy: ['key'] })).toEqual([row({ keyId: 'key_1', counts: counts(2 ** 52 + 2) })]);
  });

  /** Alone, a write that failed was not done; on a shared database its fate may be unknown, and it is sent again. */
  test('where others share the database, a batch that is sent again is added once', async () => {
    const { storage } = setup();
    const add = (batch: number) =>
      storage.analytics.add(CountColumns.of([verificationCount({ lastAtMs: 1000 * batch })]), batch);
    for (const batch of [1, 1, 2, 1, 2, 3]) await add(batch);
    expect(await sum(storage)).toEqual([row({ counts: counts(storage.localCounts.isShared ? 3 : 6) })]);
  });

  test('nodes do not take each other for the same batch', async () => {
    const { storage } = setup();
    await storage.analytics.add(CountColumns.of([verificationCount()]), 1);
    if (storage.localCounts.isShared) {
      const other = await setup().afterCrash();
      await other.analytics.add(CountColumns.of([verificationCount()]), 1);
    } else await storage.analytics.add(CountColumns.of([verificationCount()]), 1);
    expect(await sum(storage)).toEqual([row({ counts: counts(2) })]);
  });

  test('adding nothing changes nothing', async () => {
    const { storage } = setup();
    await storage.analytics.add(CountColumns.of([]), 1);
    expect(await sum(storage)).toEqual([row({})]);
    expect(await sum(storage, { groupBy: ['time'] })).toEqual([]);
  });

  test('a thousand different counts in one call are all added', async () => {
    const { storage } = setup();
    const many = Array.from({ length: 1000 }, (_, i) =>
      verificationCount({ keyId: `key_${i}`, counts: counts(i + 1) }),
    );
    await storage.analytics.add(CountColumns.of([...many, ...many]), 1);
    expect(await sum(storage)).toEqual([row({ counts: counts(1_001_000) })]);
    expect((await sum(storage, { groupBy: ['key'] })).length).toBe(1000);
    expect(await sum(storage, { keyIds: ['key_999', 'key_1'], groupBy: ['key'] })).toEqual([
      row({ keyId: 'key_1', counts: counts(4) }),
      row({ keyId: 'key_999', counts: counts(2000) }),
    ]);
  });
});
