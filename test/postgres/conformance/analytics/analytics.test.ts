import { expect, test } from 'bun:test';

import { CountColumns, type VerificationCount } from '../../../../src/core/verificationCounts.ts';
import { type Span, SPANS, type AnalyticsQuery } from '../../../../src/storage/port/analytics.ts';
import { describePort, type Setup } from '../adapters.ts';
import { verificationCount, verdictCounts as counts, identity, write, key, removal } from '../samples.ts';
import { DAY_START_MS, MINUTE_MS, row, sum } from './analyticsQuestions.ts';
import { MAX_COUNT } from '../../../../src/core/bounds.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';

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

const EVERYTHING: AnalyticsQuery = {
  span: 'day',
  apiId: null,
  keyIds: null,
  identityIds: null,
  fromMs: 0,
  untilMs: 100 * DAY_MS,
  groupBy: ['key'],
};

const counted = (fields: Partial<VerificationCount>): VerificationCount => ({
  minuteMs: 0,
  apiId: 'api_1',
  keyId: 'key_1',
  identityId: '',
  tags: '',
  counts: [1, 0, 0, 0, 0, 0, 0, 0],
  credits: 0,
  lastAtMs: 0,
  ...fields,
});

describePort('order of counts', (setup) => {
  const keys = async (query: Partial<AnalyticsQuery>) =>
    (await setup().storage.analytics.sum({ ...EVERYTHING, ...query })).map(({ keyId }) => keyId);

  const fill = (each: Setup) =>
    each.storage.analytics.add(
      CountColumns.of([
        counted({ keyId: 'key_1', counts: [9, 0, 0, 0, 0, 0, 1, 0], credits: 7 }),
        counted({ keyId: 'key_2', counts: [10, 0, 0, 0, 0, 0, 0, 0], apiId: 'api_2' }),
        counted({ keyId: 'key_3', counts: [2, 0, 0, 0, 0, 0, 100, 0], minuteMs: DAY_MS, credits: 4 }),
      ]),
      1,
    );

  test('rows are ordered by a count, by all of them, by credits or by time; equal ones by their groups', async () => {
    await fill(setup());
    expect(await keys({})).toEqual(['key_1', 'key_2', 'key_3']);
    expect(await keys({ order: { by: 'VALID', isDescending: true } })).toEqual(['key_2', 'key_1', 'key_3']);
    expect(await keys({ order: { by: 'RATE_LIMITED', isDescending: false } })).toEqual(['key_2', 'key_1', 'key_3']);
    expect(await keys({ order: { by: 'total', isDescending: true } })).toEqual(['key_3', 'key_1', 'key_2']);
    expect(await keys({ order: { by: 'credits', isDescending: true } })).toEqual(['key_1', 'key_3', 'key_2']);
    expect(await keys({ order: { by: 'time', isDescending: true }, groupBy: ['time', 'key'] })).toEqual([
      'key_3',
      'key_1',
      'key_2',
    ]);
  });

  test('a limit takes the first ones of the order; without groups there is one row all the same', async () => {
    await fill(setup());
    expect(await keys({ order: { by: 'total', isDescending: true }, limit: 2 })).toEqual(['key_3', 'key_1']);
    const order = { by: 'total', isDescending: true } as const;
    const rows = await setup().storage.analytics.sum({ ...EVERYTHING, groupBy: [], order, limit: 1 });
    expect(rows.map(({ counts: sums }) => sums)).toEqual([[21, 0, 0, 0, 0, 0, 101, 0]]);
  });

  test('all apis together, or one', async () => {
    await fill(setup());
    expect(await keys({ apiId: 'api_2' })).toEqual(['key_2']);
    const ofApi = await setup().storage.analytics.sum({ ...EVERYTHING, groupBy: ['time'] });
    expect(ofApi.map(({ timeMs, counts: [valid] }) => [timeMs, valid])).toEqual([
      [0, 19],
      [DAY_MS, 2],
    ]);
  });

  test('identities are told with the name that they have outside, as long as they are there', async () => {
    await write(setup().storage, { kind: 'insertIdentity', identity: identity('id_1', 'user_1') });
    await setup().storage.analytics.add(
      CountColumns.of(['', 'id_1', 'id_gone'].map((identityId) => counted({ identityId }))),
      1,
    );
    const rows = await setup().storage.analytics.sum({ ...EVERYTHING, groupBy: ['identity'] });
    expect(rows.map(({ identityId, externalId }) => [identityId, externalId])).toEqual([
      ['', undefined],
      ['id_1', 'user_1'],
      ['id_gone', undefined],
    ]);
  });
});

describePort('last uses of keys', (setup) => {
  test('are written down at most once a minute for each key, and never go back', async () => {
    const { storage } = setup();
    const uses: (number | null)[] = [];
    let batch = 0;
    for (const lastAtMs of [1_000_000, 1_059_999, 1_060_000, 900_000, 1_119_999, 1_120_001]) {
      await storage.analytics.add(CountColumns.of([verificationCount({ lastAtMs })]), ++batch);
      await storage.analytics.fold();
      uses.push(...(await storage.records.readLastUses(['key_1'])));
    }
    expect(uses).toEqual([1_000_000, 1_000_000, 1_060_000, 1_060_000, 1_060_000, 1_120_001]);
  });

  test('are the latest of all counts of a key, also after a reopen; unknown keys have none', async () => {
    await setup().storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', lastAtMs: 5, tags: '["a"]' }),
        verificationCount({ keyId: 'key_1', lastAtMs: 9 }),
        verificationCount({ keyId: 'key_1', lastAtMs: 7, identityId: 'id_1' }),
        verificationCount({ keyId: 'key_2', lastAtMs: 3 }),
        verificationCount({ keyId: '', lastAtMs: 99 }),
      ]),
      1,
    );
    await setup().reopen();
    const { records, analytics } = setup().storage;
    await analytics.fold();
    expect(await records.readLastUses(['key_2', 'key_9', 'key_1', '', 'key_2'])).toEqual([3, null, 9, null, 3]);
    expect(await records.readLastUses([])).toEqual([]);
  });

  test('are removed behind a key that was removed, and stay with one that is deleted softly', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') }, { kind: 'insertKey', key: key('key_2') });
    await storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', lastAtMs: 5 }),
        verificationCount({ keyId: 'key_2', lastAtMs: 6 }),
      ]),
      1,
    );
    await storage.analytics.fold();
    await write(storage, removal('key_1', 1));
    await write(storage, { kind: 'updateKey', key: key('key_2', { deletedAtMs: 1, revision: 2 }), expect: 1 });
    expect(await storage.analytics.pruneUses(null)).toBeNull();
    expect(await storage.records.readLastUses(['key_1', 'key_2'])).toEqual([null, 6]);
  });

  test('are looked through in steps, each from where the last one ended', async () => {
    const { storage } = setup();
    const ids = Array.from({ length: 10_001 }, (_, i) => `key_${String(i).padStart(5, '0')}`);
    await storage.analytics.add(CountColumns.of(ids.map((keyId) => verificationCount({ keyId, lastAtMs: 5 }))), 1);
    while (!(await storage.analytics.fold()));
    expect(await storage.analytics.pruneUses(null)).toBe('key_09999');
    expect(await storage.records.readLastUses(['key_00000', 'key_09999', 'key_10000'])).toEqual([null, null, 5]);
    expect(await storage.analytics.pruneUses('key_09999')).toBeNull();
    expect(await storage.records.readLastUses(['key_10000'])).toEqual([null]);
  });
});
