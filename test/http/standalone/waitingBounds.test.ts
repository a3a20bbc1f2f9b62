import { afterEach, describe, expect, test } from 'bun:test';

import { MAX_NAMESPACES } from '../../../src/core/bounds.ts';
import { TestService } from '../../support/service.ts';
import { boundCalls } from './boundCalls.ts';

let service: TestService;

afterEach(async () => {
  await service.close();
});

const start = async (settings: Record<string, string>): Promise<void> => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z', settings });
};

const { limit, named, sum } = boundCalls(() => ({ service }));

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
