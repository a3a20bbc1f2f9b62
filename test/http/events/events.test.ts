import { expect, test } from 'bun:test';

import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { reuseService } from '../../support/reusedService.ts';

const using = reuseService({ settings: { KEYSTILE_EVENT_RETENTION: '5d' } });

interface Page {
  readonly events: readonly { readonly id: string; readonly type: string; readonly sequence: number; data: object }[];
  readonly cursor: string;
}

const list = (query: object = {}): Promise<Page> => using().ok('/v1/events.listEvents', query);

test('events.listEvents goes on from a cursor: oldest first, nothing twice, nothing left out, and the cursor stays at the end', async () => {
  const service = using();
  const { cursor: before } = await list();
  const { keyId, apiId } = await service.createKey({ name: 'Ann', meta: { plan: 'free' } });
  await service.ok('/v1/keys.updateKey', { keyId, enabled: false });
  const seen: Page['events'][number][] = [];
  for (let cursor = before; ;) {
    const page = await list({ cursor, limit: 1 });
    seen.push(...page.events);
    cursor = page.cursor;
    if (page.events.length === 0) break;
    if (seen.length === 1) await service.ok('/v1/keys.deleteKey', { keyId });
  }
  expect(seen.map(({ type }) => type)).toEqual(['key.created', 'key.updated', 'key.deleted']);
  expect(seen[0]).toEqual({
    id: expect.stringMatching(/^evt_/) as string,
    type: 'key.created',
    time: service.clock.nowMs(),
    sequence: expect.any(Number) as number,
    data: {
      keyId,
      apiId,
      actor: expect.stringMatching(/^rk_/) as string,
      requestId: expect.stringMatching(/^req_/) as string,
      after: { apiId, start: expect.any(String) as string, name: 'Ann', meta: { plan: 'free' }, enabled: true },
    },
  } as never);
  expect((await list({ cursor: before, types: 'key.deleted' })).events).toEqual(seen.slice(2));
  const answer = await service.call(
    `/v1/events.listEvents?cursor=${before}&types=key.created&types=key.updated`,
    undefined,
    {
      method: 'GET',
    },
  );
  expect((answer.body as Page).events).toEqual(seen.slice(0, 2));
});

test('an event that is too long keeps its ids alone', async () => {
  const service = using();
  const { cursor } = await list();
  const { keyId, apiId } = await service.createKey({ meta: { text: 'é'.repeat(8170) } });
  await service.ok('/v1/keys.updateKey', { keyId, meta: { text: 'è'.repeat(8170) } });
  const { events } = await list({ cursor, types: 'key.updated' });
  expect(events.map(({ data }) => data)).toEqual([{ keyId, apiId, truncated: true }]);
});

test('old events are removed in the background', async () => {
  const service = using();
  await service.createKey();
  const { engine, clock } = service;
  const log = { info() {}, warn() {}, error() {} };
  const { tasks } = engineTasks({
    engine,
    syncIntervalMs: 250,
    log,
    wallClockMs: clock.nowMs,
    monotonicMs: clock.nowMs,
  });
  const prune = tasks.find(({ name }) => name === 'removing old events');
  const turn = { rest: async () => true, until: async () => {} };
  clock.advance(5 * 86_400_000 - 1);
  await prune?.run(turn);
  expect((await list()).events.length).toBeGreaterThan(0);
  clock.advance(1);
  await prune?.run(turn);
  expect((await list()).events).toEqual([]);
});

test('nothing is removed from a database that is closed', async () => {
  const service = using();
  const { events } = service.storage;
  await service.stop();
  expect(events.prune(0)).rejects.toThrow('The database could not be written (the database is closed).');
});

const WEEK = { expiresWithinMs: 604_800_000 };

test('alerts are set, shown, audited and cleared, on keys, imported keys and identities', async () => {
  const service = using();
  const { keyId, apiId } = await service.createKey({ alerts: WEEK });
  const plaintext = 'a-key-that-was-made-elsewhere-1';
  const { keyIds } = await service.ok('/v1/migrations.createKeys', [{ apiId, plaintext, alerts: WEEK }]);
  for (const id of [keyId, ...(keyIds as string[])]) {
    expect((await service.ok('/v1/keys.getKey', { keyId: id })).alerts).toEqual(WEEK);
    await service.ok('/v1/keys.updateKey', { keyId: id, name: 'other' });
    expect((await service.ok('/v1/keys.getKey', { keyId: id })).alerts).toEqual(WEEK);
  }
  await service.ok('/v1/keys.updateKey', { keyId, alerts: null });
  expect((await service.ok('/v1/keys.getKey', { keyId })).alerts).toBeUndefined();
  const { entries } = await service.ok('/v1/audit.listEntries', { target: keyId, action: 'key.update', limit: 1 });
  expect(entries).toMatchObject([{ before: { alerts: WEEK }, after: { alerts: null } }]);

  const { identityId } = await service.ok('/v1/identities.createIdentity', { externalId: 'acme', alerts: WEEK });
  expect((await service.ok('/v1/identities.getIdentity', { identityId })).alerts).toEqual(WEEK);
  const cleared = await service.ok('/v1/identities.updateIdentity', { identityId, alerts: null });
  expect(cleared.alerts).toBeUndefined();
});

