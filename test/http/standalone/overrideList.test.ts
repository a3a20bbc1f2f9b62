import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';
import { overrideCalls } from './overrideCalls.ts';

let service: TestService;

/** New for each test. */
let namespace = '';

let namespaceId = '';

const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });

beforeEach(async () => {
  service = started();
  namespace = `of test ${++tests}`;
  await makeNamespace(namespace);
  namespaceId = (await service.storage.records.findNamespace(namespace))?.id ?? expect.unreachable();
});

let tests = 0;

const { makeNamespace, set, get, remove, entries } = overrideCalls(() => ({ service, namespace, namespaceId }));

describe('getOverride, listOverrides and deleteOverride', () => {
  test('getOverride answers GET and POST alike, and names a pattern as it was set', async () => {
    const id = await set('*@example.com', { limit: 0 });
    const expected = {
      id,
      namespaceId,
      identifier: '*@example.com',
      limit: 0,
      duration: 60_000,
      async: false,
    };
    expect((await get('*@example.com')).body).toEqual(expected);
    const query = `namespaceName=${namespace}&identifier=${encodeURIComponent('*@example.com')}`;
    const answer = await service.call(`/v1/ratelimits.getOverride?${query}`, undefined, { method: 'GET' });
    expect([answer.status, answer.body]).toEqual([200, expected]);
  });

  test('an identifier that only fits a pattern has no override of its own: 404', async () => {
    await set('user_*');
    for (const path of ['getOverride', 'deleteOverride']) {
      const body = { namespaceName: namespace, identifier: 'user_1' };
      const { status, body: answer } = await service.call(`/v1/ratelimits.${path}`, body);
      expect([status, answer.error.code, answer.error.message]).toEqual([
        404,
        'NOT_FOUND',
        'There is no override for "user_1" in this namespace.',
      ]);
    }
  });

  test('listOverrides pages in the order in which they were made, with an exact total', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      service.clock.advance(1);
      ids.push(await set(`user_${i}`, { limit: i }));
    }
    await makeNamespace('other');
    await service.ok('/v1/ratelimits.setOverride', {
      namespaceName: 'other',
      identifier: 'x',
      limit: 1,
      duration: 1000,
    });
    const page = (cursor?: string) => service.ok('/v1/ratelimits.listOverrides', { namespaceId, limit: 2, cursor });
    const first = await page();
    expect(first).toEqual({
      namespaceId,
      overrides: [0, 1].map((i) => ({
        id: ids[i],
        namespaceId,
        identifier: `user_${i}`,
        limit: i,
        duration: 60_000,
        async: false,
      })),
      total: 5,
      cursor: ids[1],
    });
    const second = await page(first.cursor);
    const last = await page(second.cursor);
    expect([...second.overrides, ...last.overrides].map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
    expect(last).not.toHaveProperty('cursor');
  });

  test('listOverrides of a namespace without any tells its id, by which rights name it', async () => {
    const empty = { namespaceId, overrides: [], total: 0 };
    expect(await service.ok('/v1/ratelimits.listOverrides', { namespaceName: namespace })).toEqual(empty);
  });

  test('a deleted one is gone, and deleting it again is a 404', async () => {
    await set('user_1');
    expect(await remove('user_1')).toEqual({});
    expect((await get('user_1')).status).toBe(404);
    const body = { namespaceName: namespace, identifier: 'user_1' };
    expect((await service.call('/v1/ratelimits.deleteOverride', body)).status).toBe(404);
  });

  test('of 10 that delete it at the same time one succeeds', async () => {
    await set('user_1');
    const body = { namespaceName: namespace, identifier: 'user_1' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => service.call('/v1/ratelimits.deleteOverride', body)),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
    expect(answers.filter(({ status }) => status === 404).length).toBe(9);
  });
});

const REQUESTS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['setOverride', { identifier: 'user_1', limit: 1, duration: 1000 }],
  ['getOverride', { identifier: 'user_1' }],
  ['listOverrides', {}],
  ['deleteOverride', { identifier: 'user_1' }],
];

describe.each(REQUESTS)('%s', (method, fields) => {
  const call = (more: Record<string, unknown>) => service.call(`/v1/ratelimits.${method}`, { ...fields, ...more });

  test('needs the namespace by its id or by its name, not by both', async () => {
    for (const more of [{}, { namespaceId: 'ns_1', namespaceName: namespace }]) {
      const { status, body } = await call(more);
      expect([status, body.error.message]).toEqual([400, 'give either namespaceId or namespaceName']);
    }
  });

  test('a namespace id that there is not is a 404', async () => {
    const { status, body } = await call({ namespaceId: 'ns_1Jm8ZtXg3kPp5FhJ9sQw2R' });
    expect([status, body.error.code, body.error.message]).toEqual([
      404,
      'NOT_FOUND',
      'There is no namespace "ns_1Jm8ZtXg3kPp5FhJ9sQw2R", or this root key may not see it.',
    ]);
  });

  test('an unknown field is a 400 that names the nearest', async () => {
    const { status, body } = await call({ namespaceNam: namespace });
    expect([status, body.error.issues]).toEqual([
      400,
      [{ path: 'namespaceNam', message: 'unknown field `namespaceNam`, did you mean `namespaceName`?' }],
    ]);
  });
});

describe('bad numbers of setOverride', () => {
  test.each([
    [{ limit: -1 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ limit: null }, 'limit'],
    [{ duration: 999 }, 'duration'],
    [{ duration: 31_622_400_001 }, 'duration'],
    [{ async: 1 }, 'async'],
    [{ identifier: '' }, 'identifier'],
    [{ identifier: 'a\ud800' }, 'identifier'],
    [{ namespaceName: 'n'.repeat(129) }, 'namespaceName'],
  ])('%j is a 400, and nothing is set', async (fields, path) => {
    const body = { namespaceName: namespace, identifier: 'user_1', limit: 1, duration: 1000, ...fields };
    const { status, body: answer } = await service.call('/v1/ratelimits.setOverride', body);
    expect([status, answer.error.issues[0].path]).toEqual([400, path]);
    expect((await entries()).map(([action]) => action)).toEqual(['namespace.create']);
  });
});
