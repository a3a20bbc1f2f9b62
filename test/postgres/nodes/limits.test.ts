import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { until } from '../../../tools/cluster/wait.ts';
import { Setup, sharedSetup } from '../../support/cluster/clusterSetup.ts';
import { hammer } from '../../support/cluster/clients.ts';

describe('two nodes on one PostgreSQL', () => {
  /** KEYSTILE_STALE_MAX as it comes: no request that arrives later is decided on the old state. */
  const BOUND_MS = 1000;
  /** So long that no test meets the end of its window. */
  const YEAR_MS = 366 * 86_400_000;
  const MAX_LIMITS = 100;

  let setup: Setup;

  beforeAll(async () => {
    const settings = { KEYSTILE_MAX_LIMITS_PER_NAMESPACE: String(MAX_LIMITS) };
    setup = await Setup.start({ locations: ['eu', 'us'], settings });
  });

  afterAll(async () => {
    await setup[Symbol.asyncDispose]();
  });

  const limit = (node: number, fields: Record<string, unknown>) =>
    setup.ok(node, '/v1/ratelimits.limit', { duration: YEAR_MS, ...fields });

  const times = <T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, i) => make(i)));

  test('200 strict calls at both, which make the namespace on the way: exactly as many succeed as the limit says', async () => {
    const answers = await times(200, (i) => limit(i % 2, { namespace: 'strict', identifier: 'user', limit: 60 }));
    expect(answers.filter(({ success }) => success).length).toBe(60);
    for (const node of [0, 1]) {
      const left = await limit(node, { namespace: 'strict', identifier: 'user', limit: 60, cost: 0 });
      expect(left).toMatchObject({ success: true, remaining: 0 });
    }
    expect(await setup.postgres.query("SELECT name FROM namespaces WHERE name = 'strict'")).toEqual([
      { name: 'strict' },
    ]);
  });

  test('calls of several limits that share one: all or nothing, over both', async () => {
    const shared = { namespace: 'multi', identifier: 'shared', limit: 20, duration: YEAR_MS };
    const own = (i: number) => ({ namespace: 'multi', identifier: `own_${i}`, limit: 5, duration: YEAR_MS });
    const answers = await times(60, (i) =>
      setup.ok(i % 2, '/v1/ratelimits.multiLimit', { limits: [own(i), shared, own(i)] }),
    );
    expect(answers.filter(({ success }) => success).length).toBe(20);
    const lefts = await times(60, async (i) => (await limit((i + 1) % 2, { ...own(i), cost: 0 })).remaining);
    expect(lefts).toEqual(answers.map(({ success }) => (success === true ? 3 : 5)));
  });

  test('what one has let through of a local limit the other learns', async () => {
    const asked = { namespace: 'local', identifier: 'user', limit: 100, async: true };
    await limit(1, asked);
    await times(10, () => limit(0, asked));
    await until('the other has heard', async () => (await limit(1, { ...asked, cost: 0 })).remaining === 89);
  });

  test('an override that is set, changed or deleted at one is used by the other within the freshness bound', async () => {
    const asked = { namespace: 'overrides', identifier: 'user', limit: 10, async: true };
    const name = { namespaceName: 'overrides', identifier: 'user' };
    /** Asks without pause; answers how long ago the change was when the last old answer was asked for. */
    const seen = async (from: number, to: number): Promise<number> => {
      const sinceMs = performance.now();
      let lastMs = 0;
      for (;;) {
        const askedMs = performance.now() - sinceMs;
        const answer = await limit(1, { ...asked, cost: 0 });
        if (answer.limit === to) return lastMs;
        expect(answer.limit).toBe(from);
        lastMs = askedMs;
      }
    };
    await limit(1, asked);
    await setup.ok(0, '/v1/ratelimits.setOverride', { ...name, limit: 20, duration: YEAR_MS, async: true });
    expect(await seen(10, 20)).toBeLessThan(BOUND_MS);
    await setup.ok(0, '/v1/ratelimits.setOverride', { ...name, limit: 30, duration: YEAR_MS, async: true });
    expect(await seen(20, 30)).toBeLessThan(BOUND_MS);
    await setup.ok(0, '/v1/ratelimits.deleteOverride', name);
    expect(await seen(30, 10)).toBeLessThan(BOUND_MS);
  });

  test('20 that set one override at both at the same time: one id', async () => {
    await limit(0, { namespace: 'race', identifier: 'user', limit: 1, cost: 0 });
    const ids = await times(20, async (i) => {
      const body = { namespaceName: 'race', identifier: 'user', limit: i, duration: YEAR_MS };
      return (await setup.ok(i % 2, '/v1/ratelimits.setOverride', body)).overrideId;
    });
    expect(new Set(ids).size).toBe(1);
    const stored = await setup.ok(1, '/v1/ratelimits.getOverride', { namespaceName: 'race', identifier: 'user' });
    expect(stored.id).toBe(ids[0] as string);
  });

  test('a namespace that one has filled is full for the other, and goes on with the counters that it has', async () => {
    const asked = (i: number) => ({ namespace: 'full', identifier: `user_${i}`, limit: 5, duration: YEAR_MS });
    await setup.ok(0, '/v1/ratelimits.multiLimit', { limits: Array.from({ length: MAX_LIMITS }, (_, i) => asked(i)) });
    for (const node of [0, 1]) {
      const refused = await setup.node(node).call('/v1/ratelimits.limit', asked(MAX_LIMITS + 1));
      expect([refused.status, refused.body]).toMatchObject([503, { error: { code: 'UNAVAILABLE' } }]);
      expect(await limit(node, asked(7))).toMatchObject({ success: true, remaining: 3 - node });
    }
  });

  test('the resources of a call stand in the audit log when it is answered', async () => {
    const resources = [{ type: 'file', id: 'f_1' }];
    await limit(1, { namespace: 'audit', identifier: 'user', limit: 1, resources });
    const rows = await setup.postgres.query("SELECT after_json FROM audit_entries WHERE action = 'ratelimit.limit'");
    expect(rows).toEqual([{ after_json: JSON.stringify({ identifier: 'user', success: true, resources }) }]);
  });
});

