import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { HOLDERS, planCalls, type Fields } from './planCalls.ts';

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

const { plan, update, assign, holder, read, change, refused } = planCalls(() => service, 'key');
const ofIdentity = planCalls(() => service);

const strict = (name: string, limit: number) => ({ name, limit, duration: 3_600_000, async: false });
const local = (name: string, limit: number) => ({ name, limit, duration: 3_600_000, async: true });
const holdersOf = async (planId: string) => (await service.ok('/v1/plans.getPlan', { planId })).holders;

/** As the table shows it. */
async function storedBalance(keyId: string): Promise<number | undefined> {
  const { records, ledger } = service.engine.storage;
  const found = await records.findKey(keyId);
  const account = found === null || 'poisoned' in found ? undefined : found.key.credits?.account;
  return (await ledger.read([account ?? 0]))[0]?.value;
}

/** Most keys fit into a row of the cache; one with a name and a permission of its own has an object beside it. */
const KEYS: [string, Fields][] = [
  ['without more', {}],
  ['with a side', { name: 'Ann', permissions: ['own'] }],
];

describe.each(KEYS)('a key on a plan %s', (_how, fields) => {
  const own = 'permissions' in fields ? ['own'] : [];

  test('has its credits, limits, roles and permissions, counts in windows of its own, and copies nothing', async () => {
    const planId = await plan({
      remaining: 3,
      refill: { interval: 'daily', amount: 3 },
      ratelimits: [strict('strict', 10), local('local', 10), { ...local('named', 10), autoApply: false }],
      roles: [{ name: 'reader', create: true }],
      permissions: [{ name: 'documents.read', create: true }],
      maxKeys: 1,
    });
    const [first, second] = [await holder(planId, fields), await holder(planId, fields)];
    const verdict = await service.verify(first.key, { authorization: { permissions: 'documents.read' } });
    const permissions = ['documents.read', ...own];
    expect(verdict).toMatchObject({ valid: true, remaining: 2, roles: ['reader'], permissions });
    expect(verdict.ratelimits).toEqual([
      expect.objectContaining({ name: 'strict', remaining: 9 }),
      expect.objectContaining({ name: 'local', remaining: 9 }),
    ]);
    // No other key shares it.
    expect(JSON.stringify(verdict)).not.toContain('shared');
    const named = await service.verify(first.key, { ratelimits: [{ name: 'named', cost: 4 }, { name: 'strict' }] });
    expect(named.ratelimits).toMatchObject([
      { name: 'strict', remaining: 8 },
      { name: 'local', remaining: 8 },
      { name: 'named', remaining: 6 },
    ]);
    expect((await service.verify(second.key)).ratelimits).toMatchObject([{ remaining: 9 }, { remaining: 9 }]);
    await service.engine.memory.localLimits.sync();
    const shown = await read(first.who);
    expect(shown).toMatchObject({ planId, remaining: 1, permissions: own, roles: [] });
    expect(shown).not.toContainAnyKeys(['ratelimits', 'refill']);
    expect(shown.plan).toMatchObject({
      id: planId,
      refill: { interval: 'daily', amount: 3 },
      ratelimits: [
        { name: 'strict', used: 2 },
        { name: 'local', used: 2 },
        { name: 'named', used: 4 },
      ],
    });
    expect(shown.plan).not.toContainKey('maxKeys');
    const { keys } = await service.ok('/v1/apis.listKeys', first.around);
    expect(keys).toMatchObject([{ id: first.keyId, planId, remaining: 1 }]);
  });

  test('its own fields take precedence, null returns to the plan, and limits merge by name', async () => {
    const refill = (amount: number) => ({ refill: { interval: 'daily', amount } });
    const planId = await plan({ remaining: 50, ...refill(50), ratelimits: [strict('a', 5), strict('b', 5)] });
    const { who, key } = await holder(planId, fields);
    await change(who, { ratelimits: [strict('a', 1)], ...refill(9) });
    expect((await service.verify(key)).ratelimits).toMatchObject([
      { name: 'a', limit: 1, remaining: 0 },
      { name: 'b', limit: 5, remaining: 4 },
    ]);
    expect(await service.verify(key)).toMatchObject({ valid: false, code: 'RATE_LIMITED' });
    expect((await read(who)).plan).toMatchObject({ ratelimits: [{ name: 'b' }] });
    await change(who, { remaining: 2 });
    service.clock.advance(DAY_MS);
    expect(await read(who)).toMatchObject({ remaining: 9, refill: { amount: 9 } });
    await change(who, { ratelimits: null, refill: null });
    expect((await service.verify(key)).ratelimits).toMatchObject([
      { name: 'a', limit: 5 },
      { name: 'b', limit: 5 },
    ]);
    service.clock.advance(DAY_MS);
    expect(await read(who)).toMatchObject({ remaining: 50, plan: { refill: { amount: 50 } } });
    expect(await refused('/v1/keys.updateKey', { ...who, remaining: null })).toEqual([
      400,
      expect.stringContaining('. Set a number, or move to another plan (plans.assign).'),
    ]);
  });

  test('follows every change of the plan, and of the roles that it gives', async () => {
    const planId = await plan({ ratelimits: [local('r', 1)] });
    const { key, who } = await holder(planId, fields);
    expect([(await service.verify(key)).code, (await service.verify(key)).code]).toEqual(['VALID', 'RATE_LIMITED']);
    await update(planId, { ratelimits: [local('r', 3), strict('s', 9)] });
    expect((await service.verify(key)).ratelimits).toMatchObject([{ remaining: 1 }, { remaining: 8 }]);
    await update(planId, { ratelimits: [local('r', 3), strict('s', 5)] });
    expect((await service.verify(key)).ratelimits).toMatchObject([{ remaining: 0 }, { remaining: 3 }]);
    const role = `role of ${planId}`;
    await update(planId, { ratelimits: [], roles: [{ name: role, create: true }] });
    const ask = () => service.verify(key, { authorization: { permissions: 'late' } });
    expect((await ask()).code).toBe('INSUFFICIENT_PERMISSIONS');
    await service.ok('/v1/permissions.setRolePermissions', {
      name: role,
      permissions: [{ name: 'late', create: true }],
    });
    expect(await ask()).toMatchObject({ code: 'VALID', roles: [role] });
    await assign(who, null);
    expect(await ask()).toMatchObject({ code: 'INSUFFICIENT_PERMISSIONS' });
  });
});

