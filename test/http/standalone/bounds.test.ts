import { afterEach, describe, expect, test } from 'bun:test';

import { TestService, type Answer } from '../../support/service.ts';
import { MAX_NAMESPACES } from '../../../src/core/bounds.ts';

let service: TestService;

afterEach(async () => {
  await service.close();
});

const start = async (settings: Record<string, string>): Promise<void> => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z', settings });
};

const limit = (identifier: string, fields: Record<string, unknown> = {}): Promise<Answer> =>
  service.call('/v1/ratelimits.limit', { identifier, limit: 5, duration: 60_000, ...fields });

const named = (count: number, prefix = 'user'): string[] => Array.from({ length: count }, (_, i) => `${prefix}_${i}`);

const sum = (codes: readonly number[], code: number): number => codes.filter((each) => each === code).length;

const statuses = async (names: readonly string[], fields: Record<string, unknown> = {}): Promise<number[]> => {
  const answers = await Promise.all(names.map((name) => limit(name, fields)));
  return answers.map(({ status }) => status);
};

describe('strict counters of a namespace', () => {
  const FULL =
    'This namespace has reached its limit of strict counters, 3 (KEYSTILE_MAX_LIMITS_PER_NAMESPACE). Try again later.';

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

  test('a full namespace has room again when windows have ended: at once, or a second after it was looked last', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    await statuses(named(2), { duration: 1000 });
    expect((await limit('user_2')).status).toBe(200);
    service.clock.advance(999);
    expect((await limit('another')).status).toBe(503);
    service.clock.advance(999);
    expect((await limit('another')).status).toBe(503);
    service.clock.advance(1);
    expect(sum(await statuses(named(20, 'new')), 200)).toBe(2);
    expect((await limit('user_2')).body).toMatchObject({ success: true, remaining: 3 });
    expect((await limit('another')).status).toBe(503);
  });

  test('when ended ones have been pruned there is room again', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    await statuses(named(3));
    service.clock.advance(3 * 86_400_000);
    await service.storage.ledger.prune();
    expect(await statuses(named(3, 'new'))).toEqual([200, 200, 200]);
    expect((await limit('another')).status).toBe(503);
  });

  test('one whose ended counter was removed for others begins a new one as soon as there is room, and goes on', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '2' });
    await statuses(named(2), { duration: 1000 });
    service.clock.advance(1000);
    expect(await statuses(named(2, 'new'), { duration: 1000 })).toEqual([200, 200]);
    expect((await limit('user_0', { duration: 1000 })).status).toBe(503);
    service.clock.advance(1000);
    expect((await limit('user_0', { duration: 1000 })).body).toMatchObject({ success: true, remaining: 4 });
    expect((await limit('user_0', { duration: 1000 })).body).toMatchObject({ success: true, remaining: 3 });
  });

  test('a burst of names that have ended is made room of, step by step, for as many at the same time', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '1500' });
    expect(sum(await statuses(named(1500), { duration: 1000 }), 200)).toBe(1500);
    expect((await limit('another')).status).toBe(503);
    service.clock.advance(1000);
    expect(sum(await statuses(named(1500, 'new')), 200)).toBe(1500);
    expect((await limit('another')).status).toBe(503);
  });

  test('while none have ended, 1,000 are looked at once a second, going on where it stopped', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '1100' });
    const { ledger } = service.storage;
    const closeEndedWindows = ledger.closeEndedWindows.bind(ledger);
    const looked: number[] = [];
    ledger.closeEndedWindows = async (...asked) => {
      const step = await closeEndedWindows(...asked);
      looked.push(step.looked);
      return step;
    };
    await statuses(named(1099, 'a'), { duration: 86_400_000 });
    await limit('b');
    await statuses(named(50));
    await statuses(named(50, 'more'));
    expect(looked).toEqual([1000]);
    service.clock.advance(999);
    await statuses(named(50));
    expect(looked).toEqual([1000]);
    service.clock.advance(1);
    await statuses(named(50));
    // At the end without having found any: from the beginning at once.
    expect(looked.splice(0)).toEqual([1000, 100, 1000]);
    service.clock.advance(59_000);
    expect(await statuses(['another', 'one more'], { duration: 86_400_000 })).toEqual([200, 503]);
    expect(looked.splice(0)).toEqual([100]);
    service.clock.advance(1000);
    expect((await limit('one more')).status).toBe(503);
    expect(looked).toEqual([1000]);
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
    'This namespace has reached its limit of local counters on this node (KEYSTILE_MAX_LIMITS_PER_NAMESPACE, or a quarter of KEYSTILE_MAX_LOCAL_COUNTERS).';

  test('at most as many as configured; those that are there go on', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    const codes = await statuses(named(20), { async: true });
    expect([sum(codes, 200), sum(codes, 503)]).toEqual([3, 17]);
    const { body } = await limit('another', { async: true });
    expect([body.error.code, body.error.message]).toEqual(['UNAVAILABLE', FULL]);
    expect((await limit('user_1', { async: true })).body).toMatchObject({ success: true, remaining: 3 });
  });

  test('a namespace has at most a quarter of the counters of the node, and all together half: the rest is left to keys', async () => {
    await start({ KEYSTILE_MAX_LOCAL_COUNTERS: '20' });
    for (const namespace of ['one', 'two']) {
      expect(sum(await statuses(named(20), { async: true, namespace }), 200)).toBe(5);
    }
    const refused = await limit('user', { async: true, namespace: 'three' });
    expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
      503,
      'UNAVAILABLE',
      'All namespaces together have reached their limit of local counters on this node (half of KEYSTILE_MAX_LOCAL_COUNTERS).',
    ]);
    const { apiId } = await service.createKey();
    for (let i = 0; i < 10; i++) {
      const { key } = await service.createKey({ apiId, ratelimit: { limit: 5, duration: 60_000, async: true } });
      expect(await service.verify(key)).toMatchObject({ valid: true });
    }
    service.clock.advance(60_000);
    await service.engine.memory.localLimits.sync();
    expect(await statuses(named(5), { async: true, namespace: 'three' })).toEqual([200, 200, 200, 200, 200]);
  });

  test('what has ended and is saved makes room', async () => {
    await start({ KEYSTILE_MAX_LIMITS_PER_NAMESPACE: '3' });
    expect(await statuses(named(3), { async: true })).toEqual([200, 200, 200]);
    service.clock.advance(60_000);
    expect((await limit('another', { async: true })).status).toBe(503);
    await service.engine.memory.localLimits.sync();
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

describe('what may wait, and how many namespaces there may be', () => {
  test('of more than 1,000 who set an override in one namespace the others are a 503 at once, and change nothing', async () => {
    await start({});
    const set = (identifier: string) =>
      service.call('/v1/ratelimits.setOverride', {
        namespaceName: 'emails',
        identifier,
        limit: 1,
        duration: 1000,
      });
    await limit('user', { namespace: 'emails' });
    await set('first');
    const answers = await Promise.all(named(1100).map(set));
    const refused = answers.filter(({ status }) => status === 503);
    expect([
      sum(
        answers.map(({ status }) => status),
        200,
      ),
      refused.length,
    ]).toEqual([1000, 100]);
    expect([refused[0]?.body.error.code, refused[0]?.body.error.message]).toEqual([
      'UNAVAILABLE',
      'Too many changes of the overrides of this namespace are waiting; nothing was changed. Try again.',
    ]);
    const { total } = await service.ok('/v1/ratelimits.listOverrides', { namespaceName: 'emails' });
    expect(total).toBe(1001);
    expect((await set('last')).status).toBe(200);
  });

  test('of more than 1,000 who open an ad-hoc limit of one key the others are a 503 at once; what is open goes on', async () => {
    await start({});
    const { key } = await service.createKey();
    const verify = (name: string) => {
      const ratelimits = [{ name, limit: 2, duration: 60_000, async: false }];
      return service.call('/v1/keys.verifyKey', { key, ratelimits }, { rootKey: null });
    };
    await verify('open');
    const [answers, open] = await Promise.all([Promise.all(named(1100).map(verify)), verify('open')]);
    const codes = answers.map(({ status }) => status);
    expect([sum(codes, 200), sum(codes, 400), sum(codes, 503)]).toEqual([99, 901, 100]);
    const refused = answers.find(({ status }) => status === 503);
    expect([refused?.body.error.code, refused?.body.error.message]).toEqual([
      'UNAVAILABLE',
      'Too many ad-hoc limits of one key or customer are waiting to be created; nothing was spent. Try again.',
    ]);
    expect(open.body).toMatchObject({ valid: true });
  });

  test('there are at most 10,000 namespaces, also when several are made at the same time; those that are there go on', async () => {
    await start({});
    const { ledger, records } = service.storage;
    const writes = named(MAX_NAMESPACES - 3, 'ns').map((id) => {
      return { kind: 'insertNamespace' as const, namespace: { id, name: id, patternsRevision: 0, createdAtMs: 1 } };
    });
    expect((await ledger.apply({ writes, accounts: [] })).status).toBe('done');
    const first = await Promise.all(named(20, 'new').map((namespace) => limit('user', { namespace })));
    const codes = first.map(({ status }) => status);
    expect([sum(codes, 200), sum(codes, 412)]).toEqual([3, 17]);
    expect(await records.countNamespaces(MAX_NAMESPACES + 1)).toBe(MAX_NAMESPACES);
    const { status, body } = await limit('user', { namespace: 'another' });
    expect([status, body.error.code, body.error.message]).toEqual([
      412,
      'PRECONDITION_FAILED',
      'This installation is limited to 10000 namespaces; 1 more would exceed the quota.',
    ]);
    expect(await records.findNamespace('another')).toBeNull();
    expect((await limit('user', { namespace: 'ns_7' })).status).toBe(200);
  });
});
