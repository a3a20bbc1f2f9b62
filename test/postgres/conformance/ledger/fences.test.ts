import { expect, test } from 'bun:test';

import {
  ABSENT,
  type Fence,
  noOverrideFence,
  patternsFence,
  permissionFence,
  recordFence,
} from '../../../../src/core/fence.ts';
import type { SpendOutcome } from '../../../../src/core/spend.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import {
  credits,
  idempotency,
  identity,
  key,
  namespace,
  openCredits,
  override,
  permission,
  removal,
  role,
  spendAll,
  spendOf,
  strict,
  write,
  api,
  plan,
} from '../samples.ts';
import type { PlanLimit } from '../../../../src/core/records.ts';
import type { Freshness } from '../../../../src/storage/port/freshness.ts';
import { engineOn } from '../engineOn.ts';
import { verify } from '../events/toldEvents.ts';

const EXACT = override('ovr_1', 'user-7');
const WILD = override('ovr_2', 'user-*');

/** What there is at the beginning. */
const RECORDS: readonly RecordWrite[] = [
  { kind: 'insertIdentity', identity: identity('id_1', 'user', { revision: 1 }) },
  { kind: 'insertKey', key: key('key_1', { revision: 1 }) },
  { kind: 'insertKey', key: key('key_2', { revision: 1 }) },
  { kind: 'insertPermission', permission: permission('perm_1', 'read') },
  { kind: 'insertRole', role: role('role_1', 'editor') },
  { kind: 'insertNamespace', namespace: namespace('ns_1', 'emails') },
  { kind: 'insertOverride', override: EXACT, expectPatterns: 0 },
  { kind: 'insertOverride', override: WILD, expectPatterns: 0 },
];

/** Fences that hold then, and each write that breaks them; the revision that they must have after it. */
const BREAKS: readonly (readonly [string, Fence, RecordWrite, number])[] = [
  [
    'a changed key',
    recordFence('key', 'key_1', 1),
    { kind: 'updateKey', key: key('key_1', { revision: 2 }), expect: 1 },
    2,
  ],
  ['a removed key', recordFence('key', 'key_1', 1), removal('key_1', 1), ABSENT],
  [
    'a key that is deleted with others',
    recordFence('key', 'key_1', 1),
    { kind: 'retireKeys', keys: [{ id: 'key_1', expect: 1, digests: [], words: [] }], deletedAtMs: 1 },
    2,
  ],
  [
    'a key that is removed with others',
    recordFence('key', 'key_1', 1),
    { kind: 'removeKeys', apiId: 'api_1', keys: [{ id: 'key_1', expect: 1, digests: [], words: [] }] },
    ABSENT,
  ],
  [
    'a changed identity',
    recordFence('identity', 'id_1', 1),
    { kind: 'updateIdentity', identity: identity('id_1', 'user', { revision: 2 }), expect: 1 },
    2,
  ],
  [
    'a removed identity',
    recordFence('identity', 'id_1', 1),
    { kind: 'removeIdentity', identityId: 'id_1', expect: 1 },
    ABSENT,
  ],
  [
    'a changed role',
    recordFence('role', 'role_1', 1),
    { kind: 'updateRole', role: role('role_1', 'editor', { revision: 2 }), expect: 1 },
    2,
  ],
  ['a removed role', recordFence('role', 'role_1', 1), { kind: 'removeRole', roleId: 'role_1', expect: 1 }, ABSENT],
  ['a removed permission', permissionFence('perm_1'), { kind: 'removePermission', permissionId: 'perm_1' }, ABSENT],
  [
    'a changed override',
    recordFence('override', 'ovr_1', 0),
    { kind: 'updateOverride', override: { ...EXACT, limit: 0, revision: 1 }, expect: 0, expectPatterns: 1 },
    1,
  ],
  [
    'a removed override',
    recordFence('override', 'ovr_1', 0),
    { kind: 'removeOverride', override: EXACT, expectPatterns: 1 },
    ABSENT,
  ],
  [
    'a new override where there was none',
    noOverrideFence('ns_1', 'user-8'),
    { kind: 'insertOverride', override: override('ovr_3', 'user-8'), expectPatterns: 1 },
    0,
  ],
  [
    'a new pattern',
    patternsFence('ns_1', 1),
    { kind: 'insertOverride', override: override('ovr_3', 'u*'), expectPatterns: 1 },
    2,
  ],
  [
    'a changed pattern',
    patternsFence('ns_1', 1),
    { kind: 'updateOverride', override: { ...WILD, limit: 0, revision: 1 }, expect: 0, expectPatterns: 1 },
    2,
  ],
  ['a removed pattern', patternsFence('ns_1', 1), { kind: 'removeOverride', override: WILD, expectPatterns: 1 }, 2],
];