test('the service tells of keys that expire in the background', async () => {
  const service = using();
  const { engine, clock } = service;
  const expires = clock.nowMs() + WEEK.expiresWithinMs;
  const { keyId, apiId, key } = await service.createKey({ expires, alerts: WEEK, remaining: 3 });
  const log = { info() {}, warn() {}, error() {} };
  const { tasks } = engineTasks({
    engine,
    syncIntervalMs: 250,
    log,
    wallClockMs: clock.nowMs,
    monotonicMs: clock.nowMs,
  });
  const sweep = tasks.find(({ name }) => name === 'telling of keys that expire');
  await sweep?.run({ rest: async () => true, until: async () => {} });
  const { events } = await service.ok('/v1/events.listEvents', { types: 'key.expiring' });
  expect(events).toMatchObject([{ data: { keyId, apiId, expires } }]);
  expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 2 });
});

test('thresholds are set, shown, audited and removed one by one, on keys, identities and plans', async () => {
  const service = using();
  const both = { creditsBelow: 5, expiresWithinMs: 604_800_000 };
  const { keyId } = await service.createKey({ remaining: 5, alerts: { creditsBelow: 5, expiresWithinMs: null } });
  const shown = async () => (await service.ok('/v1/keys.getKey', { keyId })).alerts;
  expect(await shown()).toEqual({ creditsBelow: 5 });
  await service.ok('/v1/keys.updateKey', { keyId, alerts: { expiresWithinMs: both.expiresWithinMs } });
  expect(await shown()).toEqual(both);
  await service.ok('/v1/keys.updateKey', { keyId, alerts: { creditsBelow: null } });
  expect(await shown()).toEqual({ expiresWithinMs: both.expiresWithinMs });
  const { entries } = await service.ok('/v1/audit.listEntries', { target: keyId, action: 'key.update', limit: 1 });
  expect(entries).toMatchObject([{ before: { alerts: both }, after: { alerts: { expiresWithinMs: 604_800_000 } } }]);
  // A counter that is removed takes its threshold along.
  await service.ok('/v1/keys.updateKey', { keyId, alerts: { creditsBelow: 2 } });
  await service.ok('/v1/keys.updateKey', { keyId, remaining: null });
  expect(await shown()).toEqual({ expiresWithinMs: both.expiresWithinMs });

  const { planId } = await service.ok('/v1/plans.createPlan', { name: 'pro', remaining: 5, alerts: both });
  expect((await service.ok('/v1/plans.getPlan', { planId })).alerts).toEqual(both);
  const updated = await service.ok('/v1/plans.updatePlan', { planId, alerts: { expiresWithinMs: null } });
  expect(updated.alerts).toEqual({ creditsBelow: 5 });
  const { identityId } = await service.ok('/v1/identities.createIdentity', {
    externalId: 'acme',
    remaining: 5,
    alerts: { creditsBelow: 5 },
  });
  expect((await service.ok('/v1/identities.getIdentity', { identityId })).alerts).toEqual({ creditsBelow: 5 });
  await service.ok('/v1/plans.deletePlan', { planId });
});

