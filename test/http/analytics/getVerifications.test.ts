import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';
import { AnalyticsApiSetup, DAY_MS, HOUR_MS, NOW, valid, ZERO, type Fields } from './analyticsSetup.ts';
import { StorageOutcomeUnknown, StorageUnavailable } from '../../../src/storage/port/storage.ts';

let setup: AnalyticsApiSetup;
const started = reuseService();
beforeEach(async () => {
  setup = await AnalyticsApiSetup.on(started());
});

describe('what is counted', () => {
  test('every outcome, in its own column; the answer follows the last verification at once', async () => {
    expect(await setup.ask()).toEqual([ZERO]);
    const { key } = await setup.createKey();
    await setup.service.verify(key);
    expect(await setup.ask()).toEqual([valid(1)]);
    await setup.service.verify('unknown_key', { apiId: setup.apiId });
    await setup.service.verify(key, { apiId: await setup.service.createApi('another') });
    await setup.service.verify((await setup.createKey({ remaining: 0 })).key);
    const limited = await setup.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
    await setup.verifyTimes(limited.key, 3);
    const strict = await setup.createKey({ ratelimit: { limit: 1, duration: 60_000, async: false } });
    await setup.verifyTimes(strict.key, 2);
    await setup.service.verify((await setup.createKey({ enabled: false })).key);
    await setup.service.verify(key, { authorization: { permissions: 'documents.read' } });
    const expiring = await setup.createKey({ expires: setup.service.clock.nowMs() + 2 });
    setup.service.clock.advance(1);
    await setup.service.verify(expiring.key);
    expect(await setup.ask()).toEqual([
      {
        valid: 3,
        notFound: 1,
        forbidden: 1,
        usageExceeded: 1,
        rateLimited: 3,
        unauthorized: 0,
        disabled: 1,
        insufficientPermissions: 1,
        expired: 1,
        total: 12,
        credits: 0,
      },
    ]);
  });

  test('unknown keys count for an api that exists, and nowhere when the request names none', async () => {
    const other = await setup.service.createApi('another');
    await setup.service.verify('unknown_key');
    await setup.service.verify('unknown_key', { apiId: 'api_that_is_not_there' });
    await setup.verifyTimes('unknown_key', 2, { apiId: setup.apiId, tags: ['web'] });
    expect(await setup.ask({ groupBy: ['key', 'tags'] })).toEqual([
      { ...ZERO, notFound: 2, total: 2, tags: ['other'] },
    ]);
    expect(await setup.ask({ apiId: other })).toEqual([ZERO]);
  });

  test('each key of verifyKeys, and a replay as the verification that it is', async () => {
    const { key } = await setup.createKey({ remaining: 10 });
    await setup.service.ok('/v1/keys.verifyKeys', {
      keys: [{ key }, { key }, { key: 'unknown_key', apiId: setup.apiId }],
    });
    for (let n = 0; n < 2; n++) await setup.service.verify(key, { idempotencyKey: 'the-same-key' });
    expect(await setup.ask()).toEqual([{ ...valid(4), notFound: 1, total: 5, credits: 3 }]);
  });

  test('a request that has no verdict counts nothing', async () => {
    const { key } = await setup.createKey();
    const answer = await setup.service.call('/v1/keys.verifyKey', { key, ratelimits: [{ name: 'not there' }] });
    expect(answer.status).toBe(400);
    expect(await setup.ask()).toEqual([ZERO]);
  });

  test('nothing at all where KEYSTILE_ANALYTICS is off', async () => {
    const quiet = await TestService.start({ settings: { KEYSTILE_ANALYTICS: 'off' } });
    const made = await quiet.createKey();
    await quiet.verify(made.key);
    const answer = await quiet.ok('/v1/analytics.getVerifications', { apiId: made.apiId });
    const { lastUsedAt } = await quiet.ok('/v1/keys.getKey', { keyId: made.keyId });
    await quiet.close();
    expect([answer, lastUsedAt]).toEqual([[ZERO], undefined]);
  });
});