const fenced = (account: number, ...fences: readonly Fence[]) => ({ ...spendOf(credits(account, 1)), fences });
const statuses = (outcomes: readonly SpendOutcome[]): string[] => outcomes.map(({ status }) => status);

async function balance(storage: Storage, account: number): Promise<number | undefined> {
  return (await storage.ledger.read([account]))[0]?.value;
}

describePort('the fences of a spend', (setup) => {
  test.each(BREAKS)(
    '%s makes it stale, naming the fence, and nothing is taken',
    async (_name, fence, change, after) => {
      const { storage, clock } = setup();
      await write(storage, ...RECORDS);
      const account = await openCredits(storage, 10);
      const again = { ...fence, revision: after };
      const stale = (broken: Fence) => ({ status: 'stale', nowMs: clock.nowMs(), fence: broken }) as const;
      expect((await storage.ledger.spend(fenced(account, fence))).status).toBe('taken');
      expect(await storage.ledger.spend(fenced(account, again))).toEqual(stale(again));
      expect((await write(storage, change)).status).toBe('done');
      expect(await storage.ledger.spend(fenced(account, fence))).toEqual(stale(fence));
      expect((await storage.ledger.spend(fenced(account, again))).status).toBe('taken');
      expect(await balance(storage, account)).toBe(8);
      await setup().reopen();
      expect(await setup().storage.ledger.spend(fenced(account, fence))).toEqual(stale(fence));
      expect((await setup().storage.ledger.spend(fenced(account, again))).status).toBe('taken');
    },
  );

  test.each(BREAKS)('%s makes it stale, whatever was noted about its records before', async (_name, fence, change) => {
    const { storage } = setup();
    await write(storage, ...RECORDS);
    const account = await openCredits(storage, 10);
    const spend = { ...fenced(account, fence), note: { checkedAt: 0 } };
    expect(statuses(await spendAll(storage.ledger, [spend, spend, spend]))).toEqual(['taken', 'taken', 'taken']);
    expect((await write(storage, change)).status).toBe('done');
    expect((await storage.ledger.spend(spend)).status).toBe('stale');
    expect(await balance(storage, account)).toBe(7);
  });

  test.each(BREAKS)('%s at the same time makes it stale from there on', async (_name, fence, change) => {
    const { storage } = setup();
    await write(storage, ...RECORDS);
    const account = await openCredits(storage, 10);
    const spend = { ...fenced(account, fence), note: { checkedAt: 0 } };
    await storage.ledger.spend(spend);
    // Asked for together. The ledger may decide the spend before the change.
    const [, after] = await Promise.all([write(storage, change), storage.ledger.spend(spend)]);
    const isBefore = after.status === 'taken';
    expect((await storage.ledger.spend(spend)).status).toBe('stale');
    expect([after.status, await balance(storage, account)]).toEqual(isBefore ? ['taken', 8] : ['stale', 9]);
  });

  test('a change of another record, also of the same kind, leaves it alone', async () => {
    const { storage } = setup();
    await write(storage, ...RECORDS);
    const account = await openCredits(storage, 10);
    const spend = fenced(
      account,
      recordFence('key', 'key_1', 1),
      recordFence('override', 'ovr_1', 0),
      noOverrideFence('ns_1', 'user-8'),
      patternsFence('ns_1', 1),
    );
    expect((await storage.ledger.spend(spend)).status).toBe('taken');
    await write(
      storage,
      { kind: 'updateKey', key: key('key_2', { revision: 2 }), expect: 1 },
      { kind: 'insertOverride', override: override('ovr_9', 'user-9'), expectPatterns: 1 },
    );
    expect((await storage.ledger.spend(spend)).status).toBe('taken');
  });

  test('of many spends at one time only those with a broken fence are stale; the others are done once', async () => {
    const { storage } = setup();
    await write(storage, ...RECORDS);
    const [shared, own] = [await openCredits(storage, 100), await openCredits(storage, 200)];
    const [good, bad] = [recordFence('key', 'key_1', 1), recordFence('key', 'key_2', 7)];
    const spends = Array.from({ length: 60 }, (_, i) => [
      fenced(shared, good),
      fenced(shared, i % 2 === 0 ? good : bad),
      fenced(own),
      { ...spendOf(credits(shared, 1), strict(own, 0, 1)), fences: [good, bad] },
      { ...fenced(own, good), idempotency: idempotency(`same ${i}`) },
    ]).flat();
    const outcomes = statuses(await spendAll(storage.ledger, spends));
    const expected = Array.from({ length: 60 }, (_, i) => {
      return ['taken', i % 2 === 0 ? 'taken' : 'stale', 'taken', 'stale', 'taken'];
    });
    expect(outcomes).toEqual(expected.flat());
    expect([await balance(storage, shared), await balance(storage, own)]).toEqual([10, 80]);
  });

  test('a broken fence comes before a replay: what may not pass any more is not answered as it was', async () => {
    const { storage } = setup();
    await write(storage, ...RECORDS);
    const account = await openCredits(storage, 10);
    const spend = { ...fenced(account, recordFence('key', 'key_1', 1)), idempotency: idempotency('same') };
    expect((await storage.ledger.spend(spend)).status).toBe('taken');
    expect(await storage.ledger.spend(spend)).toMatchObject({ status: 'taken', replayed: true });
    await write(storage, { kind: 'updateKey', key: key('key_1', { revision: 2 }), expect: 1 });
    expect((await storage.ledger.spend(spend)).status).toBe('stale');
  });

  test('without charges it only tells whether its fences hold', async () => {
    const { storage, clock } = setup();
    await write(storage, ...RECORDS);
    const [good, bad] = [recordFence('key', 'key_1', 1), recordFence('key', 'key_2', 7)];
    const ask = (...fences: readonly Fence[]) => storage.ledger.spend({ charges: [], fences, idempotency: null });
    expect(await ask(good)).toMatchObject({ status: 'taken', charges: [] });
    expect(await ask(good, bad)).toEqual({ status: 'stale', nowMs: clock.nowMs(), fence: bad });
  });

  test('a thousand fences of one spend are all looked at, also beside many spends', async () => {
    const { storage } = setup();
    const many = Array.from({ length: 1000 }, (_, i) => permission(`perm_${i}`, `p${i}`));
    await write(storage, ...many.map((each) => ({ kind: 'insertPermission' as const, permission: each })));
    const account = await openCredits(storage, 100);
    const fences = many.map(({ id }) => permissionFence(id));
    const spends = [0, 1, 2].flatMap(() => [fenced(account, ...fences), fenced(account)]);
    expect(new Set(statuses(await spendAll(storage.ledger, spends)))).toEqual(new Set(['taken']));
    await write(storage, { kind: 'removePermission', permissionId: 'perm_999' });
    expect(await storage.ledger.spend(fenced(account, ...fences))).toMatchObject({ fence: { id: 'perm_999' } });
  });
});

