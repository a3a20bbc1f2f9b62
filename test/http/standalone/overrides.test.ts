import { beforeEach, describe, expect, test } from 'bun:test';

import { MAX_OVERRIDES_PER_NAMESPACE, MAX_PATTERNS_PER_NAMESPACE } from '../../../src/core/bounds.ts';
import type { OverrideRecord } from '../../../src/model/overrides.ts';
import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

/** New for each test. */
let namespace = '';

let namespaceId = '';

/** 12:01 of the test's day. */
let noonOne = 0;

const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });

beforeEach(async () => {
  service = started();
  namespace = `of test ${++tests}`;
  noonOne = service.clock.nowMs() + 30_000;
  await makeNamespace(namespace);
  namespaceId = (await service.storage.records.findNamespace(namespace))?.id ?? expect.unreachable();
});

let tests = 0;

const makeNamespace = (name: string) =>
  service.ok('/v1/ratelimits.limit', {
    namespace: name,
    identifier: 'nobody',
    limit: 5,
    duration: 60_000,
    cost: 0,
  });

const set = async (identifier: string, fields: Record<string, unknown> = {}): Promise<string> => {
  const body = { namespaceName: namespace, identifier, limit: 50, duration: 60_000, ...fields };
  return (await service.ok('/v1/ratelimits.setOverride', body)).overrideId as string;
};

const get = (identifier: string) =>
  service.call('/v1/ratelimits.getOverride', { namespaceName: namespace, identifier });

const remove = (identifier: string) =>
  service.ok('/v1/ratelimits.deleteOverride', { namespaceName: namespace, identifier });

const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

/** From the making of the namespace on. */
const entries = async () => {
  const query = { limit: 100, before: null, actor: null, action: null, target: null, fromMs: null, untilMs: null };
  const all = (await service.storage.records.listEntries(query)).entries.toReversed();
  return all
    .slice(all.findIndex(({ target }) => target === namespaceId))
    .filter(({ action }) => /^(override|namespace)\./.test(action))
    .map(({ action, target, before, after }) => [action, target, parsed(before), parsed(after)]);
};

const limit = (identifier: string, fields: Record<string, unknown> = {}) =>
  service.ok('/v1/ratelimits.limit', { namespace, identifier, limit: 5, duration: 60_000, ...fields });

