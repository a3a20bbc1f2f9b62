import { afterEach, describe, expect, test } from 'bun:test';

import { type Answer, TestService } from '../harness/service.ts';

let service: TestService;

afterEach(async () => {
  await service.close();
});

const start = async (settings: Record<string, string>): Promise<void> => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z', settings });
};

const limit = (identifier: string, fields: Record<string, unknown> = {}): Promise<Answer> =>
  service.call('/v1/ratelimits.limit', { identifier, limit: 5, duration: 60_000, ...fields });

const statuses = async (names: readonly string[], fields: Record<string, unknown> = {}): Promise<number[]> => {
  const answers = await Promise.all(names.map((name) => limit(name, fields)));
  return answers.map(({ status }) => status);
};

const named = (count: number, prefix = 'user'): string[] => Array.from({ length: count }, (_, i) => `${prefix}_${i}`);
const sum = (codes: readonly number[], code: number): number => codes.filter((each) => each === code).length;

describe('strict counters of a namespace', () => {
  const FULL =
    'This namespace has as many strict counters as it may, 3 (KEYSTILE_MAX_LIMITS_PER_NAMESPACE); try again later.';

  test('as many as configured, also when asked for at the same time; one more is a 503 that names the setting', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    const codes = await statuses(named(20));
    expect([sum(codes, 200), sum(codes, 503)]).toEqual([3, 17]);
    const namespace = await service.storage.records.findNamespace('default');
    expect(await service.storage.ledger.countWindows(namespace?.id ?? '', 100)).toBe(3);
    const { status, headers, body } = await limit('another');
    expect([status, body.error.code, body.error.message, headers.get('retry-after')]).toEqual([
      503,
      'UNAVAILABLE',
      FULL,
      '1',
    ]);
  });

  test('those that are there go on when it is full, also after a restart, and so do other namespaces', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    expect(await statuses(named(3))).toEqual([200, 200, 200]);
    expect((await limit('another')).status).toBe(503);
    expect((await limit('user_1')).body).toMatchObject({ success: true, remaining: 3 });
    await service.restart();
    expect((await limit('another')).status).toBe(503);
    expect((await limit('user_1')).body).toMatchObject({ success: true, remaining: 2 });
    expect((await limit('another', { namespace: 'other' })).status).toBe(200);
    expect((await limit('another', { async: true })).status).toBe(200);
  });

  test('another duration is another counter', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '2' });
    expect((await limit('user_1', { duration: 1000 })).status).toBe(200);
    expect((await limit('user_1', { duration: 2000 })).status).toBe(200);
    expect((await limit('user_1', { duration: 3000 })).status).toBe(503);
  });

  test('a call of several that does not find room for all takes nothing', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    await limit('user_0');
    const limits = named(4).map((identifier) => ({ identifier, limit: 5, duration: 60_000 }));
    expect((await service.call('/v1/ratelimits.multiLimit', { limits })).status).toBe(503);
    expect((await limit('user_0', { cost: 0 })).body).toMatchObject({ remaining: 4 });
  });

  test('when ended ones have been removed there is room again, within ten seconds', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    await statuses(named(3));
    service.clock.advance(3 * 86_400_000);
    await service.storage.ledger.prune();
    expect(await statuses(named(3, 'new'))).toEqual([200, 200, 200]);
    expect((await limit('another')).status).toBe(503);
    service.clock.advance(3 * 86_400_000);
    expect((await limit('another')).status).toBe(503);
    await service.storage.ledger.prune();
    expect((await limit('another')).status).toBe(503);
    service.clock.advance(10_000);
    expect((await limit('another')).status).toBe(200);
  });

  test('the database is asked to count once a second at the most, and when it has found none left every ten seconds', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    const { ledger } = service.storage;
    const countWindows = ledger.countWindows.bind(ledger);
    let counts = 0;
    ledger.countWindows = (...asked) => {
      counts++;
      return countWindows(...asked);
    };
    await statuses(named(50));
    await statuses(named(50, 'more'));
    expect(counts).toBe(1);
    service.clock.advance(1000);
    await statuses(named(50));
    await statuses(named(50, 'more'));
    expect(counts).toBe(2);
    service.clock.advance(9_999);
    await statuses(named(50, 'more'));
    expect(counts).toBe(2);
    service.clock.advance(1);
    await statuses(named(50, 'more'));
    expect(counts).toBe(3);
  });
});

describe('local counters of a namespace', () => {
  const FULL =
    'This namespace has as many local counters on this node as it may (KEYSTILE_MAX_LIMITS_PER_NAMESPACE, or half of KEYSTILE_MAX_LOCAL_COUNTERS).';

  test('at most as many as configured; those that are there go on', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    const codes = await statuses(named(20), { async: true });
    expect([sum(codes, 200), sum(codes, 503)]).toEqual([3, 17]);
    const { body } = await limit('another', { async: true });
    expect([body.error.code, body.error.message]).toEqual(['UNAVAILABLE', FULL]);
    expect((await limit('user_1', { async: true })).body).toMatchObject({ success: true, remaining: 3 });
  });

  test('a namespace has at most half of the counters of the node: the rest is left to keys and to others', async () => {
    await start({ KEYSTILE_MAX_LOCAL_COUNTERS: '10' });
    expect(sum(await statuses(named(20), { async: true }), 200)).toBe(5);
    const { key } = await service.createKey({ ratelimit: { limit: 5, duration: 60_000, async: true } });
    expect(await service.verify(key)).toMatchObject({ valid: true });
    expect(sum(await statuses(named(20), { async: true, namespace: 'other' }), 200)).toBe(4);
  });

  test('what has ended and is saved makes room', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    expect(await statuses(named(3), { async: true })).toEqual([200, 200, 200]);
    service.clock.advance(60_000);
    expect((await limit('another', { async: true })).status).toBe(503);
    await service.engine.edge.sync();
    expect(await statuses(named(3, 'new'), { async: true })).toEqual([200, 200, 200]);
    expect((await limit('another', { async: true })).status).toBe(503);
  });

  test('a call of more than the node can count at one time is a 503, and ends', async () => {
    await start({ KEYSTILE_MAX_LOCAL_COUNTERS: '10' });
    const limits = named(20).map((identifier) => ({ identifier, limit: 5, duration: 60_000, async: true }));
    const { status, body } = await service.call('/v1/ratelimits.multiLimit', { limits });
    expect([status, body.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect((await limit('user_0', { async: true, cost: 0 })).body).toMatchObject({ remaining: 5 });
  });

  test('one identifier has at most 100 durations at one time', async () => {
    await start({});
    const limits = Array.from({ length: 100 }, (_, i) => {
      return { identifier: 'user', limit: 5, duration: 86_400_000 + i, async: true };
    });
    expect((await service.call('/v1/ratelimits.multiLimit', { limits })).body).toMatchObject({ success: true });
    expect((await limit('user', { async: true, duration: 5000 })).status).toBe(400);
  });
});