const CLIENTS = 64;
const LIMIT = 50;
const WINDOW_MS = 1000;
/** Every client asks for each of them in turn. Their windows begin and end together. */
const KEYS = 4;
/** Windows in which every key was asked for more often than its limit admits: 20 in all. */
const FULL_WINDOWS_OF_A_KEY = 5;

/** What was asked in one window, and what of it was valid, by the place of the key. */
class Window {
  readonly asked = Array.from({ length: KEYS }, () => 0);
  readonly valid = Array.from({ length: KEYS }, () => 0);

  add(place: number, isValid: boolean): void {
    this.asked[place] = (this.asked[place] ?? 0) + 1;
    if (isValid) this.valid[place] = (this.valid[place] ?? 0) + 1;
  }

  get isFull(): boolean {
    return Math.min(...this.asked) >= LIMIT;
  }
}

test('a strict limit of 50 a second, 64 clients at three nodes: never more than 50 in any window, and exactly 50 in each of 20 in which more asked', async () => {
  const setup = await sharedSetup();
  const ratelimit = { async: false, limit: LIMIT, duration: WINDOW_MS };
  const keys = await Promise.all(Array.from({ length: KEYS }, () => setup.createKey({ ratelimit })));
  const turns = Array.from({ length: CLIENTS }, (_, client) => client);
  const placeOf = (client: number): number => (turns[client] ?? 0) % KEYS;
  /** By their end, as the ledger named it. */
  const windows = new Map<number, Window>();
  const others: unknown[] = [];
  const fullWindows = (): Window[] => [...windows.values()].filter(({ isFull }) => isFull);
  await hammer(
    setup,
    CLIENTS,
    (client) =>
      fullWindows().length < FULL_WINDOWS_OF_A_KEY && others.length === 0 ? { key: keys[placeOf(client)]?.key } : null,
    async (reply, client) => {
      const reset = reply.kind === 'verdict' ? reply.verdict.ratelimit?.reset : undefined;
      if (reply.kind !== 'verdict' || reset === undefined) return void others.push(reply);
      const window = windows.get(reset) ?? new Window();
      windows.set(reset, window);
      window.add(placeOf(client), reply.verdict.valid);
      turns[client] = (turns[client] ?? 0) + 1;
    },
  );
  expect(others).toEqual([]);
  for (const { valid } of windows.values()) expect(Math.max(...valid)).toBeLessThanOrEqual(LIMIT);
  const full = fullWindows();
  expect(full.length).toBeGreaterThanOrEqual(FULL_WINDOWS_OF_A_KEY);
  for (const { valid } of full) expect(valid).toEqual(keys.map(() => LIMIT));
});
