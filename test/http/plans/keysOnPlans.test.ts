import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { type Fields, planCalls } from './planCalls.ts';

const DAY_MS = 86_400_000;

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

beforeEach(() => service.clock.set('2026-03-15T12:00:00Z'));

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
