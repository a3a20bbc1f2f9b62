import { expect, test } from 'bun:test';

import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { AnalyticsQuery } from '../../../../src/storage/port/analytics.ts';
import { describePort } from '../adapters.ts';
import { verificationCount, verdictCounts as counts } from '../samples.ts';
import { DAY_START_MS, MINUTE_MS, row, sum } from './analyticsQuestions.ts';

const later = DAY_START_MS + MINUTE_MS;

/** Where what was added stands when it is read. */
const PLACES = ['in the log', 'half of it folded', 'folded'] as const;

async function foldAll({ analytics }: Storage): Promise<void> {
  while (!(await analytics.fold()));
}

async function fillIn(storage: Storage, place: (typeof PLACES)[number]): Promise<Storage> {
  await storage.analytics.add(
    CountColumns.of([
      verificationCount({ keyId: 'key_1', identityId: 'id_1', tags: '["a"]', counts: counts(1) }),
      verificationCount({ keyId: 'key_2', identityId: 'id_1', counts: counts(3) }),
      verificationCount({ keyId: 'key_3', tags: '["a"]', minuteMs: later, counts: counts(10) }),
      verificationCount({ keyId: '', counts: counts(0, 30) }),
    ]),
    1,
  );
  if (place !== 'in the log') await foldAll(storage);
  await storage.analytics.add(
    CountColumns.of([
      verificationCount({ keyId: 'key_1', identityId: 'id_1', tags: '["a","b"]', counts: counts(2) }),
      verificationCount({ keyId: 'key_2', identityId: 'id_1', counts: counts(1) }),
      verificationCount({ keyId: 'key_2', identityId: 'id_2', minuteMs: later, counts: counts(8) }),
      verificationCount({ keyId: 'key_3', tags: '["a"]', minuteMs: later, counts: counts(6) }),
      verificationCount({ keyId: '', counts: counts(0, 2) }),
      verificationCount({ keyId: 'key_4', apiId: 'api_2', counts: counts(64) }),
    ]),
    2,
  );
  if (place === 'folded') await foldAll(storage);
  return storage;
}

/** More than are looked for in a slice before it is taken apart. */
const MANY_KEYS = Array.from({ length: 30 }, (_, i) => `key_${i}`);

