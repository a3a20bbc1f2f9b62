import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';
import { AnalyticsApiSetup, DAY_MS, HOUR_MS, NOW, valid, ZERO } from './analyticsSetup.ts';

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
