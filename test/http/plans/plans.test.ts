import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { HOLDERS, planCalls } from './planCalls.ts';

const DAY_MS = 86_400_000;

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

beforeEach(() => service.clock.set('2026-03-15T12:00:00Z'));

describe('what a plan gives an identity', () => {
  const { plan, holder, read, refused } = planCalls(() => service);

  test('credits, limits, roles and permissions, and a bound of keys: the holder copies nothing', async () => {
    const planId = await plan({
      remaining: 3,
      ratelimits: [
        { name: 'local', limit: 100, duration: 60_000, async: true },
        { name: 'strict', limit: 100, duration: 60_000, async: false },
      ],
      roles: [{ name: 'reader', create: true }],
      permissions: [{ name: 'documents.read', create: true }],
      maxKeys: 2,
    });
    const { who, around, key } = await holder(planId);
    const { externalId } = around;
    const verdict = await service.verify(key, { authorization: { permissions: 'documents.read' } });
    expect(verdict).toMatchObject({ valid: true, remaining: 2, roles: ['reader'], permissions: ['documents.read'] });
    expect(verdict.ratelimits).toMatchObject([
      { name: 'local', remaining: 99, shared: true },
      { name: 'strict', remaining: 99, shared: true },
    ]);
    await service.createKey({ externalId });
    expect(await refused('/v1/keys.createKey', { apiId: (await service.createKey()).apiId, externalId })).toEqual([
      412,
      expect.stringContaining('already has 2 of 2 keys'),
    ]);
    expect(await read(who)).toMatchObject({
      planId,
      remaining: 2,
      ratelimits: [],
      keys: 2,
      plan: {
        id: planId,
        maxKeys: 2,
        ratelimits: [
          { name: 'local', limit: 100 },
          { name: 'strict', used: 1 },
        ],
      },
    });
  });

  test('its own fields take precedence, null returns to the plan, and limits merge by name', async () => {
    const ratelimits = [
      { name: 'a', limit: 5, duration: 60_000, async: false },
      { name: 'b', limit: 5, duration: 60_000, async: false },
    ];
    const planId = await plan({ remaining: 50, ratelimits, maxKeys: 1, refill: { interval: 'daily', amount: 50 } });
    const { who, around, key } = await holder(planId);
    const { externalId } = around;
    const own = { ratelimits: [{ name: 'a', limit: 1, duration: 60_000, async: false }], maxKeys: 3 };
    await service.ok('/v1/identities.updateIdentity', { externalId, ...own, refill: { interval: 'daily', amount: 9 } });
    await service.createKey({ externalId });
    expect((await service.verify(key)).ratelimits).toMatchObject([
      { name: 'a', limit: 1, remaining: 0 },
      { name: 'b', limit: 5, remaining: 4 },
    ]);
    expect(await service.verify(key)).toMatchObject({ valid: false, code: 'RATE_LIMITED' });
    await service.ok('/v1/identities.updateIdentity', { externalId, remaining: 2 });
    service.clock.advance(DAY_MS);
    expect(await read(who)).toMatchObject({ remaining: 9 });
    await service.ok('/v1/identities.updateIdentity', { externalId, ratelimits: null, maxKeys: null, refill: null });
    expect((await service.verify(key)).ratelimits).toMatchObject([
      { name: 'a', limit: 5 },
      { name: 'b', limit: 5 },
    ]);
    service.clock.advance(DAY_MS);
    expect(await read(who)).toMatchObject({ remaining: 50, plan: { maxKeys: 1 } });
    expect((await read(who)).maxKeys).toBeUndefined();
    expect(await refused('/v1/identities.updateIdentity', { externalId, remaining: null })).toEqual([
      400,
      expect.stringContaining('. Set a number, or move to another plan (plans.assign).'),
    ]);
  });
});