for (const place of PLACES) {
  describePort(`sums of counts, ${place}`, (setup) => {
    const fill = (): Promise<Storage> => fillIn(setup().storage, place);

    test('are over all keys of one api, unless told otherwise', async () => {
      const storage = await fill();
      expect(await sum(storage)).toEqual([row({ counts: counts(31, 32) })]);
      expect(await sum(storage, { apiId: 'api_2' })).toEqual([row({ counts: counts(64) })]);
      expect(await sum(storage, { apiId: 'api_9' })).toEqual([row({})]);
    });

    test('take only what they are told to', async () => {
      const storage = await fill();
      const cases = [
        ['keys', { keyIds: ['key_1', 'key_3'] }, counts(19)],
        ['many keys', { keyIds: MANY_KEYS }, counts(31)],
        ['many identities', { identityIds: MANY_KEYS.map((id) => id.replace('key', 'id')) }, counts(15)],
        ['a key of another api', { keyIds: ['key_4'] }, counts()],
        ['no key', { keyIds: [] }, counts()],
        ['identities', { identityIds: ['id_1', 'id_9'] }, counts(7)],
        ['no identity', { identityIds: [] }, counts()],
        ['a key and an identity together', { keyIds: ['key_2'], identityIds: ['id_2'] }, counts(8)],
        ['what comes before an instant', { untilMs: later }, counts(7, 32)],
        ['what comes from an instant on', { fromMs: later }, counts(24)],
        ['one minute', { fromMs: DAY_START_MS, untilMs: later }, counts(7, 32)],
        ['a key in one minute', { keyIds: ['key_2'], fromMs: DAY_START_MS, untilMs: later }, counts(4)],
        ['two minutes', { fromMs: DAY_START_MS, untilMs: later + MINUTE_MS }, counts(31, 32)],
        ['a key in two minutes', { keyIds: ['key_2'], fromMs: DAY_START_MS, untilMs: later + MINUTE_MS }, counts(12)],
        ['a key from a minute on', { keyIds: ['key_2'], fromMs: later, untilMs: later + MINUTE_MS }, counts(8)],
      ] as const;
      for (const [name, query, expected] of cases) {
        expect([name, await sum(storage, query)]).toEqual([name, [row({ counts: expected })]]);
      }
    });

    test('are grouped by what is named, in its order, and summed over the rest', async () => {
      const storage = await fill();
      const grouped = async (...groupBy: AnalyticsQuery['groupBy']) =>
        (await sum(storage, { groupBy })).map(({ counts: [valid, notFound], ...group }) => [group, valid, notFound]);
      const group = (fields: object) => ({
        timeMs: null,
        keyId: null,
        identityId: null,
        tags: null,
        credits: 0,
        ...fields,
      });
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
  });
}

describePort('folding of counts', (setup) => {
  test('changes no sum, at any time, whoever folds and adds beside it', async () => {
    const { storage } = setup();
    const other = storage.localCounts.isShared ? await setup().afterCrash() : storage;
    const seen: number[] = [];
    const look = async (from: Storage): Promise<void> => {
      const [row0] = await sum(from, { span: 'hour', keyIds: ['key_1'] });
      seen.push(row0?.counts[0] ?? 0);
    };
    // Each round adds while it folds: what comes between two statements of a fold is neither lost nor counted twice.
    const rowsOf = (batch: number) =>
      Array.from({ length: 300 }, (_, i) => verificationCount({ keyId: `key_${i % 2}`, tags: `["${batch}-${i}"]` }));
    await storage.analytics.add(CountColumns.of(rowsOf(1)), 1);
    for (let batch = 2; batch <= 20; batch++) {
      const before = seen.length;
      const work = [storage.analytics.fold(), look(other), other.analytics.fold(), look(storage), look(other)];
      await Promise.all([...work, storage.analytics.add(CountColumns.of(rowsOf(batch)), batch)]);
      for (const total of seen.slice(before)) expect([(batch - 1) * 150, batch * 150]).toContain(total);
    }
    for (const span of ['minute', 'hour', 'day'] as const) {
      expect(await sum(storage, { span, groupBy: ['key'] })).toEqual([
        row({ keyId: 'key_0', counts: counts(3000) }),
        row({ keyId: 'key_1', counts: counts(3000) }),
      ]);
      expect(await sum(storage, { span })).toEqual([row({ counts: counts(6000) })]);
    }
  });

  test('what was added is there after a crash, before and after it is folded', async () => {
    const storage = await fillIn(setup().storage, 'half of it folded');
    expect(await sum(storage)).toEqual([row({ counts: counts(31, 32) })]);
    const after = await setup().afterCrash();
    expect(await sum(after)).toEqual([row({ counts: counts(31, 32) })]);
    await foldAll(after);
    expect(await sum(after)).toEqual([row({ counts: counts(31, 32) })]);
  });

  test('takes very many rows in steps, each of them once, whatever is added meanwhile; also of one key or none', async () => {
    // Of each key more than a step takes.
    const MANY_ROWS = 2_000;
    const { storage } = setup();
    const many = ['', 'key_1', 'key_2'].flatMap((keyId) =>
      Array.from({ length: MANY_ROWS }, (_, i) => verificationCount({ keyId, tags: `["${i}"]` })),
    );
    await storage.analytics.add(CountColumns.of(many), 1);
    const steps: boolean[] = [];
    while (steps.at(-1) !== true) {
      steps.push(await storage.analytics.fold());
      await storage.analytics.add(
        CountColumns.of([verificationCount({ keyId: 'key_1' }), verificationCount({ keyId: '' })]),
        steps.length + 1,
      );
    }
    // A shared database takes 1,000 rows in a step, and one more step finds none. On one machine a step is larger.
    expect(steps.length).toBe(storage.localCounts.isShared ? 7 : 1);
    await foldAll(storage);
    expect(await sum(storage, { span: 'day', groupBy: ['key'] })).toEqual([
      row({ keyId: '', counts: counts(MANY_ROWS + steps.length) }),
      row({ keyId: 'key_1', counts: counts(MANY_ROWS + steps.length) }),
      row({ keyId: 'key_2', counts: counts(MANY_ROWS) }),
    ]);
    expect(await sum(storage, { span: 'day' })).toEqual([row({ counts: counts(3 * MANY_ROWS + 2 * steps.length) })]);
  });

  test('takes very many slices in steps; of a key with the same tags in the same minute they become one row', async () => {
    const { storage } = setup();
    // More than a shared database takes in two steps.
    const slices = 2_002;
    for (let batch = 1; batch <= slices; batch++) {
      await storage.analytics.add(
        CountColumns.of([
          verificationCount({ keyId: `key_${batch % 2}` }),
          verificationCount({ keyId: '', counts: counts(0, 1) }),
        ]),
        batch,
      );
    }
    // What is folded in steps is asked for in between.
    const steps: boolean[] = [];
    while (steps.at(-1) !== true) {
      steps.push(await storage.analytics.fold());
      expect(await sum(storage, { span: 'hour' })).toEqual([row({ counts: counts(slices, slices) })]);
    }
    // On one machine a step ends at a number of rows, and these are few.
    expect(steps).toEqual(storage.localCounts.isShared ? [false, false, true] : [true]);
    expect(await sum(storage, { groupBy: ['key'] })).toEqual([
      row({ keyId: '', counts: counts(0, slices) }),
      row({ keyId: 'key_0', counts: counts(slices / 2) }),
      row({ keyId: 'key_1', counts: counts(slices / 2) }),
    ]);
  });

  test('tags are what they were, whatever stands in them', async () => {
    const { storage } = setup();
    const odd = ['"', '\\', '\n\t\r', '\0', '\u{1f600}', '\ud800', '{a,b}', 'NULL', ''].map((tag) =>
      JSON.stringify([tag]),
    );
    await storage.analytics.add(CountColumns.of([...odd, ''].map((tags) => verificationCount({ tags }))), 1);
    const tagsOf = async () => new Set((await sum(storage, { groupBy: ['tags'] })).map(({ tags }) => tags));
    expect(await tagsOf()).toEqual(new Set([...odd, '']));
    await foldAll(storage);
    expect(await tagsOf()).toEqual(new Set([...odd, '']));
  });

  test('pruning takes the rows of one span before an instant, and leaves the other spans and later rows', async () => {
    const storage = await fillIn(setup().storage, 'folded');
    expect(await storage.analytics.prune('minute', later)).toBe(true);
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
    const { storage } = setup();
    const many = Array.from({ length: 1500 }, (_, i) => verificationCount({ keyId: `key_${i}`, tags: `["${i}"]` }));
    await storage.analytics.add(CountColumns.of(many), 1);
    await foldAll(storage);
    const steps: boolean[] = [];
    while (steps.at(-1) !== true) steps.push(await storage.analytics.prune('minute', DAY_START_MS + 1));
    expect(steps).toEqual([false, true]);
    expect(await sum(storage)).toEqual([row({})]);
    expect(await sum(storage, { groupBy: ['key'] })).toEqual([]);
    expect(await sum(storage, { span: 'hour' })).toEqual([row({ counts: counts(1500) })]);
  });
});