describe('a key and an identity', () => {
  test('a key of an identity is put on no plan, and a key on a plan gets no identity', async () => {
    const planId = await plan({ remaining: 5, refill: { interval: 'daily', amount: 5 } });
    const { keyId } = await service.createKey({ externalId: 'somebody' });
    for (const id of [planId, null]) {
      expect(await refused('/v1/plans.assign', { keyId, planId: id })).toEqual([
        412,
        `The key ${keyId} belongs to a customer, and uses the plan of its customer. Name the customer (externalId or identityId) instead of the key.`,
      ]);
    }
    const { who, keyId: on } = await holder(planId);
    const join = () => refused('/v1/keys.updateKey', { keyId: on, externalId: 'somebody' });
    const why = [
      412,
      `The key ${on} is on a plan itself, but a key of a customer uses the plan of its customer. Take it off its plan first: plans.assign with planId null.`,
    ];
    expect(await join()).toEqual(why);
    await change(who, { remaining: 5, refill: { interval: 'daily', amount: 5 } });
    await assign(who, null);
    await assign(who, planId, { when: 'nextRefill' });
    expect(await join()).toEqual(why);
    await change(who, { externalId: null, name: 'still without one' });
    await assign(who, null);
    await service.ok('/v1/keys.updateKey', { keyId: on, externalId: 'somebody' });
    expect((await refused('/v1/plans.assign', { keyId: on, planId }))[0]).toBe(412);
  });

  test('a holder is named once', async () => {
    const planId = await plan();
    const { keyId } = await service.createKey();
    for (const who of [{}, { keyId, externalId: 'somebody' }]) {
      expect(await refused('/v1/plans.assign', { ...who, planId })).toEqual([
        400,
        'give one of keyId, identityId and externalId',
      ]);
    }
    expect((await refused('/v1/plans.assign', { keyId: 'key_1', planId }))[0]).toBe(404);
  });

  test('both count as holders, a deleted key does not', async () => {
    const planId = await plan({ name: 'counted', remaining: 1, refill: { interval: 'daily', amount: 1 } });
    const [one, two] = [
      await holder(planId),
      await holder(null, { remaining: 1, refill: { interval: 'daily', amount: 1 } }),
    ];
    const identity = await ofIdentity.holder(planId);
    await assign(two.who, planId, { when: 'nextRefill' });
    expect(await holdersOf(planId)).toBe(3);
    expect(await refused('/v1/plans.deletePlan', { planId })).toEqual([
      409,
      'The plan "counted" has 3 customers and keys. Move them to another plan first (plans.assign).',
    ]);
    await service.ok('/v1/keys.deleteKey', one.who);
    await service.ok('/v1/apis.deleteKeys', two.around);
    expect(await holdersOf(planId)).toBe(1);
    await ofIdentity.assign(identity.who, null);
    await service.ok('/v1/plans.deletePlan', { planId });
    for (const { keyId } of [one, two]) {
      expect(await refused('/v1/keys.restoreKey', { keyId })).toEqual([
        412,
        `The plan ${planId} of the key ${keyId} was deleted. Create a new key.`,
      ]);
    }
  });
});

