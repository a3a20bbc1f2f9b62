import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { type Answer, TestService } from '../../support/service.ts';
import { storedIn } from '../errors/stored.ts';

let service: TestService;
/** New for each test, and not made yet. */
let namespace = '';
/** 12:01 of the test's day. */
let noonOne = 0;

/** In the middle of a minute: 12:00:30 of a window from 12:00 to 12:01. */
const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });
beforeEach(() => {
  service = started();
  namespace = `of test ${++tests}`;
  noonOne = service.clock.nowMs() + 30_000;
});
let tests = 0;

const MINUTE_MS = 60_000;
const MODES = [
  ['local', true],
  ['strict', false],
] as const;

const call = (fields: Record<string, unknown> = {}): Promise<Answer> =>
  service.call('/v1/ratelimits.limit', { namespace, identifier: 'user_1', limit: 2, duration: MINUTE_MS, ...fields });

const limit = (fields: Record<string, unknown> = {}) =>
  service.ok('/v1/ratelimits.limit', { namespace, identifier: 'user_1', limit: 2, duration: MINUTE_MS, ...fields });

const successes = async (count: number, fields: Record<string, unknown>): Promise<number> => {
  const answers = await Promise.all(Array.from({ length: count }, () => limit(fields)));
  return answers.filter(({ success }) => success as boolean).length;
};

/** Those about the test's namespace, and about any other one of its name. */
const entriesOf = async (action: string) => {
  const id = (await service.storage.records.findNamespace(namespace))?.id ?? expect.unreachable();
  const query = { limit: 1_000, before: null, actor: null, target: null, fromMs: null, untilMs: null };
  const { entries } = await service.storage.records.listEntries({ ...query, action });
  return entries.filter(({ target, after }) => target === id || after === JSON.stringify({ name: namespace }));
};

describe.each(MODES)('a %s standalone limit', (_mode, async) => {
  test('the request after the limit is refused until the window rolls, at its end exactly', async () => {
    expect(await limit({ async })).toEqual({ success: true, limit: 2, remaining: 1, reset: noonOne });
    expect(await limit({ async })).toEqual({ success: true, limit: 2, remaining: 0, reset: noonOne });
    expect(await limit({ async })).toEqual({ success: false, limit: 2, remaining: 0, reset: noonOne });
    service.clock.set(noonOne - 1);
    expect(await limit({ async })).toEqual({ success: false, limit: 2, remaining: 0, reset: noonOne });
    service.clock.set(noonOne);
    expect(await limit({ async })).toEqual({ success: true, limit: 2, remaining: 1, reset: noonOne + MINUTE_MS });
  });

  test('windows are aligned to the epoch, whatever the duration', async () => {
    for (const duration of [1000, 7001, 86_400_000, 31_622_400_000]) {
      const { reset } = await limit({ async, duration });
      expect(reset).toBe((Math.floor(service.clock.nowMs() / duration) + 1) * duration);
    }
  });

  test('a cost takes that much, more than is left takes nothing, and 0 asks without taking', async () => {
    const left = async (cost: number) => {
      const { success, remaining } = await limit({ async, limit: 5, cost });
      return [success, remaining];
    };
    expect(await left(0)).toEqual([true, 5]);
    expect(await left(3)).toEqual([true, 2]);
    expect(await left(3)).toEqual([false, 2]);
    expect(await left(Number.MAX_SAFE_INTEGER)).toEqual([false, 2]);
    expect(await left(2)).toEqual([true, 0]);
    expect(await left(0)).toEqual([true, 0]);
    expect(await limit({ async, limit: 4, cost: 0 })).toMatchObject({ success: false, remaining: 0 });
  });

  test('200 calls at the same time: exactly as many succeed as the limit says', async () => {
    expect(await successes(200, { async, limit: 50 })).toBe(50);
    expect(await limit({ async, limit: 50 })).toMatchObject({ success: false, remaining: 0 });
  });

  test('each namespace, identifier, duration and mode counts by itself', async () => {
    const mine = { async, limit: 1 };
    expect((await limit(mine)).success).toBe(true);
    expect((await limit(mine)).success).toBe(false);
    expect((await limit({ ...mine, namespace: `${namespace}, too` })).success).toBe(true);
    expect((await limit({ ...mine, identifier: 'user_2' })).success).toBe(true);
    expect((await limit({ ...mine, duration: 2 * MINUTE_MS })).success).toBe(true);
    expect((await limit({ ...mine, async: !async })).success).toBe(true);
  });

  test('another limit of the same duration goes on with the same count', async () => {
    expect(await limit({ async, limit: 2 })).toMatchObject({ success: true, remaining: 1 });
    expect(await limit({ async, limit: 10 })).toMatchObject({ success: true, remaining: 8 });
    expect(await limit({ async, limit: 2 })).toMatchObject({ success: false, remaining: 0 });
  });

  test('a restart keeps the count', async () => {
    await limit({ async, limit: 3, cost: 2 });
    await service.restart();
    expect(await limit({ async, limit: 3 })).toMatchObject({ success: true, remaining: 0 });
    expect(await limit({ async, limit: 3 })).toMatchObject({ success: false, remaining: 0 });
  });

  test('a clock that jumps back does not open the window again', async () => {
    await limit({ async, limit: 1 });
    service.clock.advance(-MINUTE_MS);
    // A local window ends within its duration; that of a strict one never moves back.
    const reset = async ? noonOne - MINUTE_MS : noonOne;
    expect(await limit({ async, limit: 1 })).toMatchObject({ success: false, remaining: 0, reset });
  });

  test('identifiers may hold any text', async () => {
    for (const identifier of ['*', 'a:b', ':', '../..', '{}', 'ü 💥', ' ', "'; DROP TABLE keys", 'x'.repeat(256)]) {
      expect(await limit({ async, identifier, limit: 1 })).toMatchObject({ success: true });
      expect(await limit({ async, identifier, limit: 1 })).toMatchObject({ success: false });
    }
  });
});