describe.each(HOLDERS)('with holders that are an %s', (kind) => {
  const { plan, update, holder, read } = planCalls(() => service, kind);

  test('a change of the plan holds for all holders at once, and balances do not jump', async () => {
    const limit = (of: number) => ({ ratelimits: [{ name: 'r', limit: of, duration: 3_600_000, async: false }] });
    const planId = await plan({ remaining: 10, refill: { interval: 'daily', amount: 10 }, ...limit(2) });
    const holders = await Promise.all(Array.from({ length: 5 }, () => holder(planId)));
    for (const { key } of holders) for (let i = 0; i < 2; i++) await service.verify(key);
    for (const { key } of holders) expect((await service.verify(key)).code).toBe('RATE_LIMITED');
    await update(planId, { ...limit(3), refill: { interval: 'daily', amount: 100 }, remaining: 100 });
    for (const { key } of holders) expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 7 });
    expect((await holder(planId)).key).toBeString();
    service.clock.advance(DAY_MS);
    for (const { key } of holders) expect(await service.verify(key)).toMatchObject({ remaining: 99 });
    await update(planId, { permissions: [{ name: 'p', create: true }] });
    for (const { key } of holders)
      expect(await service.verify(key, { authorization: { permissions: 'p' } })).toMatchObject({ valid: true });
    await update(planId, { permissions: [] });
    const [first] = holders;
    expect((await service.verify(first?.key ?? '', { authorization: { permissions: 'p' } })).code).toBe(
      'INSUFFICIENT_PERMISSIONS',
    );
  });

  test('refills that were missed follow the rule that was in force at their instants', async () => {
    const planId = await plan({ remaining: 0, refill: { interval: 'daily', amount: 1, mode: 'add' } });
    const { who, key } = await holder(planId);
    service.clock.advance(3 * DAY_MS);
    await update(planId, { refill: { interval: 'weekly', amount: 100, mode: 'add' } });
    // To Monday 23 March, and a day more.
    service.clock.advance(6 * DAY_MS);
    await update(planId, { refill: { interval: 'hourly', amount: 1_000, mode: 'add' } });
    service.clock.advance(2 * 3_600_000);
    expect((await read(who)).remaining).toBe(3 + 100 + 2_000);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 3 + 100 + 2_000 - 1 });
    await update(planId, { refill: null });
    service.clock.advance(30 * DAY_MS);
    expect((await read(who)).remaining).toBe(2_102);
    await update(planId, { refill: { interval: 'monthly', amount: 5, mode: 'add' } });
    expect(await service.verify(key)).toMatchObject({ remaining: 2_101 });
    service.clock.set('2026-05-01T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 2_105 });
  });

  test('a strict limit of a plan counts on when its ended window was removed, and with a cost of the request', async () => {
    const planId = await plan({ ratelimits: [{ name: 'r', limit: 5, duration: 60_000, async: false }] });
    const { who, key } = await holder(planId);
    const cost = { ratelimits: [{ name: 'r', cost: 2 }] };
    expect((await service.verify(key)).ratelimits).toMatchObject([{ remaining: 4 }]);
    expect((await service.verify(key, cost)).ratelimits).toMatchObject([{ remaining: 2 }]);
    expect((await read(who)).plan).toMatchObject({ ratelimits: [{ name: 'r', used: 3 }] });
    service.clock.advance(4 * DAY_MS);
    await service.engine.storage.ledger.prune();
    expect((await service.verify(key)).ratelimits).toMatchObject([{ remaining: 4 }]);
    expect((await service.verify(key, cost)).ratelimits).toMatchObject([{ remaining: 2 }]);
    expect((await service.verify(key, { ratelimits: [{ name: 'r', cost: 3 }] })).code).toBe('RATE_LIMITED');
  });

  test('the same when other keys of the customer are in memory', async () => {
    const planId = await plan({ ratelimits: [{ name: 'r', limit: 5, duration: 60_000, async: false }] });
    const { who, key } = await holder(planId);
    const second = 'externalId' in who ? (await service.createKey(who)).key : key;
    for (const [each, remaining] of [
      [key, 4],
      [second, 3],
    ] as const) {
      expect((await service.verify(each)).ratelimits).toMatchObject([{ remaining }]);
    }
    service.clock.advance(4 * DAY_MS);
    await service.engine.storage.ledger.prune();
    for (const [each, remaining] of [
      [key, 4],
      [second, 3],
    ] as const) {
      expect((await service.verify(each)).ratelimits).toMatchObject([{ remaining }]);
    }
  });
});

