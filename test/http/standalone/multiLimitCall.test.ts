import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { storedIn } from '../errors/stored.ts';
import { multiLimitCalls, type Asked } from './multiLimitCalls.ts';

let service: TestService;

/** New for each test, and not made yet. */
let namespace = '';

const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });

beforeEach(() => {
  service = started();
  // A test that failed may have left its own.
  Reflect.deleteProperty(service.storage.ledger, 'spend');
  namespace = `of test ${++tests}`;
});

let tests = 0;

const { body, multi } = multiLimitCalls(() => ({ service, namespace }));

describe('a call of many limits', () => {
  const many = (count: number): Asked[] =>
    Array.from({ length: count }, (_, i) => ({
      identifier: `user_${i}`,
      namespace: `${namespace}, ${i % 3}`,
      async: i % 2 === 0,
    }));

  test('takes 100, over several namespaces and both modes', async () => {
    const { success, results } = await multi(...many(100));
    expect([success, results.length]).toEqual([true, 100]);
    expect(new Set(results.map(({ remaining }: { remaining: number }) => remaining))).toEqual(new Set([4]));
  });

  test('opens a hundred new counters in one commit and spends them in another', async () => {
    await multi({ identifier: 'first' });
    const sizes: number[] = [];
    const { metrics } = service.composed.service;
    const committed = metrics.committed.bind(metrics);
    metrics.committed = (size) => void sizes.push(size);
    await multi(...Array.from({ length: 100 }, (_, i) => ({ identifier: `user_${i}` })));
    metrics.committed = committed;
    expect(sizes).toEqual([100, 1]);
  });

  test.each([
    ['none', () => ({ limits: [] }), 'limits'],
    ['no list', () => ({}), 'limits'],
    ['101', () => body(many(101)), 'limits'],
    ['one that is wrong', () => body([{ identifier: 'a' }, { identifier: 'b', limit: 0 }]), 'limits[1].limit'],
    [
      'one whose resource is too large',
      () =>
        body([
          { identifier: 'a' },
          { identifier: 'b', resources: [{ type: 't', id: 'i', meta: { a: 'x'.repeat(17_000) } }] },
        ]),
      'limits[1].resources[0].meta',
    ],
  ])('%s is a 400, and nothing is taken or made', async (_name, sent, path) => {
    const before = storedIn(service.folder);
    const { status, body: answer } = await service.call('/v1/ratelimits.multiLimit', sent());
    expect([status, answer.error.code, answer.error.issues[0].path]).toEqual([400, 'BAD_REQUEST', path]);
    expect(storedIn(service.folder)).toEqual(before);
    expect(await service.storage.records.findNamespace(namespace)).toBeNull();
  });

  test('may have a body of 4 MiB, and no more', async () => {
    const padded = (bytes: number) => ({ raw: JSON.stringify(body([{ identifier: 'a' }])).padEnd(bytes) });
    const size = 4 * 1024 * 1024;
    expect((await service.call('/v1/ratelimits.multiLimit', undefined, padded(size))).status).toBe(200);
    expect((await service.call('/v1/ratelimits.multiLimit', undefined, padded(size + 1))).status).toBe(413);
  });

  test('writes one entry for each limit that names resources, with the success of the whole call', async () => {
    const resources = [{ type: 'file', id: 'f_1' }];
    await multi({ identifier: 'a', resources }, { identifier: 'b' }, { identifier: 'c', cost: 6, resources });
    const target = (await service.storage.records.findNamespace(namespace))?.id ?? expect.unreachable();
    const query = { limit: 10, before: null, actor: null, target, fromMs: null, untilMs: null };
    const { entries } = await service.storage.records.listEntries({ ...query, action: 'ratelimit.limit' });
    expect(entries.map(({ after }) => JSON.parse(after ?? '') as unknown)).toEqual([
      { identifier: 'c', success: false, resources },
      { identifier: 'a', success: false, resources },
    ]);
  });
});