describe('what a key keeps', () => {
  const REFILL = { interval: 'daily', mode: 'add' };

  test('a new secret is on the plan, and so is the former one', async () => {
    const planId = await plan({ remaining: 10, ratelimits: [strict('r', 9)] });
    const { key, keyId, who } = await holder(planId);
    const { key: rotated } = await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 });
    expect(await service.verify(key)).toMatchObject({ remaining: 9, ratelimits: [{ remaining: 8 }] });
    expect(await service.verify(rotated as string)).toMatchObject({ remaining: 8, ratelimits: [{ remaining: 7 }] });
    await assign(who, null);
    for (const each of [key, rotated as string]) expect(await service.verify(each)).not.toContainKey('ratelimits');
    // From memory, where no ledger would tell that the key has changed.
    await assign(who, await plan({ ratelimits: [local('in memory', 9)] }));
    for (const each of [key, rotated as string]) expect(await service.verify(each)).toContainKey('ratelimits');
    await assign(who, null);
    for (const each of [key, rotated as string]) expect(await service.verify(each)).not.toContainKey('ratelimits');
  });

  test('restored, it has missed no refill: each follows the rule that was in force then', async () => {
    const planId = await plan({ remaining: 0, refill: { ...REFILL, amount: 1 } });
    const { key, keyId, who } = await holder(planId);
    await service.ok('/v1/keys.deleteKey', who);
    service.clock.advance(2 * DAY_MS);
    await update(planId, { refill: { ...REFILL, amount: 10 } });
    service.clock.advance(3 * DAY_MS);
    await service.ok('/v1/keys.restoreKey', who);
    expect(await holdersOf(planId)).toBe(1);
    expect(await read(who)).toMatchObject({ planId, remaining: 2 + 30 });
    expect(await storedBalance(keyId)).toBe(32);
    service.clock.advance(DAY_MS);
    await service.engine.dueCredits.sweep();
    expect(await storedBalance(keyId)).toBe(42);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 41 });
  });

  test('restored after the instant of a move, it has moved then', async () => {
    const small = await plan({ remaining: 0, refill: { ...REFILL, amount: 1 } });
    const large = await plan({ remaining: 0, refill: { ...REFILL, amount: 100 } });
    const { key, who } = await holder(small);
    await assign(who, large, { when: 'nextRefill' });
    await service.ok('/v1/keys.deleteKey', who);
    service.clock.advance(3 * DAY_MS);
    await service.ok('/v1/keys.restoreKey', who);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 299 });
    expect(await read(who)).toMatchObject({ planId: large, remaining: 299 });
    await service.ok('/v1/plans.deletePlan', { planId: small });
  });

  test('a change of its counter comes after the refills of the plan; a number that is set makes it its own', async () => {
    const planId = await plan({ remaining: 0, refill: { ...REFILL, amount: 5 } });
    const { keyId, who } = await holder(planId);
    service.clock.advance(2 * DAY_MS);
    const adjust = (op: string, value: number) => service.ok('/v1/keys.updateRemaining', { keyId, op, value });
    expect(await adjust('increment', 1)).toMatchObject({ remaining: 11 });
    await assign(who, null);
    expect(await read(who)).not.toContainKey('remaining');
    await assign(who, planId);
    expect(await adjust('set', 70)).toMatchObject({ remaining: 70 });
    await assign(who, null);
    expect(await read(who)).toMatchObject({ remaining: 70 });
  });
});