const HOUR_MS = 3_600_000;
const limitOf = (limit: number): PlanLimit => ({ name: 'requests', limit, durationMs: HOUR_MS, async: false });

describePort('a plan that another node has changed', (setup) => {
  test.each([
    ['of a key', { planId: 'plan_1' }, null],
    ['of an identity', { identityId: 'id_1' }, { planId: 'plan_1' }],
  ])(
    '%s decides the next strict spend, although this node has the old plan in memory',
    async (_, ofKey, ofIdentity) => {
      const { storage } = setup();
      const before = plan('plan_1', 'starter', { limits: [limitOf(5)] });
      await write(
        storage,
        { kind: 'insertApi', api: api('api_1') },
        { kind: 'insertPlan', plan: before },
        ...(ofIdentity === null
          ? []
          : [{ kind: 'insertIdentity' as const, identity: identity('id_1', 'customer', ofIdentity) }]),
        { kind: 'insertKey', key: key('key_1', ofKey) },
      );
      // It hears of no change: the writes below do not go through it.
      const deaf: Freshness = Object.assign(Object.create(storage.freshness) as Freshness, {
        mayUseCache: () => true,
        onChange: () => undefined,
      });
      const engine = engineOn({ ...storage, freshness: deaf, close: () => storage.close() });
      const codes = async (): Promise<string[]> => {
        const verdicts = [await verify(engine, 'digest of key_1'), await verify(engine, 'digest of key_1')];
        return verdicts.map(({ code }) => code);
      };
      expect(await codes()).toEqual(['VALID', 'VALID']);
      await write(storage, { kind: 'updatePlan', plan: { ...before, limits: [limitOf(3)], revision: 2 }, expect: 1 });
      expect(await codes()).toEqual(['VALID', 'RATE_LIMITED']);
    },
  );
});
