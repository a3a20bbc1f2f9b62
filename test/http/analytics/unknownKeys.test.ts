import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../../src/storage/port/storage.ts';
import { AnalyticsApiSetup, DAY_MS, type Fields, HOUR_MS, valid, ZERO } from './analyticsSetup.ts';

let setup: AnalyticsApiSetup;
const started = reuseService();
beforeEach(async () => {
  setup = await AnalyticsApiSetup.on(started());
});

describe('what is asked for', () => {
  test('one key or many, an owner, one tag or many: any of the tags fits, and with groupBy tag only these are shown', async () => {
    const { a, b, plain } = await setup.someTraffic();
    const total = async (fields: Fields) => (await setup.ask(fields)).map((row) => row['total']);
    expect(await total({ keyId: a })).toEqual([4]);
    expect(await total({ keyId: [b, plain] })).toEqual([10]);
    expect(await total({ keyId: 'key_not_there' })).toEqual([0]);
    expect(await total({ externalId: 'user_1' })).toEqual([4]);
    expect(await total({ externalId: 'nobody' })).toEqual([0]);
    expect(await total({ tag: 'web' })).toEqual([6]);
    expect(await total({ tags: ['eu', 'us'] })).toEqual([4]);
    expect(await total({ tag: 'eu', tags: 'web' })).toEqual([6]);
    expect(await total({ tag: 'w' })).toEqual([0]);
    expect(await setup.ask({ tag: 'eu', groupBy: 'tag' })).toEqual([valid(4, { tag: 'eu' })]);
    expect(await setup.ask({ tag: 'none', groupBy: 'tag' })).toEqual([]);
    expect(await total({ tag: 'web', keyId: b, externalId: 'user_2' })).toEqual([2]);
  });

  test('a tag fits as a whole, whatever characters it has', async () => {
    const { key } = await setup.createKey();
    const odd = [',', '","', 'a"b', '\\', 'ä, ö'];
    await setup.service.verify(key, { tags: ['a', 'b'] });
    for (const tag of odd) expect(await setup.ask({ tag })).toEqual([ZERO]);
    for (const tag of odd) await setup.service.verify(key, { tags: [tag] });
    for (const tag of odd) expect(await setup.ask({ tag, groupBy: 'tag' })).toEqual([valid(1, { tag })]);
  });

  test('start is in it, end is not; both reach out to whole minutes, hours, days or months', async () => {
    const { key } = await setup.createKey();
    for (const time of ['10:59:59.999', '11:00:00.000', '11:30:00.000', '11:59:59.999', '12:00:00.000']) {
      setup.service.clock.set(`2026-03-15T${time}Z`);
      await setup.service.verify(key);
    }
    const between = async (start: string, end: string, fields: Fields = {}) =>
      (
        await setup.ask({ start: Date.parse(`2026-03-15T${start}Z`), end: Date.parse(`2026-03-15T${end}Z`), ...fields })
      ).map(({ time, total }) => [time === undefined ? null : new Date(time as number).toISOString(), total]);
    expect(await between('11:00:00', '12:00:00', { groupBy: 'hour' })).toEqual([['2026-03-15T11:00:00.000Z', 3]]);
    expect(await between('11:59:59', '12:00:01', { groupBy: 'hour' })).toEqual([
      ['2026-03-15T11:00:00.000Z', 3],
      ['2026-03-15T12:00:00.000Z', 1],
    ]);
    expect(await between('11:00:00', '11:00:01', { groupBy: 'day' })).toEqual([['2026-03-15T00:00:00.000Z', 5]]);
    expect(await between('11:00:00', '11:00:01', { groupBy: 'month' })).toEqual([['2026-03-01T00:00:00.000Z', 5]]);
    expect(await between('11:00:00', '11:30:00')).toEqual([[null, 1]]);
    expect(await between('11:00:59.999', '11:30:00.001')).toEqual([[null, 2]]);
    expect(await setup.ask({ start: null, end: null })).toEqual([valid(5)]);
    expect(await setup.ask({ start: Date.parse('2027-01-01T00:00:00Z') })).toEqual([ZERO]);
  });

  test('a start from before what is kept is the first minute, hour, day or month that is', async () => {
    const { key } = await setup.createKey();
    setup.service.clock.set('2026-03-15T12:30:00Z');
    await setup.service.verify(key);
    const from = async (groupBy: string, fields: Fields = { start: 0 }) => {
      const rows = await setup.ask({ groupBy, ...fields });
      const sum = rows.reduce((total, row) => total + (row['total'] as number), 0);
      const [first] = rows;
      return [first === undefined ? null : new Date(first['time'] as number).toISOString(), rows.length, sum];
    };
    expect(await from('minute')).toEqual(['2026-03-13T12:30:00.000Z', 2 * 1440 + 1, 1]);
    expect(await from('minute', {})).toEqual(['2026-03-15T11:31:00.000Z', 60, 1]);
    expect(await from('hour')).toEqual(['2026-01-14T13:00:00.000Z', 60 * 24, 1]);
    expect(await from('day')).toEqual(['2024-01-06T00:00:00.000Z', 800, 1]);
    expect(await from('month')).toEqual(['2024-01-01T00:00:00.000Z', 27, 1]);
    expect(await from('day', { start: 0, end: 1 })).toEqual([null, 0, 0]);
    expect(await from('day', { start: 0, end: Date.parse('2024-01-07T00:00:00Z') })).toEqual([
      '2024-01-06T00:00:00.000Z',
      1,
      0,
    ]);
    expect(await setup.ask({ start: 0 })).toEqual([valid(1)]);
  });

  test('order and limit: by time, by any count, up and down', async () => {
    const { a, b, plain } = await setup.someTraffic();
    const keys = async (fields: Fields) => (await setup.ask({ groupBy: 'key', ...fields })).map(({ keyId }) => keyId);
    expect(await keys({ orderBy: 'valid', order: 'asc' })).toEqual([b, a, plain]);
    expect(await keys({ orderBy: 'total', limit: 1 })).toEqual([plain]);
    expect(await keys({ orderBy: 'unauthorized' })).toEqual([plain, a, b]);
    expect(await keys({ orderBy: 'notFound', limit: 2 })).toEqual([a, b]);
    const days = async (fields: Fields) =>
      (await setup.ask({ groupBy: 'day', start: setup.service.clock.nowMs() - 3 * DAY_MS, ...fields })).map(
        ({ total }) => total,
      );
    expect(await days({})).toEqual([0, 0, 5, 9]);
    expect(await days({ order: 'desc' })).toEqual([9, 5, 0, 0]);
    expect(await days({ orderBy: 'valid' })).toEqual([9, 5, 0, 0]);
    expect(await days({ orderBy: 'valid', order: 'asc', limit: 3 })).toEqual([0, 0, 5]);
    expect(await days({ limit: 2 })).toEqual([0, 0]);
    expect(await setup.ask({ groupBy: ['month', 'key'], orderBy: 'time', order: 'desc', limit: 1 })).toMatchObject([
      { time: Date.parse('2026-03-01T00:00:00Z') },
    ]);
  });

  test('the same as query parameters: lists comma-joined or repeated, null left out or said', async () => {
    await setup.someTraffic();
    const get = async (query: string) =>
      (
        await setup.service.call(`/v1/analytics.getVerifications?apiId=${setup.apiId}&${query}`, undefined, {
          method: 'GET',
        })
      ).body;
    const asked = { groupBy: ['key', 'tag'], tag: ['web', 'eu'] };
    for (const query of [
      'groupBy=key,tag&tag=web,eu&start=null',
      'groupBy=key&groupBy=tag&tag=web&tag=eu',
      'groupBy=key,tag&tags=web,eu',
    ]) {
      expect(await get(query)).toEqual(await setup.ask(asked));
    }
    const start = setup.service.clock.nowMs() - DAY_MS;
    expect(await get(`groupBy=day&limit=1&order=desc&start=${start}`)).toEqual(
      await setup.ask({ groupBy: 'day', limit: 1, order: 'desc', start }),
    );
  });
});