describe('groups', () => {
  test('hours, days and months that are asked for alone have no gaps', async () => {
    await setup.someTraffic();
    const hours = await setup.ask({ groupBy: 'hour' });
    expect(hours.map(({ time }) => time)).toEqual(
      Array.from({ length: 24 }, (_, i) => Date.parse('2026-03-14T13:00:00Z') + i * HOUR_MS),
    );
    expect(hours.filter(({ total }) => total !== 0)).toEqual([
      valid(5, { time: Date.parse('2026-03-14T23:00:00Z') }),
      valid(9, { time: Date.parse(NOW) }),
    ]);
    const days = await setup.ask({ groupBy: ['day'] });
    expect(days.map(({ time }) => time)).toEqual(
      Array.from({ length: 30 }, (_, i) => Date.parse('2026-02-14T00:00:00Z') + i * DAY_MS),
    );
    expect(days.slice(-2).map(({ total }) => total)).toEqual([5, 9]);
    expect(await setup.ask({ groupBy: ['month'], start: Date.parse('2025-12-31T23:59:59.999Z') })).toEqual([
      { ...ZERO, time: Date.parse('2025-12-01T00:00:00Z') },
      { ...ZERO, time: Date.parse('2026-01-01T00:00:00Z') },
      valid(1, { time: Date.parse('2026-02-01T00:00:00Z') }),
      valid(14, { time: Date.parse('2026-03-01T00:00:00Z') }),
    ]);
  });

  test('keys and identities, the most used first; who has none stands without', async () => {
    const { a, b, plain, identity, other } = await setup.someTraffic();
    const start = Date.parse('2026-01-01T00:00:00Z');
    expect(await setup.ask({ groupBy: ['key'], start })).toEqual([
      valid(8, { keyId: plain }),
      valid(5, { keyId: a }),
      valid(2, { keyId: b }),
    ]);
    expect(await setup.ask({ groupBy: ['identity'], start })).toEqual([
      valid(8),
      valid(5, { identity }),
      valid(2, { identity: other }),
    ]);
  });

  test('single tags and all tags of a verification together', async () => {
    await setup.someTraffic();
    const start = Date.parse('2026-01-01T00:00:00Z');
    expect(await setup.ask({ groupBy: ['tag'], start })).toEqual([
      valid(8),
      valid(7, { tag: 'web' }),
      valid(5, { tag: 'eu' }),
    ]);
    expect(await setup.ask({ groupBy: ['tags'], start })).toEqual([
      valid(8, { tags: [] }),
      valid(5, { tags: ['eu', 'web'] }),
      valid(2, { tags: ['web'] }),
    ]);
  });

  test('several at once: rows of what happened, in the order of time', async () => {
    const { a, b, plain, identity, other } = await setup.someTraffic();
    const start = Date.parse('2026-01-01T00:00:00Z');
    const [february, march] = [Date.parse('2026-02-01T00:00:00Z'), Date.parse('2026-03-01T00:00:00Z')];
    expect(await setup.ask({ groupBy: ['month', 'key', 'identity', 'tags'], start })).toEqual([
      valid(1, { time: february, keyId: a, identity, tags: ['eu', 'web'] }),
      valid(4, { time: march, keyId: a, identity, tags: ['eu', 'web'] }),
      valid(2, { time: march, keyId: b, identity: other, tags: ['web'] }),
      valid(8, { time: march, keyId: plain, tags: [] }),
    ]);
    expect(await setup.ask({ groupBy: ['day', 'tag'] })).toEqual([
      valid(3, { time: Date.parse('2026-03-14T00:00:00Z') }),
      valid(2, { time: Date.parse('2026-03-14T00:00:00Z'), tag: 'web' }),
      valid(5, { time: Date.parse('2026-03-15T00:00:00Z') }),
      valid(4, { time: Date.parse('2026-03-15T00:00:00Z'), tag: 'eu' }),
      valid(4, { time: Date.parse('2026-03-15T00:00:00Z'), tag: 'web' }),
    ]);
  });

  test('an identity that was deleted keeps its counts, under its id alone', async () => {
    const { identity } = await setup.someTraffic();
    await setup.service.ok('/v1/identities.deleteIdentity', { identityId: identity.id, keys: 'detach' });
    const rows = await setup.ask({ groupBy: ['identity'] });
    expect(rows).toContainEqual(valid(4, { identity: { id: identity.id, externalId: '' } }));
  });
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

const cost = (credits: number): Fields => ({ remaining: { cost: credits } });

/** The credits of each row, with the field that the rows are grouped by. */
const creditsBy = async (group: string, fields: Fields = {}) =>
  (await setup.ask({ groupBy: [group], ...fields })).map((row) => [row[group], row['credits']]);

describe('credits beside the counts', () => {
  test('are the cost of every valid verification of a key with credits', async () => {
    const { key, keyId } = await setup.createKey({ remaining: 100 });
    await setup.service.verify(key);
    await setup.verifyTimes(key, 2, cost(10));
    await setup.service.verify(key, cost(0));
    expect(await setup.ask()).toEqual([valid(4, { credits: 21 })]);
    // Only one credit is left for every ten that it asks for.
    await setup.service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 1 });
    expect(await setup.service.verify(key, cost(10))).toMatchObject({ code: 'USAGE_EXCEEDED' });
    await setup.service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    expect(await setup.service.verify(key)).toMatchObject({ code: 'DISABLED' });
    expect(await setup.ask()).toEqual([{ ...valid(4), usageExceeded: 1, disabled: 1, total: 6, credits: 21 }]);
  });

  test('are none where nothing is spent: without credits, with strict limits alone, for an unknown key', async () => {
    await setup.service.verify((await setup.createKey()).key, cost(5));
    const strict = await setup.createKey({ ratelimit: { limit: 9, duration: 60_000, async: false } });
    await setup.service.verify(strict.key, cost(5));
    await setup.service.verify('unknown_key', { apiId: setup.apiId, ...cost(5) });
    expect(await setup.ask()).toEqual([{ ...valid(2), notFound: 1, total: 3 }]);
  });

  test('a remembered answer takes none', async () => {
    const { key } = await setup.createKey({ remaining: 100 });
    for (let n = 0; n < 3; n++) await setup.service.verify(key, { ...cost(7), idempotencyKey: 'the-same-key' });
    expect(await setup.ask()).toEqual([valid(3, { credits: 7 })]);
  });

  test('a reservation counts as a verification when it is made, and its credits when it is charged, under its tags', async () => {
    const { service, apiId } = setup;
    await service.ok('/v1/identities.createIdentity', { externalId: 'a seller' });
    const { key, keyId } = await setup.createKey({ remaining: 100_000, externalId: 'a seller' });
    const reserve = async (fields: Fields) =>
      (await service.ok('/v1/reservations.create', { key, cost: 4_000, ...fields })).reservationId as string;
    const settled = await reserve({ tags: ['model=large'] });
    const released = await reserve({ tags: ['model=large'] });
    const charged = await reserve({ ttlMs: 1_000, onExpiry: 'charge' });
    expect(await setup.ask()).toEqual([valid(3)]);
    await service.ok('/v1/reservations.settle', { reservationId: settled, cost: 2_750 });
    await service.ok('/v1/reservations.settle', { reservationId: settled, cost: 2_750 });
    await service.ok('/v1/reservations.release', { reservationId: released });
    expect(await setup.ask()).toEqual([valid(3, { credits: 2_750 })]);
    expect(await creditsBy('tag')).toEqual([
      ['model=large', 2_750],
      [undefined, 0],
    ]);
    service.clock.advance(1_000);
    await service.engine.dueCredits.endExpired();
    await service.engine.dueCredits.endExpired();
    expect(await service.ok('/v1/reservations.get', { reservationId: charged })).toMatchObject({ charged: 4_000 });
    expect(await setup.ask()).toEqual([valid(3, { credits: 6_750 })]);
    expect(await setup.ask({ groupBy: ['key'] })).toMatchObject([{ keyId, credits: 6_750 }]);
    expect(await setup.ask({ groupBy: ['identity'], apiId })).toMatchObject([{ credits: 6_750 }]);
  });

  test('those of an identity count like those of a key, and once where both pay', async () => {
    const identity = { externalId: 'acme', remaining: 1_000 };
    const { identityId: id } = await setup.service.ok('/v1/identities.createIdentity', identity);
    const [sharing, both, other] = [
      await setup.createKey({ externalId: 'acme' }),
      await setup.createKey({ externalId: 'acme', remaining: 50 }),
      await setup.createKey({ remaining: 50 }),
    ];
    await setup.service.verify(sharing.key, cost(20));
    await setup.verifyTimes(both.key, 2, cost(3));
    await setup.service.verify(other.key);
    expect(await setup.ask({ groupBy: ['identity'] })).toEqual([
      valid(3, { credits: 26, identity: { id, externalId: 'acme' } }),
      valid(1, { credits: 1 }),
    ]);
    expect(await creditsBy('keyId', { groupBy: ['key'], orderBy: 'credits' })).toEqual([
      [sharing.keyId, 20],
      [both.keyId, 6],
      [other.keyId, 1],
    ]);
    const answer = await setup.service.ok('/v1/keys.getVerifications', { ownerId: 'acme' });
    expect((answer.verifications as Fields[]).at(-1)).toMatchObject({ success: 3, credits: 26 });
    await setup.service.ok('/v1/identities.deleteIdentity', { externalId: 'acme', keys: 'delete' });
  });
});