describe('an override', () => {
  test('replaces limit, duration and mode of the requests of its identifier, and of no other', async () => {
    await set('user_1', { limit: 2, duration: 3_600_000, async: true });
    const ONE = noonOne + 59 * 60_000;
    expect(await limit('user_1')).toEqual({ success: true, limit: 2, remaining: 1, reset: ONE });
    expect(await limit('user_1', { async: false, limit: 100 })).toEqual({
      success: true,
      limit: 2,
      remaining: 0,
      reset: ONE,
    });
    expect(await limit('user_1')).toMatchObject({ success: false });
    expect(await limit('user_2')).toEqual({ success: true, limit: 5, remaining: 4, reset: noonOne });
    // It was counted locally: the strict counter of the same duration is untouched.
    await set('user_1', { limit: 2, duration: 3_600_000, async: false });
    expect(await limit('user_1', { async: true })).toMatchObject({ success: true, remaining: 1 });
  });

  test('the exact one comes before every pattern, and the longest pattern before the others', async () => {
    await set('*', { limit: 1000 });
    await set('a*', { limit: 2000 });
    await set('a*@example.com', { limit: 3000 });
    await set('*@example.com', { limit: 4000 });
    await set('anna@example.com', { limit: 5000 });
    const limits = async (...identifiers: string[]) =>
      Promise.all(identifiers.map(async (identifier) => (await limit(identifier)).limit as number));
    expect(await limits('anna@example.com', 'adam@example.com', 'bob@example.com', 'adam', 'bob', '*')).toEqual([
      5000, 3000, 4000, 2000, 1000, 1000,
    ]);
    await remove('a*@example.com');
    expect(await limits('adam@example.com')).toEqual([4000]);
  });

  test.each([true, false])('a limit of 0 blocks, also what only asks (async %p)', async (async) => {
    expect(await limit('user_1', { async })).toMatchObject({ success: true });
    await set('user_1', { limit: 0, async });
    const blocked = { success: false, limit: 0, remaining: 0, reset: noonOne };
    expect(await limit('user_1')).toEqual(blocked);
    expect(await limit('user_1', { cost: 0 })).toEqual(blocked);
    const asked = { namespace, limit: 5, duration: 60_000 };
    const limits = [
      { ...asked, identifier: 'user_2' },
      { ...asked, identifier: 'user_1' },
    ];
    expect(await service.ok('/v1/ratelimits.multiLimit', { limits })).toEqual({
      success: false,
      results: [{ success: true, limit: 5, remaining: 5, reset: noonOne }, blocked],
    });
  });

  test('what is set, changed or deleted counts from the next call on, and another limit keeps the count', async () => {
    expect(await limit('user_1')).toMatchObject({ limit: 5, remaining: 4 });
    await set('user_1', { limit: 3 });
    expect(await limit('user_1')).toMatchObject({ limit: 3, remaining: 1 });
    await set('user_1', { limit: 10 });
    expect(await limit('user_1')).toMatchObject({ limit: 10, remaining: 7 });
    await remove('user_1');
    expect(await limit('user_1')).toMatchObject({ limit: 5, remaining: 1 });
  });

  test('a change that is answered while limits are being taken is seen by every call that comes after it', async () => {
    for (let round = 1; round <= 20; round++) {
      const running = Array.from({ length: 5 }, () => limit(`other_${round}`));
      const changed = set('user_1', { limit: 1000 + round, async: true });
      const during = Array.from({ length: 5 }, () => limit(`more_${round}`));
      await changed;
      expect((await limit('user_1')).limit).toBe(1000 + round);
      await Promise.all([...running, ...during]);
      expect((await limit('user_1')).limit).toBe(1000 + round);
    }
  });

  test('a restart keeps it', async () => {
    await set('user_1', { limit: 7 });
    await service.restart();
    expect(await limit('user_1')).toMatchObject({ limit: 7, remaining: 6 });
  });
});

