import { expect, test } from 'bun:test';

import { type VerificationCount, CountColumns } from '../../../../src/core/verificationCounts.ts';
import type { AnalyticsQuery } from '../../../../src/storage/port/analytics.ts';
import { describePort, type Setup } from '../adapters.ts';
import { identity, write } from '../samples.ts';

const DAY_MS = 86_400_000;

const ALL: AnalyticsQuery = {
  span: 'day',
  apiId: null,
  keyIds: null,
  identityIds: null,
  fromMs: 0,
  untilMs: 100 * DAY_MS,
  groupBy: ['key'],
};

const verificationCount = (fields: Partial<VerificationCount>): VerificationCount => ({
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
    (await setup().storage.analytics.sum({ ...ALL, ...query })).map(({ keyId }) => keyId);

  const fill = (each: Setup) =>
    each.storage.analytics.add(
      CountColumns.of([
        verificationCount({ keyId: 'key_1', counts: [9, 0, 0, 0, 0, 0, 1, 0], credits: 7 }),
        verificationCount({ keyId: 'key_2', counts: [10, 0, 0, 0, 0, 0, 0, 0], apiId: 'api_2' }),
        verificationCount({ keyId: 'key_3', counts: [2, 0, 0, 0, 0, 0, 100, 0], minuteMs: DAY_MS, credits: 4 }),
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
    const rows = await setup().storage.analytics.sum({ ...ALL, groupBy: [], order, limit: 1 });
    expect(rows.map(({ counts }) => counts)).toEqual([[21, 0, 0, 0, 0, 0, 101, 0]]);
  });

  test('all apis together, or one', async () => {
    await fill(setup());
    expect(await keys({ apiId: 'api_2' })).toEqual(['key_2']);
    const ofApi = await setup().storage.analytics.sum({ ...ALL, groupBy: ['time'] });
    expect(ofApi.map(({ timeMs, counts: [valid] }) => [timeMs, valid])).toEqual([
      [0, 19],
      [DAY_MS, 2],
    ]);
  });

  test('identities are told with the name that they have outside, as long as they are there', async () => {
    await write(setup().storage, { kind: 'insertIdentity', identity: identity('id_1', 'user_1') });
    await setup().storage.analytics.add(
      CountColumns.of(['', 'id_1', 'id_gone'].map((identityId) => verificationCount({ identityId }))),
      1,
    );
    const rows = await setup().storage.analytics.sum({ ...ALL, groupBy: ['identity'] });
    expect(rows.map(({ identityId, externalId }) => [identityId, externalId])).toEqual([
      ['', undefined],
      ['id_1', 'user_1'],
      ['id_gone', undefined],
    ]);
  });
});
