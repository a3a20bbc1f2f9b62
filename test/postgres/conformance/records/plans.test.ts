import { expect, test } from 'bun:test';

import { recordFence } from '../../../../src/core/fence.ts';
import { SYSTEM } from '../../../../src/engine/admin/change/requireRight.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { api, credits, identity, key, openCredits, permission, plan, role, spendOf, write } from '../samples.ts';

const FULL = plan('plan_1', 'pro', {
  meta: '{"price":29}',
  remaining: 1_000,
  refills: [
    { fromMs: 1, rule: null },
    {
      fromMs: 2,
      rule: {
        interval: 'weekly',
        amount: 5,
        refillDay: null,
        refillWeekday: 3,
        timezone: 'Europe/Berlin',
        mode: 'add',
        max: 9,
        sinceMs: 2,
      },
    },
  ],
  limits: [
    { name: 'a', limit: 1, durationMs: 1_000, async: true, autoApply: false, notify: true },
    { name: 'b', limit: 2, durationMs: 2_000, async: false },
  ],
  roleIds: ['role_1'],
  permissionIds: ['perm_1'],
  maxKeys: 7,
  alerts: { expiresWithinMs: 60_000, creditsBelow: 100 },
  updatedAtMs: 10_000,
});

describePort('plans', (setup) => {
  test('a plan is stored and found as it was written, with its roles and permissions, until it is removed', async () => {
    const { storage } = setup();
    const { records } = storage;
    await write(
      storage,
      { kind: 'insertPermission', permission: permission('perm_1', 'documents.read') },
      { kind: 'insertRole', role: role('role_1', 'reader') },
      { kind: 'insertPlan', plan: FULL },
      { kind: 'insertPlan', plan: plan('plan_2', 'free') },
    );
    expect([await records.findPlan('plan_1'), await records.findPlanByName('pro')]).toEqual([FULL, FULL]);
    expect(await records.findPlans(['plan_1', 'plan_3'])).toMatchObject([
      { plan: FULL, permissions: { roles: [{ name: 'reader' }], grants: [{ slug: 'documents.read' }] } },
    ]);
    expect(await records.listPlans({ limit: 1, after: null })).toMatchObject({ total: 2, cursor: 'plan_1' });
    expect((await records.listPlans({ limit: 1, after: 'plan_1' })).items).toEqual([plan('plan_2', 'free')]);
    expect([await records.countPlans(9), await records.countPlans(1)]).toEqual([2, 1]);
    const second = { ...FULL, name: 'max', revision: 2 };
    expect((await write(storage, { kind: 'updatePlan', plan: second, expect: 2 })).status).toBe('stale');
    expect((await write(storage, { kind: 'updatePlan', plan: second, expect: 1 })).status).toBe('done');
    expect((await write(storage, { kind: 'insertPlan', plan: plan('plan_4', 'max') })).status).toBe('stale');
    expect((await write(storage, { kind: 'removePlan', planId: 'plan_1', expect: 1 })).status).toBe('stale');
    expect((await write(storage, { kind: 'removePlan', planId: 'plan_1', expect: 2 })).status).toBe('done');
    expect(await records.findPlan('plan_1')).toBeNull();
  });

  test('holders are those on it and those that move to it, each once; with one it is not removed', async () => {
    const { storage } = setup();
    const planMove = (planId: string) => ({ planId, atMs: 5, balance: 'keep' as const });
    await write(
      storage,
      ...['plan_1', 'plan_2'].map((id) => ({ kind: 'insertPlan' as const, plan: plan(id, id) })),
      ...[
        identity('id_1', 'a', { planId: 'plan_1' }),
        identity('id_2', 'b', { planId: 'plan_1', planMove: planMove('plan_2') }),
        identity('id_3', 'c', { planId: 'plan_1', planMove: planMove('plan_1') }),
        identity('id_4', 'd'),
      ].map((each) => ({ kind: 'insertIdentity' as const, identity: each })),
    );
    const { records } = storage;
    expect((await records.findIdentityById('id_2'))?.planMove).toEqual(planMove('plan_2'));
    expect([await records.countHolders('plan_1'), await records.countHolders('plan_2')]).toEqual([3, 1]);
    const remove = () => write(storage, { kind: 'removePlan', planId: 'plan_2', expect: 1 });
    expect((await remove()).status).toBe('stale');
    const stays = identity('id_2', 'b', { planId: 'plan_1', revision: 1 });
    await write(storage, { kind: 'updateIdentity', identity: stays, expect: 0 });
    expect((await remove()).status).toBe('done');
  });

  test('keys are holders too, until they are deleted', async () => {
    const { storage } = setup();
    const { records } = storage;
    const planMove = { planId: 'plan_2', atMs: 5, balance: 'reset' as const };
    const keys = [
      key('key_1', { planId: 'plan_1' }),
      key('key_2', { planId: 'plan_1', planMove }),
      key('key_3', { planMove: { ...planMove, planId: null } }),
      key('key_4', { planId: 'plan_1', generation: 1 }),
    ];
    await write(
      storage,
      { kind: 'insertApi', api: api('api_1') },
      ...['plan_1', 'plan_2'].map((id) => ({ kind: 'insertPlan' as const, plan: plan(id, id) })),
      { kind: 'insertIdentity', identity: identity('id_1', 'a', { planId: 'plan_1' }) },
      ...keys.map((each) => ({ kind: 'insertKey' as const, key: each })),
    );
    for (const each of keys.slice(0, 3)) expect(await records.findKey(each.id)).toMatchObject({ key: each });
    const counts = async () => [await records.countHolders('plan_1'), await records.countHolders('plan_2')];
    // The last key is one of another generation.
    expect(await counts()).toEqual([3, 1]);
    const remove = () => write(storage, { kind: 'removePlan', planId: 'plan_2', expect: 1 });
    expect((await remove()).status).toBe('stale');
    const deleted = key('key_2', { planId: 'plan_1', planMove, deletedAtMs: 7, revision: 2 });
    await write(storage, { kind: 'updateKey', key: deleted, expect: 1 });
    expect(await counts()).toEqual([2, 0]);
    expect((await remove()).status).toBe('done');
    const moved = key('key_1', { revision: 2 });
    expect((await write(storage, { kind: 'updateKey', key: moved, expect: 1 })).status).toBe('done');
    expect(await records.findKey('key_1')).toMatchObject({ key: moved });
    expect(await counts()).toEqual([1, 0]);
  });

  test('a key joins a plan, or the plan is removed, never both', async () => {
    const { storage } = setup();
    const numbers = Array.from({ length: 10 }, (_, i) => i);
    await write(
      storage,
      ...numbers.flatMap((i) => [
        { kind: 'insertPlan' as const, plan: plan(`plan_${i}`, `${i}`) },
        { kind: 'insertKey' as const, key: key(`key_${i}`) },
      ]),
    );
    const outcomes = await Promise.all(
      numbers.map(async (i) => {
        const planId = `plan_${i}`;
        const joined = key(`key_${i}`, { planId, revision: 2 });
        const both = await Promise.all([
          write(storage, { kind: 'updateKey', key: joined, expect: 1 }, { kind: 'joinPlan', planId, expect: 1 }),
          write(storage, { kind: 'removePlan', planId, expect: 1 }),
        ]);
        return both.map(({ status }) => status).toSorted();
      }),
    );
    expect(outcomes).toEqual(numbers.map(() => ['done', 'stale']));
  });

  test('an identity joins a plan, or the plan is removed, never both', async () => {
    const { storage } = setup();
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    await write(
      storage,
      ...numbers.flatMap((i) => [
        { kind: 'insertPlan' as const, plan: plan(`plan_${i}`, `${i}`) },
        { kind: 'insertIdentity' as const, identity: identity(`id_${i}`, `user-${i}`) },
      ]),
    );
    const outcomes = await Promise.all(
      numbers.map(async (i) => {
        const planId = `plan_${i}`;
        const joined = identity(`id_${i}`, `user-${i}`, { planId, revision: 1 });
        const both = await Promise.all([
          write(
            storage,
            { kind: 'updateIdentity', identity: joined, expect: 0 },
            { kind: 'joinPlan', planId, expect: 1 },
          ),
          write(storage, { kind: 'removePlan', planId, expect: 1 }),
        ]);
        return both.map(({ status }) => status).toSorted();
      }),
    );
    expect(outcomes).toEqual(numbers.map(() => ['done', 'stale']));
  });

  test('new customers are on the default plan with its credits, each once, while it is changed', async () => {
    const { storage } = setup();
    const newIdentities = { mustExist: false, defaultPlan: 'free' };
    const engine = engineOn(storage, { newIdentities });
    const planId = await engine.plans.create(SYSTEM, 'free', { remaining: 5, maxKeys: 4 });
    const { id: apiId } = await engine.apis.create(SYSTEM, 'an api');
    const names = Array.from({ length: 4 }, (_, i) => `customer ${i}`);
    const fields = { apiId, prefix: null, byteLength: null };
    await Promise.all([
      ...names.flatMap((externalId) => [1, 2, 3].map(() => engine.keys.create(SYSTEM, { ...fields, externalId }))),
      ...[6, 7, 8].map((remaining) => engine.plans.update(SYSTEM, planId, { remaining })),
      engine.keys.createMany(
        SYSTEM,
        names.map((externalId) => ({ ...fields, externalId })),
      ),
    ]);
    for (const externalId of names) {
      const { identity: made, keys, remaining } = await engine.identities.get(SYSTEM, { externalId });
      expect([made.planId, keys]).toEqual([planId, 4]);
      expect([5, 6, 7, 8]).toContain(remaining as number);
    }
    const refused = engine.keys.create(SYSTEM, { ...fields, externalId: 'customer 0' });
    expect(await refused.then(String, String)).toContain('already has 4 of 4 keys');
    expect((await engine.plans.get(SYSTEM, planId)).holders).toBe(4);
  });

  test('a spend that was decided under an older plan, or under one that is gone, is stale', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertPlan', plan: plan('plan_1', 'pro') });
    const account = await openCredits(storage, 5);
    const spend = async (revision: number) => {
      const fences = [recordFence('plan', 'plan_1', revision)];
      return (await storage.ledger.spend({ ...spendOf(credits(account, 1)), fences })).status;
    };
    expect(await spend(1)).toBe('taken');
    await write(storage, { kind: 'updatePlan', plan: plan('plan_1', 'pro', { revision: 2 }), expect: 1 });
    expect([await spend(1), await spend(2)]).toEqual(['stale', 'taken']);
    await write(storage, { kind: 'removePlan', planId: 'plan_1', expect: 2 });
    expect([await spend(2), await spend(-1)]).toEqual(['stale', 'taken']);
  });
});