describe('setOverride', () => {
  test('answers the id under which it is stored: a new one, then the same', async () => {
    const id = await set('user_1', { limit: 1 });
    expect(id).toMatch(/^ovr_\w{22}$/);
    service.clock.advance(5);
    expect(await set('user_1', { limit: 2, duration: 1000, async: true })).toBe(id);
    const numbers = { identifier: 'user_1', limit: 2, duration: 1000, async: true };
    expect((await get('user_1')).body).toEqual({ id, namespaceId, ...numbers });
    const stored = await service.storage.records.findOverride(namespaceId, 'user_1');
    expect(stored).toMatchObject({
      createdAtMs: service.clock.nowMs() - 5,
      updatedAtMs: service.clock.nowMs(),
    });
  });

  test('20 at the same time on one identifier: one override, one id', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => set('user_1', { limit: i + 1 })));
    expect(new Set(ids).size).toBe(1);
    const { total, items } = await service.storage.records.listOverrides(namespaceId, {
      limit: 10,
      after: null,
    });
    expect([total, items[0]?.id]).toEqual([1, ids[0]]);
    expect((await entries()).filter(([action]) => action === 'override.create').length).toBe(1);
  });

  test('takes the namespace by its id too, and answers the id however it was named', async () => {
    const id = await set('user_1');
    const numbers = { identifier: 'user_1', limit: 9, duration: 60_000 };
    for (const name of [{ namespaceId }, { namespaceName: namespace }]) {
      const answer = await service.ok('/v1/ratelimits.setOverride', { ...name, ...numbers });
      expect(answer).toEqual({ overrideId: id, namespaceId });
    }
  });

  test('a mistyped name of a namespace is a 404, and makes none', async () => {
    const before = await entries();
    const body = { namespaceName: 'emial', identifier: 'user_1', limit: 9, duration: 60_000 };
    const { status, body: answer } = await service.call('/v1/ratelimits.setOverride', body);
    expect([status, answer.error.code, answer.error.message]).toEqual([
      404,
      'NOT_FOUND',
      'There is no namespace "emial", or this root key may not see it.',
    ]);
    expect(await service.storage.records.findNamespace('emial')).toBeNull();
    expect(await entries()).toEqual(before);
  });

  test('what was done stands in the audit log, of a change what differs', async () => {
    const id = await set('user_1', { limit: 1 });
    await set('user_1', { limit: 2 });
    await remove('user_1');
    const facts = { namespaceId, identifier: 'user_1', limit: 1, duration: 60_000, async: false };
    expect(await entries()).toEqual([
      ['namespace.create', namespaceId, null, { name: namespace }],
      ['override.create', id, null, facts],
      ['override.update', id, { limit: 1 }, { limit: 2 }],
      ['override.delete', id, { ...facts, limit: 2 }, null],
    ]);
  });

  test('a namespace holds so many overrides and no more, also when several are set at the same time', async () => {
    await set('first');
    const many = Array.from({ length: MAX_OVERRIDES_PER_NAMESPACE - 3 }, (_, i): OverrideRecord => {
      const numbers = { limit: 1, durationMs: 1000, async: true, createdAtMs: 0, updatedAtMs: null, revision: 0 };
      return { id: `${namespaceId}_${i}`, namespaceId, identifier: `many_${i}`, ...numbers };
    });
    await service.storage.ledger.apply({
      writes: many.map((override) => ({ kind: 'insertOverride', override, expectPatterns: 0 })),
      accounts: [],
    });
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        service.call('/v1/ratelimits.setOverride', {
          namespaceName: namespace,
          identifier: `last_${i}`,
          limit: 1,
          duration: 1000,
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 412, 412, 412]);
    const refused = answers.find(({ status }) => status === 412)?.body.error;
    expect([refused.code, refused.message]).toEqual([
      'PRECONDITION_FAILED',
      'This namespace has 10000 overrides, which is the maximum. Delete some first.',
    ]);
    // One that is there can still be changed.
    await set('first', { limit: 3 });
    expect(await limit('first')).toMatchObject({ limit: 3 });
  });
});

describe('patterns', () => {
  test('a namespace holds 1,000 of them and no more; other overrides can still be set', async () => {
    await set('first*');
    const many = Array.from({ length: MAX_PATTERNS_PER_NAMESPACE - 2 }, (_, i): OverrideRecord => {
      const numbers = { limit: 1, durationMs: 1000, async: true, createdAtMs: 0, updatedAtMs: null, revision: 0 };
      return { id: `${namespaceId}_${i}`, namespaceId, identifier: `many_${i}*`, ...numbers };
    });
    await service.storage.ledger.apply({
      // The first pattern made revision 1.
      writes: many.map((override, i) => ({ kind: 'insertOverride', override, expectPatterns: 1 + i })),
      accounts: [],
    });
    const setting = (identifier: string) =>
      service.call('/v1/ratelimits.setOverride', { namespaceName: namespace, identifier, limit: 1, duration: 1000 });
    expect((await setting('last*')).status).toBe(200);
    const refused = await setting('one more*');
    expect([refused.status, refused.body.error.message]).toEqual([
      412,
      'This namespace has 1000 overrides with a star, which is the maximum. Delete some first.',
    ]);
    expect((await setting('no pattern')).status).toBe(200);
    expect((await setting('first*')).status).toBe(200);
  });

  test('one may have 10 stars and no more', async () => {
    await set('first');
    const setting = (identifier: string) =>
      service.call('/v1/ratelimits.setOverride', { namespaceName: namespace, identifier, limit: 1, duration: 1000 });
    expect((await setting('*a'.repeat(10))).status).toBe(200);
    const refused = await setting('*a'.repeat(11));
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      'identifier must have at most 10 stars (*), got 11',
    ]);
  });
});

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
