import { expect, test } from 'bun:test';

import { recordFence } from '../../../src/core/fence.ts';
import { describePort } from './adapters.ts';
import { credits, identity, openCredits, permission, plan, role, spendOf, write } from './samples.ts';

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
    { name: 'a', limit: 1, durationMs: 1_000, async: true, autoApply: false },
    { name: 'b', limit: 2, durationMs: 2_000, async: false },
  ],
  roleIds: ['role_1'],
  permissionIds: ['perm_1'],
  maxKeys: 7,
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
