import { expect, test } from 'bun:test';

import type { Storage } from '../../src/storage/port.ts';
import type { Span, TallyQuery, TallyRow } from '../../src/storage/talliesPort.ts';
import { describePort } from './adapters.ts';
import { tally, tallyCounts as counts } from './samples.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const DAY_START_MS = tally().minuteMs;

const EVERYTHING: TallyQuery = {
  span: 'minute',
  apiId: 'api_1',
  keyIds: null,
  identityIds: null,
  fromMs: 0,
  untilMs: Number.MAX_SAFE_INTEGER,
  groupBy: [],
};

const sum = (storage: Storage, query: Partial<TallyQuery> = {}) => storage.tallies.sum({ ...EVERYTHING, ...query });

const row = (fields: Partial<TallyRow>): TallyRow => ({
  timeMs: null,
  keyId: null,
  identityId: null,
  tags: null,
  counts: counts(),
  ...fields,
});

describePort('tallies', (world) => {
  test('what is added is summed by minute, hour and day, and stays after a reopen', async () => {
    await world().storage.tallies.add(
      [
        tally({ minuteMs: DAY_START_MS, counts: counts(1, 2, 3, 4, 5, 6, 7, 8) }),
        tally({ minuteMs: DAY_START_MS + HOUR_MS - MINUTE_MS, counts: counts(10) }),
        tally({ minuteMs: DAY_START_MS + HOUR_MS, counts: counts(100) }),
        tally({ minuteMs: DAY_START_MS + DAY_MS, counts: counts(1000) }),
      ],
      1,
    );
    await world().reopen();
    const times = async (span: Span) =>
      (await sum(world().storage, { span, groupBy: ['time'] })).map(({ timeMs, counts: [valid] }) => [
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
      expect(await sum(world().storage, { span })).toEqual([row({ counts: counts(1111, 2, 3, 4, 5, 6, 7, 8) })]);
    }
  });

  test('adding again adds to what is there, outcome by outcome', async () => {
    const { storage } = world();
    await storage.tallies.add([tally({ counts: counts(1, 0, 2) }), tally({ counts: counts(0, 5) })], 1);
    await storage.tallies.add([tally({ counts: counts(10, 0, 0, 0, 0, 0, 0, 3) })], 2);
    expect(await sum(storage)).toEqual([row({ counts: counts(11, 5, 2, 0, 0, 0, 0, 3) })]);
  });

  test('numbers past 32 bits stay exact', async () => {
    const { storage } = world();
    for (const batch of [1, 2]) await storage.tallies.add([tally({ counts: counts(2 ** 51 + 1) })], batch);
    expect(await sum(storage)).toEqual([row({ counts: counts(2 ** 52 + 2) })]);
    expect(await sum(storage, { groupBy: ['key'] })).toEqual([row({ keyId: 'key_1', counts: counts(2 ** 52 + 2) })]);
  });

  /** Alone, a write that failed was not done; on a shared database its fate may be unknown, and it is sent again. */
  test('where others share the database, a batch that is sent again is added once', async () => {
    const { storage } = world();
    const add = (batch: number) => storage.tallies.add([tally({ lastAtMs: 1000 * batch })], batch);
    for (const batch of [1, 1, 2, 1, 2, 3]) await add(batch);
    expect(await sum(storage)).toEqual([row({ counts: counts(storage.edge.isShared ? 3 : 6) })]);
  });

  test('nodes do not take each other for the same batch', async () => {
    const { storage } = world();
    await storage.tallies.add([tally()], 1);
    if (storage.edge.isShared) {
      const other = await world().afterCrash();
      await other.tallies.add([tally()], 1);
    } else await storage.tallies.add([tally()], 1);
    expect(await sum(storage)).toEqual([row({ counts: counts(2) })]);
  });

  test('adding nothing changes nothing', async () => {
    const { storage } = world();
    await storage.tallies.add([], 1);
    expect(await sum(storage)).toEqual([row({})]);
    expect(await sum(storage, { groupBy: ['time'] })).toEqual([]);
  });

  test('a thousand different tallies in one call are all added', async () => {
    const { storage } = world();
    const many = Array.from({ length: 1000 }, (_, i) => tally({ keyId: `key_${i}`, counts: counts(i) }));
    await storage.tallies.add([...many, ...many], 1);
    expect(await sum(storage)).toEqual([row({ counts: counts(999_000) })]);
    expect((await sum(storage, { groupBy: ['key'] })).length).toBe(1000);
    expect(await sum(storage, { keyIds: ['key_999', 'key_1'], groupBy: ['key'] })).toEqual([
      row({ keyId: 'key_1', counts: counts(2) }),
      row({ keyId: 'key_999', counts: counts(1998) }),
    ]);
  });
});

describePort('sums of tallies', (world) => {
  const later = DAY_START_MS + MINUTE_MS;

  async function fill(): Promise<Storage> {
    const { storage } = world();
    await storage.tallies.add(
      [
        tally({ keyId: 'key_1', identityId: 'id_1', tags: '["a"]', counts: counts(1) }),
        tally({ keyId: 'key_1', identityId: 'id_1', tags: '["a","b"]', counts: counts(2) }),
        tally({ keyId: 'key_2', identityId: 'id_1', counts: counts(4) }),
        tally({ keyId: 'key_2', identityId: 'id_2', minuteMs: later, counts: counts(8) }),
        tally({ keyId: 'key_3', tags: '["a"]', minuteMs: later, counts: counts(16) }),
        tally({ keyId: '', counts: counts(0, 32) }),
        tally({ keyId: 'key_4', apiId: 'api_2', counts: counts(64) }),
      ],
      1,
    );
    return storage;
  }

  test('are over all keys of one api, unless told otherwise', async () => {
    const storage = await fill();
    expect(await sum(storage)).toEqual([row({ counts: counts(31, 32) })]);
    expect(await sum(storage, { apiId: 'api_2' })).toEqual([row({ counts: counts(64) })]);
    expect(await sum(storage, { apiId: 'api_9' })).toEqual([row({})]);
  });

  test.each([
    ['keys', { keyIds: ['key_1', 'key_3'] }, counts(19)],
    ['a key of another api', { keyIds: ['key_4'] }, counts()],
    ['no key', { keyIds: [] }, counts()],
    ['identities', { identityIds: ['id_1', 'id_9'] }, counts(7)],
    ['no identity', { identityIds: [] }, counts()],
    ['a key and an identity together', { keyIds: ['key_2'], identityIds: ['id_2'] }, counts(8)],
    ['what comes before an instant', { untilMs: later }, counts(7, 32)],
    ['what comes from an instant on', { fromMs: later }, counts(24)],
    ['one minute', { fromMs: DAY_START_MS, untilMs: later }, counts(7, 32)],
  ] as const)('take only %s when told so', async (_name, query, expected) => {
    const storage = await fill();
    expect(await sum(storage, query)).toEqual([row({ counts: expected })]);
  });

  test('are grouped by what is named, in its order, and summed over the rest', async () => {
    const storage = await fill();
    const grouped = async (...groupBy: TallyQuery['groupBy']) =>
      (await sum(storage, { groupBy })).map(({ counts: [valid, notFound], ...group }) => [group, valid, notFound]);
    const group = (fields: object) => ({ timeMs: null, keyId: null, identityId: null, tags: null, ...fields });
    expect(await grouped('key')).toEqual([
      [group({ keyId: '' }), 0, 32],
      [group({ keyId: 'key_1' }), 3, 0],
      [group({ keyId: 'key_2' }), 12, 0],
      [group({ keyId: 'key_3' }), 16, 0],
    ]);
    expect(await grouped('identity')).toEqual([
      [group({ identityId: '' }), 16, 32],
      [group({ identityId: 'id_1' }), 7, 0],
      [group({ identityId: 'id_2' }), 8, 0],
    ]);
    expect(await grouped('tags')).toEqual([
      [group({ tags: '' }), 12, 32],
      [group({ tags: '["a","b"]' }), 2, 0],
      [group({ tags: '["a"]' }), 17, 0],
    ]);
    expect(await grouped('time', 'identity')).toEqual([
      [group({ timeMs: DAY_START_MS, identityId: '' }), 0, 32],
      [group({ timeMs: DAY_START_MS, identityId: 'id_1' }), 7, 0],
      [group({ timeMs: later, identityId: '' }), 16, 0],
      [group({ timeMs: later, identityId: 'id_2' }), 8, 0],
    ]);
    expect(await grouped('time', 'tags')).toEqual([
      [group({ timeMs: DAY_START_MS, tags: '' }), 4, 32],
      [group({ timeMs: DAY_START_MS, tags: '["a","b"]' }), 2, 0],
      [group({ timeMs: DAY_START_MS, tags: '["a"]' }), 1, 0],
      [group({ timeMs: later, tags: '' }), 8, 0],
      [group({ timeMs: later, tags: '["a"]' }), 16, 0],
    ]);
  });

  test('pruning takes the rows of one span before an instant, and leaves the other spans and later rows', async () => {
    const storage = await fill();
    expect(await storage.tallies.prune('minute', later)).toBe(true);
    expect(await sum(storage, { groupBy: ['time'] })).toEqual([row({ timeMs: later, counts: counts(24) })]);
    expect(await sum(storage, { groupBy: ['key'] })).toEqual([
      row({ keyId: 'key_2', counts: counts(8) }),
      row({ keyId: 'key_3', counts: counts(16) }),
    ]);
    for (const span of ['hour', 'day'] as const) {
      expect(await sum(storage, { span })).toEqual([row({ counts: counts(31, 32) })]);
    }
  });

  test('pruning goes in steps: false until nothing is left', async () => {
    const { storage } = world();
    const many = Array.from({ length: 1500 }, (_, i) => tally({ keyId: `key_${i}`, tags: `["${i}"]` }));
    await storage.tallies.add(many, 1);
    const steps: boolean[] = [];
    while (steps.at(-1) !== true) steps.push(await storage.tallies.prune('minute', DAY_START_MS + 1));
    expect(steps).toEqual([false, true]);
    expect(await sum(storage)).toEqual([row({})]);
    expect(await sum(storage, { groupBy: ['key'] })).toEqual([]);
    expect(await sum(storage, { span: 'hour' })).toEqual([row({ counts: counts(1500) })]);
  });
});