test('a threshold needs credits, and is at most the balance', async () => {
  const service = using();
  const above = (balance: number, got: number) =>
    `alerts.creditsBelow must be at most the credits that are left (${balance}), got ${got}. Set a lower threshold, or add credits first.`;
  const none = 'alerts.creditsBelow needs credits: send remaining too.';
  const { keyId, apiId, key } = await service.createKey({ remaining: 5 });
  await service.verify(key);
  const plain = await service.createKey({});
  const metered = await service.createKey({ metered: true });
  const { identityId } = await service.ok('/v1/identities.createIdentity', { externalId: 'acme' });
  const alerts = { creditsBelow: 6 };
  const refused: [path: string, body: object, message: string][] = [
    ['/v1/keys.createKey', { apiId, alerts }, none],
    ['/v1/keys.createKey', { apiId, alerts, remaining: 5 }, above(5, 6)],
    ['/v1/keys.createKeys', { keys: [{ apiId, alerts, remaining: 5 }] }, above(5, 6)],
    ['/v1/keys.updateKey', { keyId, alerts: { creditsBelow: 5 } }, above(4, 5)],
    ['/v1/keys.updateKey', { keyId, alerts, remaining: 5 }, above(5, 6)],
    // A refill that is set with it has refilled nothing yet.
    [
      '/v1/keys.updateKey',
      { keyId, refill: { interval: 'daily', amount: 9 }, alerts: { creditsBelow: 5 } },
      above(4, 5),
    ],
    ['/v1/keys.updateKey', { keyId: plain.keyId, alerts }, none],
    ['/v1/keys.createKey', { apiId, alerts, metered: true }, none],
    ['/v1/keys.updateKey', { keyId: metered.keyId, alerts }, none],
    ['/v1/identities.createIdentity', { externalId: 'other', alerts }, none],
    ['/v1/identities.updateIdentity', { identityId, alerts }, none],
    ['/v1/identities.updateIdentity', { identityId, remaining: 5, alerts }, above(5, 6)],
    ['/v1/plans.createPlan', { name: 'pro', alerts }, none],
    ['/v1/plans.createPlan', { name: 'pro', remaining: 5, alerts }, above(5, 6)],
  ];
  for (const [path, body, message] of refused) {
    const { status, body: answer } = await service.call(path, body);
    const { code, message: got } = answer['error'] as { code: string; message: string };
    expect([path, status, code, got.replace(/^keys\[0\]: /, '')]).toEqual([path, 400, 'BAD_REQUEST', message]);
  }
  await service.ok('/v1/keys.updateKey', { keyId, alerts, remaining: 6 });
});

test('notify on a limit is set, shown and kept, and needs a window of a minute', async () => {
  const service = using();
  const limit = { limit: 1, duration: 60_000 };
  const { keyId } = await service.createKey({ ratelimit: { ...limit, notify: true } });
  const shown = async () => (await service.ok('/v1/keys.getKey', { keyId })).ratelimit;
  expect(await shown()).toMatchObject({ ...limit, notify: true });
  await service.ok('/v1/keys.updateKey', { keyId, ratelimit: { limit: 2, duration: 60_000 } });
  expect(await shown()).toMatchObject({ limit: 2, notify: true });
  await service.ok('/v1/keys.updateKey', { keyId, ratelimit: { ...limit, notify: false } });
  expect(await shown()).not.toHaveProperty('notify');
  const short = { keyId, ratelimits: [{ name: 'short', limit: 1, duration: 59_999, notify: true }] };
  const { status, body } = await service.call('/v1/keys.updateKey', short);
  expect(status).toBe(400);
  expect(body['error']).toMatchObject({
    message: 'The limit "short" has notify, which needs a duration of at least 60000 ms, got 59999.',
  });
});

test('the service tells of credits, refills and limits in the background', async () => {
  const service = using();
  const { engine, clock } = service;
  const log = { info() {}, warn() {}, error() {} };
  const clocks = { wallClockMs: clock.nowMs, monotonicMs: clock.nowMs };
  const { tasks } = engineTasks({ engine, syncIntervalMs: 250, log, ...clocks });
  const run = async () => {
    for (const task of tasks) {
      const isTeller = task.name.startsWith('telling of') || task.name.startsWith('looking for');
      if (isTeller) await task.run({ rest: async () => true, until: async () => {} });
    }
  };
  const { keyId, key } = await service.createKey({
    remaining: 2,
    refill: { interval: 'daily', amount: 2 },
    alerts: { creditsBelow: 2 },
    ratelimit: { limit: 2, duration: 60_000, async: true, notify: true },
  });
  for (let i = 0; i < 3; i++) await service.verify(key);
  await run();
  clock.advance(86_400_000);
  await service.verify(key);
  await run();
  const types = ['credits.low', 'credits.exhausted', 'credits.refilled', 'limit.reached'];
  const { events } = await service.ok('/v1/events.listEvents', { types });
  const told = (events as { type: string; data: object }[]).map(({ type, data }) => ({ type, data }));
  expect(told).toMatchObject([
    { type: 'credits.low', data: { keyId, remaining: 0, threshold: 2 } },
    { type: 'credits.exhausted', data: { keyId, remaining: 0 } },
    { type: 'limit.reached', data: { keyId, name: 'default', limit: 2 } },
    { type: 'credits.low', data: { keyId, remaining: 1, threshold: 2 } },
    { type: 'credits.refilled', data: { keyId, refilled: 2, remaining: 2 } },
  ]);
});