describe('plans', () => {
  const { plan, assign, holder, refused } = planCalls(() => service);

  test('are read, listed and renamed; a name is there once; one with holders is not deleted', async () => {
    const [planId, other] = [await plan({ name: 'gold', meta: { price: 29 } }), await plan({ name: 'silver' })];
    expect(await service.ok('/v1/plans.getPlan', { planId })).toEqual({
      id: planId,
      name: 'gold',
      meta: { price: 29 },
      ratelimits: [],
      roles: [],
      permissions: [],
      holders: 0,
    });
    expect(await refused('/v1/plans.createPlan', { name: 'gold' })).toEqual([
      409,
      'A plan with the name "gold" exists already.',
    ]);
    // Whoever may change one plan learns nothing of another one.
    expect(await refused('/v1/plans.updatePlan', { planId: other, name: 'gold' })).toEqual([
      409,
      'A plan with the name "gold" exists already.',
    ]);
    const { who } = await holder(planId);
    expect(await refused('/v1/plans.deletePlan', { planId })).toEqual([
      409,
      'The plan "gold" has 1 customer or key. Move it to another plan first (plans.assign).',
    ]);
    await assign(who, other);
    await service.ok('/v1/plans.deletePlan', { planId });
    expect((await refused('/v1/plans.getPlan', { planId }))[0]).toBe(404);
    expect((await refused('/v1/plans.assign', { ...who, planId }))[0]).toBe(404);
    const listed = await service.ok('/v1/plans.listPlans', {});
    expect((listed.plans as { id: string }[]).map(({ id }) => id)).toContain(other);
  });

  test('contradictions are refused with a reason, and change nothing', async () => {
    const [withCredits, without] = [await plan({ remaining: 5 }), await plan()];
    const refill = { interval: 'daily', amount: 1 };
    expect(await refused('/v1/plans.createPlan', { name: 'x', refill })).toEqual([
      400,
      'A refill needs credits: send remaining too.',
    ]);
    expect((await refused('/v1/plans.updatePlan', { planId: without, refill }))[0]).toBe(400);
    for (const [planId, remaining] of [
      [withCredits, null],
      [without, 5],
    ] as const) {
      const [status, message] = await refused('/v1/plans.updatePlan', { planId, remaining });
      const what = remaining === null ? 'with credits' : 'without credits';
      expect([status, message]).toEqual([
        400,
        expect.stringContaining(
          ` was created ${what}, which cannot change. Create another plan, and move its customers and keys there (plans.assign).`,
        ),
      ]);
    }
    expect(await service.ok('/v1/plans.getPlan', { planId: withCredits })).toMatchObject({ remaining: 5 });
  });

  test('there are at most 1,000', async () => {
    const full = await TestService.start();
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => full.ok('/v1/plans.createPlan', { name: `plan ${i}` })));
    const { status, body } = await full.call('/v1/plans.createPlan', { name: 'one more' });
    expect([status, body.error.message]).toEqual([412, 'There are 1000 plans already. Delete one first.']);
    await full.stop();
  });
});

test.each(HOLDERS)('every step is in the audit log, of an %s', async (kind) => {
  const { plan, update, assign, holder } = planCalls(() => service, kind);
  const planId = await plan({ remaining: 5 });
  await update(planId, { maxKeys: 3 });
  const { who, id, around } = await holder(null);
  await assign(who, planId);
  const steps = async (target: string) => {
    const { entries } = await service.ok('/v1/audit.listEntries', { target });
    return (entries as { action: string; before: unknown; after: unknown }[]).map(({ action, before, after }) => [
      action,
      before,
      after,
    ]);
  };
  const { events } = await service.ok('/v1/events.listEvents', { types: ['plan.changed', 'plan.updated'] });
  const about = [planId, id];
  const told = (events as { type: string; data: Record<string, unknown> }[]).filter(({ data }) =>
    about.includes(String(data['planId'] ?? data['identityId'] ?? data['keyId'])),
  );
  expect(told).toMatchObject([
    { type: 'plan.updated', data: { planId, after: { maxKeys: 3 } } },
    { type: 'plan.changed', data: { [`${kind}Id`]: id, ...around, after: { planId, remaining: 5 } } },
  ]);
  expect(await steps(planId)).toMatchObject([
    ['plan.update', { maxKeys: null }, { maxKeys: 3 }],
    ['plan.create', undefined, { remaining: 5 }],
  ]);
  expect(await steps(id)).toMatchObject([
    [`${kind}.assignPlan`, { planId: null, remaining: null }, { planId, remaining: 5 }],
    [`${kind}.create`, undefined, expect.any(Object)],
  ]);
});