describe('credits by group', () => {
  test('of tags, alone and together', async () => {
    const { key } = await setup.createKey({ remaining: 100 });
    await setup.service.verify(key, { ...cost(5), tags: ['eu', 'web'] });
    await setup.service.verify(key, { ...cost(2), tags: ['web'] });
    await setup.service.verify(key);
    const bySize = { orderBy: 'credits', order: 'desc' };
    expect(await creditsBy('tag', bySize)).toEqual([
      ['web', 7],
      ['eu', 5],
      [undefined, 1],
    ]);
    expect(await creditsBy('tags', bySize)).toEqual([
      [['eu', 'web'], 5],
      [['web'], 2],
      [[], 1],
    ]);
    expect(await setup.ask({ tag: 'web' })).toEqual([valid(2, { credits: 7 })]);
  });

  test('of hours, days and months, before and after they are folded', async () => {
    const { key } = await setup.createKey({ remaining: 100 });
    for (const [instant, credits] of [
      ['2026-02-10T10:30:00Z', 1],
      ['2026-03-14T23:59:59.999Z', 2],
      ['2026-03-15T00:00:00Z', 4],
      [NOW, 8],
    ] as const) {
      setup.service.clock.set(instant);
      await setup.service.verify(key, cost(credits));
    }
    const rowsBy = async (group: string) =>
      (await setup.ask({ groupBy: [group], start: 0 }))
        .filter(({ total }) => total !== 0)
        .map(({ time, credits }) => [new Date(time as number).toISOString().slice(0, 13), credits]);
    const expectAll = async (): Promise<void> => {
      expect(await rowsBy('hour')).toEqual([
        ['2026-02-10T10', 1],
        ['2026-03-14T23', 2],
        ['2026-03-15T00', 4],
        ['2026-03-15T12', 8],
      ]);
      expect(await rowsBy('day')).toEqual([
        ['2026-02-10T00', 1],
        ['2026-03-14T00', 2],
        ['2026-03-15T00', 12],
      ]);
      expect(await rowsBy('month')).toEqual([
        ['2026-02-01T00', 1],
        ['2026-03-01T00', 14],
      ]);
    };
    await expectAll();
    await setup.service.engine.countWriting.fold();
    await expectAll();
  });

  test('a sum stops at the largest whole number that is exact', async () => {
    const { key } = await setup.createKey({ remaining: Number.MAX_SAFE_INTEGER });
    const other = await setup.createKey({ remaining: Number.MAX_SAFE_INTEGER });
    for (const each of [key, other.key]) await setup.service.verify(each, cost(Number.MAX_SAFE_INTEGER - 1));
    const [row] = await setup.ask();
    expect(row).toEqual({ ...ZERO, valid: 2, total: 2, credits: Number.MAX_SAFE_INTEGER });
    expect((await setup.ask({ groupBy: ['key'] })).map(({ credits }) => credits)).toEqual([
      Number.MAX_SAFE_INTEGER - 1,
      Number.MAX_SAFE_INTEGER - 1,
    ]);
  });
});