describe('what is refused', () => {
  test.each([
    [{ start: 5, end: 5 }, 'end', 'end must be after start (5), got 5'],
    [{ groupBy: ['hour', 'day'] }, 'groupBy', 'groupBy can contain only one of minute, hour, day, month'],
    [{ orderBy: 'time' }, 'orderBy', 'orderBy "time" needs one of minute, hour, day, month in groupBy'],
    [{ groupBy: [] }, 'groupBy', null],
    [{ keyId: [] }, 'keyId', null],
    [{ keyId: Array.from({ length: 101 }, () => 'key_1') }, 'keyId', null],
    [{ limit: 0 }, 'limit', null],
    [{ limit: 10_001 }, 'limit', null],
    [{ start: -1 }, 'start', null],
    [{ end: 9_007_199_254_740_991 }, 'end', null],
    [{ order: 'up' }, 'order', null],
    [{ keyID: 'key_1' }, 'keyID', 'unknown field `keyID`, did you mean `keyId`?'],
  ])('%p is a 400 that names the field', async (fields, path, message) => {
    const { status, body } = await setup.call(fields);
    expect([status, body.error.issues[0].path]).toEqual([400, path]);
    if (message !== null) expect(body.error.issues[0].message).toBe(message);
  });

  test('all problems are told at once', async () => {
    const { body } = await setup.call({ start: 2, end: 1, groupBy: ['day', 'month'] });
    expect(body.error.issues.map(({ path }: { path: string }) => path)).toEqual(['end', 'groupBy']);
  });

  test('more than 10,000 rows of time are a 400 before anything is read', async () => {
    const start = setup.service.clock.nowMs();
    const { status, body } = await setup.call({ groupBy: 'hour', start, end: start + 10_001 * HOUR_MS });
    expect([status, body.error.message]).toEqual([
      400,
      'There are more than 10000 hours between start and end. Choose a shorter period.',
    ]);
  });

  test('either right on the api is enough; without any it is a 403, with one on another api a 404', async () => {
    const other = await setup.service.createApi('another');
    const asking = async (...rights: readonly string[]) => {
      const { secret } = await setup.service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
      const { status, body } = await setup.call({}, secret);
      return [status, body.error?.message];
    };
    expect(await asking(`api.${setup.apiId}.read_analytics`)).toEqual([200, undefined]);
    expect(await asking('api.*.read_api')).toEqual([200, undefined]);
    expect(await asking(`api.${setup.apiId}.read_key`)).toEqual([
      403,
      'This root key lacks the right api.*.read_analytics.',
    ]);
    const hidden = `There is no api "${setup.apiId}", or this root key may not see it.`;
    expect(await asking(`api.${other}.read_analytics`)).toEqual([404, hidden]);
    expect(await asking(`api.${other}.read_api`)).toEqual([404, hidden]);
  });

  test('an api that is unknown or deleted is a 404', async () => {
    expect((await setup.call({ apiId: 'api_not_there' })).status).toBe(404);
    await setup.service.ok('/v1/apis.deleteApi', { apiId: setup.apiId });
    expect((await setup.call({})).status).toBe(404);
  });

  test('while the database takes nothing it is a 503; then everything is there', async () => {
    const { key } = await setup.createKey();
    const { analytics } = setup.service.storage;
    const add = analytics.add.bind(analytics);
    for (const failure of [new StorageUnavailable('away'), new StorageOutcomeUnknown('no answer')]) {
      await setup.service.verify(key);
      analytics.add = () => Promise.reject(failure);
      const { status, body } = await setup.call({});
      expect([status, body.error.code]).toEqual([503, 'UNAVAILABLE']);
    }
    analytics.add = add;
    expect(await setup.ask()).toEqual([valid(2)]);
  });
});