describe('a standalone limit', () => {
  test('is in the namespace "default" unless its request says otherwise', async () => {
    for (const remaining of [1, 0]) expect(await limit({ namespace: undefined })).toMatchObject({ remaining });
    expect(await limit({ namespace: 'default' })).toMatchObject({ success: false });
  });

  test('is strict unless its request says otherwise', async () => {
    await limit({ limit: 1 });
    expect(await limit({ limit: 1, async: false })).toMatchObject({ success: false });
    expect(await limit({ limit: 1, async: true })).toMatchObject({ success: true });
  });

  test('whose counter was removed after its end counts again', async () => {
    await limit({ limit: 1 });
    service.clock.advance(3 * 86_400_000);
    await service.storage.ledger.prune();
    const made = await service.storage.records.findNamespace(namespace);
    expect(await service.storage.ledger.countWindows(made?.id ?? expect.unreachable(), 1)).toBe(0);
    expect(await limit({ limit: 1 })).toMatchObject({ success: true, remaining: 0 });
    expect(await limit({ limit: 1 })).toMatchObject({ success: false, remaining: 0 });
  });

  test('makes its namespace on first use, once, and says so in the audit log', async () => {
    await Promise.all(Array.from({ length: 20 }, () => limit({ limit: 100 })));
    const made = await service.storage.records.findNamespace(namespace);
    expect(made).toMatchObject({ name: namespace, createdAtMs: service.clock.nowMs() });
    expect(await entriesOf('namespace.create')).toMatchObject([
      { target: made?.id, before: null, after: JSON.stringify({ name: namespace }), origin: '203.0.113.7' },
    ]);
    expect(await limit({ limit: 100 })).toMatchObject({ remaining: 79 });
  });

  test('writes its resources to the audit log before it answers, with what was decided; meta has no effect', async () => {
    const resources = [
      { type: 'project', id: 'p_1', name: 'Rocket', meta: { stage: 2 } },
      { type: 'file', id: 'f_1' },
    ];
    await limit({ limit: 1, meta: { any: 'thing' }, resources });
    await limit({ limit: 1, resources });
    await limit({ limit: 1, meta: { any: 'thing' }, resources: [] });
    const entries = await entriesOf('ratelimit.limit');
    expect(entries.map(({ before }) => before)).toEqual([null, null]);
    expect(entries.map(({ after }) => JSON.parse(after ?? '') as unknown)).toEqual([
      { identifier: 'user_1', success: false, resources },
      { identifier: 'user_1', success: true, resources },
    ]);
  });

  test('is not answered any more when the database has failed', async () => {
    await limit({ async: true });
    service.engine.verifier.stop('The database has failed.');
    for (const async of [true, false]) {
      const { status, body } = await call({ async });
      expect([status, body.error.code, body.error.message]).toEqual([503, 'UNAVAILABLE', 'The database has failed.']);
    }
    await service.restart();
  });

  const WRONG: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ identifier: undefined }, 'identifier'],
    [{ identifier: '' }, 'identifier'],
    [{ identifier: 'x'.repeat(257) }, 'identifier'],
    [{ identifier: 'a\0b' }, 'identifier'],
    [{ identifier: 7 }, 'identifier'],
    [{ limit: undefined }, 'limit'],
    [{ limit: 0 }, 'limit'],
    [{ limit: -1 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ limit: '5' }, 'limit'],
    [{ limit: 2 ** 53 }, 'limit'],
    [{ duration: undefined }, 'duration'],
    [{ duration: 999 }, 'duration'],
    [{ duration: 31_622_400_001 }, 'duration'],
    [{ cost: -1 }, 'cost'],
    [{ cost: null }, 'cost'],
    [{ async: 'true' }, 'async'],
    [{ namespace: '' }, 'namespace'],
    [{ namespace: 'n'.repeat(129) }, 'namespace'],
    [{ meta: [] }, 'meta'],
    [{ resources: Array.from({ length: 11 }, () => ({ type: 'a', id: 'b' })) }, 'resources'],
    [{ resources: [{ type: 'a' }] }, 'resources[0].id'],
    [{ resources: [{ type: 'a', id: 'b', meta: { text: 'x'.repeat(17_000) } }] }, 'resources[0].meta'],
    [{ identifer: 'user_1' }, 'identifer'],
  ];

  const CASES = WRONG.map(([fields, path]) => [JSON.stringify(fields).slice(0, 50), fields, path] as const);

  test.each(CASES)('%s is a 400 that names the field, and nothing is counted or made', async (_name, fields, path) => {
    const before = storedIn(service.folder);
    const { status, body } = await call(fields);
    expect([status, body.error.code, body.error.issues[0].path]).toEqual([400, 'BAD_REQUEST', path]);
    expect(storedIn(service.folder)).toEqual(before);
    expect(await service.storage.records.findNamespace(namespace)).toBeNull();
  });
});

describe('while a commit is under way', () => {
  test('a local limit whose identifier was seen is answered at once', async () => {
    const slow = await TestService.start({ addedFlushMs: 300 });
    try {
      const body = { identifier: 'user_1', limit: 1000, duration: 86_400_000 };
      await slow.ok('/v1/ratelimits.limit', { ...body, async: true });
      await slow.ok('/v1/ratelimits.limit', body);
      let isCommitted = false;
      const strict = slow.ok('/v1/ratelimits.limit', body).finally(() => (isCommitted = true));
      for (let i = 0; i < 100; i++) {
        expect(await slow.ok('/v1/ratelimits.limit', { ...body, async: true })).toMatchObject({ remaining: 998 - i });
      }
      expect(isCommitted).toBe(false);
      expect(await strict).toMatchObject({ remaining: 998 });
    } finally {
      await slow.close();
    }
  });
});
