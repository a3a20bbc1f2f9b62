import { expect, test } from 'bun:test';

import { engineTasks } from '../../../src/engine/engineTasks.ts';
import { reuseService } from '../../support/reusedService.ts';

const using = reuseService();

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
