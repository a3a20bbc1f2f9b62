import { expect, test, describe } from 'bun:test';

import * as fc from 'fast-check';

import { BLANK_KEY, type KeyRecord } from '../../../src/model/keys.ts';
import type { LocalOwner } from '../../../src/engine/localLimits.ts';
import { accountOf, type CachedEntry, type KeyExtras, type KeyEntry } from '../../../src/engine/cache/entries.ts';
import type { AppliedLimit, LimitAccount } from '../../../src/engine/cache/entries.ts';
import { Identities } from '../../../src/engine/cache/identities.ts';
import { KeyRows, RowChecks } from '../../../src/engine/cache/keyRows.ts';
import { Plans } from '../../../src/engine/cache/plans.ts';
import { textReader } from '../../../src/bunPlatform.ts';
import { found, plan } from '../../postgres/conformance/samples.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

const digestOf = (number: number): string => Bun.SHA256.hash(String(number), 'base64');
const idOf = (number: number): string => `key_${String(number).padStart(22, '0')}`;

const BLANK: KeyRecord = { ...BLANK_KEY, id: idOf(0), apiId: 'api_1', revision: 1 };

const refill = {
  interval: 'daily',
  refillDay: null,
  refillWeekday: null,
  timezone: 'UTC',
  amount: 5,
  mode: 'restore',
  max: null,
  sinceMs: 0,
} as const;
const local = { name: 'default', limit: 10, durationMs: 1000, async: true, account: null };

const strict = { ...local, name: 'strict', async: false };

/** Plans that keys can be on themselves: one gives nothing, the other all that a plan can give. */
const PLANS = [
  plan('plan_1', 'free'),
  plan('plan_2', 'pro', {
    remaining: 5,
    refills: [{ fromMs: 0, rule: refill }],
    limits: [
      { ...strict, limit: 7 },
      { ...local, name: 'of the plan' },
      { ...local, name: 'when named', autoApply: false as const },
    ].map(({ account: _account, ...limit }) => limit),
  }),
];
const grants = [{ slug: 'read', permissionId: 'perm_1', role: null }];
const plans = new Plans({
  findPlans: async ([id]) =>
    PLANS.filter((each) => each.id === id).map((each) => ({
      plan: each,
      permissions: each.id === 'plan_1' ? null : { roles: [], direct: [], grants },
    })),
});
await Promise.all(PLANS.map(({ id }) => plans.read(plans.slot(id))));
const sourcesOf = ({ planId }: KeyRecord) => ({
  identityRow: null,
  planSlot: planId === null ? null : plans.slot(planId),
});

/** As they are made: the accounts follow one another, that of the credits first. */
function withAccounts(account: number, { credits, limits, ...fields }: Partial<KeyRecord>): Partial<KeyRecord> {
  let next = account;
  return {
    ...fields,
    credits: credits == null ? null : { ...credits, account: next++ },
    limits: (limits ?? []).map((limit) => (limit.async ? limit : { ...limit, account: next++ })),
  };
}

/** The accounts of its limits as they are spent from. */
function withWholeAccounts(entry: CachedEntry): CachedEntry {
  const whole = (limit: AppliedLimit): AppliedLimit => ({
    ...limit,
    account: accountOf(entry, limit) as unknown as LimitAccount | null,
  });
  return {
    ...entry,
    accountsFrom: 0,
    limits: entry.limits?.map(whole) ?? null,
    alwaysApplied: entry.alwaysApplied?.map(whole) ?? null,
    // Where it stands, and the name that gives it a side, may differ.
    rowNumber: 0,
    extras: { ...(entry.extras ?? NO_EXTRAS), name: null },
  };
}

const NO_EXTRAS: KeyExtras = {
  name: null,
  meta: null,
  environment: null,
  allowedBlocks: null,
  permissions: null,
  secretUntilMs: Infinity,
  planMovesAtMs: Infinity,
};

function packedKeys(): KeyRows {
  return new KeyRows(textReader, new Identities(plans, textReader));
}

/** The same key with a name, so that it has a side. */
function withSide(key: KeyRecord): CachedEntry {
  const keys = packedKeys();
  keys.add('a', found({ ...key, name: 'a name' }), sourcesOf(key));
  return keys.get('a') as CachedEntry;
}

const records = fc.record({
  name: fc.constantFrom(null, 'of its own'),
  apiId: fc.constantFrom('api_1', 'api_2', 'api_3'),
  enabled: fc.boolean(),
  expiresAtMs: fc.option(fc.maxSafeNat()),
  credits: fc.option(
    fc.record({ account: fc.constant(0), refill: fc.constantFrom(null, refill, { ...refill, amount: 7 }) }),
  ),
  limits: fc.constantFrom(
    [],
    [local],
    [local, { ...local, name: 'b', limit: 3 }],
    [strict],
    [strict, local, { ...strict, name: 'c' }],
  ),
  planId: fc.constantFrom(null, 'plan_1', 'plan_2'),
  account: fc.nat({ max: Number.MAX_SAFE_INTEGER - 3 }),
  revision: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
});

type Step =
  | { readonly add: number; readonly fields: Partial<KeyRecord> }
  | { readonly remove: number }
  | { readonly dropOldest: true };

const numbers = fc.nat({ max: 60 });
const fieldsOf = records.map(({ account, ...fields }) => withAccounts(account, fields));
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ add: numbers, fields: fieldsOf }) },
  { weight: 3, arbitrary: fc.record({ remove: numbers }) },
  { weight: 1, arbitrary: fc.record({ dropOldest: fc.constant(true as const) }) },
);

test('keys come out as they went in, with a side and without, whatever is added, replaced, removed and dropped in between', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 200 }), (sequence) => {
      const packed = packedKeys();
      const reference = new Map<string, KeyRecord>();
      for (const step of sequence) {
        if ('add' in step) {
          const digest = digestOf(step.add);
          const added = { ...BLANK, ...step.fields, id: idOf(step.add) };
          packed.add(digest, found(added), sourcesOf(added));
          reference.delete(digest);
          reference.set(digest, added);
        } else if ('remove' in step) {
          packed.delete(digestOf(step.remove));
          reference.delete(digestOf(step.remove));
        } else {
          packed.dropOldest();
          const [oldest] = reference.keys();
          if (oldest !== undefined) reference.delete(oldest);
        }
      }
      expect(packed.size).toBe(reference.size);
      for (let number = 0; number <= 60; number++) {
        const entry = packed.get(digestOf(number));
        const expected = reference.get(digestOf(number));
        expect(entry?.id).toBe(expected?.id);
        if (entry === undefined || expected === undefined) continue;
        expect(withWholeAccounts(entry)).toEqual(withWholeAccounts(withSide(expected)));
        expect(entry.extras?.name ?? null).toBe(expected.name);
        const { apiId, revision, enabled, expiresAtMs } = expected;
        expect(entry).toMatchObject({ apiId, revision, enabled, expiresAtMs: expiresAtMs ?? Infinity });
        const onPlan = PLANS.find(({ id }) => id === expected.planId);
        const given = onPlan?.limits.filter(({ name }) => !expected.limits.some((limit) => limit.name === name)) ?? [];
        const always = [...expected.limits, ...given.filter(({ autoApply }) => autoApply !== false)];
        const shown = ({ name, limit }: { name: string; limit: number }) => [name, limit];
        expect((entry.limits ?? []).map(shown)).toEqual([...expected.limits, ...given].map(shown));
        expect((entry.alwaysApplied ?? []).map(shown)).toEqual(always.map(shown));
        expect(entry.credits?.account).toBe(expected.credits?.account);
        const ofPlan = onPlan?.refills.some(({ rule }) => rule !== null) ? onPlan.refills : null;
        if (entry.credits !== null) {
          expect(entry.credits.refill).toEqual(expected.credits?.refill ?? ofPlan);
        }
      }
    }),
    { seed, numRuns: 200 },
  );
});

test('10,000 packed keys are found through all growing and repacking, and no other digest is', () => {
  const packed = packedKeys();
  const add = (number: number): void => packed.add(digestOf(number), found({ ...BLANK, id: idOf(number) }));
  for (let number = 0; number < 10_000; number++) add(number);
  for (let number = 0; number < 10_000; number += 2) packed.delete(digestOf(number));
  for (let number = 10_000; number < 15_000; number++) add(number);
  expect(packed.size).toBe(10_000);
  for (let number = 0; number < 15_000; number++) {
    const isThere = number >= 10_000 || number % 2 === 1;
    expect(packed.get(digestOf(number))?.id).toBe(isThere ? idOf(number) : undefined);
  }
  for (let number = 15_000; number < 16_000; number++) expect(packed.get(digestOf(number))).toBeUndefined();
});

test('keys that are dropped and read again all the time are found with their plans, and so are those beside them', () => {
  const packed = packedKeys();
  const planOf = (number: number): string | null => (number % 3 === 0 ? 'plan_2' : null);
  const add = (number: number): void => {
    const key = { ...BLANK, id: idOf(number), planId: planOf(number) };
    packed.add(digestOf(number), found(key), sourcesOf(key));
    const entry = packed.get(digestOf(number));
    if (entry?.plan != null) packed.keepLocal(entry, { id: entry.id, windows: [], isForgotten: false });
  };
  for (let number = 0; number < 100; number++) add(number);
  for (let round = 0; round < 20_000; round++) {
    packed.delete(digestOf(round % 10));
    expect(packed.get(digestOf(round % 10))).toBeUndefined();
    add(round % 10);
  }
  expect(packed.size).toBe(100);
  for (let number = 0; number < 100; number++) {
    const entry = packed.get(digestOf(number));
    expect([entry?.id, entry?.plan?.id ?? null]).toEqual([idOf(number), planOf(number)]);
  }
  // A limit of the plan is counted where one of the key would be.
  expect(packed.get(digestOf(9))?.local?.id).toBe(idOf(9));
});

test('the counters that a key remembers are its own, through all growing and repacking', () => {
  const packed = packedKeys();
  const ownerOf = (number: number): LocalOwner => ({ id: idOf(number), windows: [], isForgotten: false });
  const add = (number: number, limits: KeyRecord['limits']): void => {
    packed.add(digestOf(number), found({ ...BLANK, id: idOf(number), limits }));
    const entry = packed.get(digestOf(number));
    if (entry !== undefined) packed.keepLocal(entry, ownerOf(number));
  };
  const locals = (): number => {
    let count = 0;
    for (let number = 0; number < 6_000; number++) {
      const entry = packed.get(digestOf(number));
      if (entry?.local == null) continue;
      expect(entry.local.id).toBe(entry.id);
      count++;
    }
    return count;
  };
  for (let number = 0; number < 2_000; number++) add(number, number % 4 === 0 ? [] : [local]);
  // Those without a limit of their own remember nothing.
  expect(locals()).toBe(1_500);
  for (let number = 0; number < 2_000; number++) if (number % 4 !== 1) packed.delete(digestOf(number));
  expect(locals()).toBe(500);
  // The row that it had remembers nothing for the one that it has.
  packed.add(digestOf(1), found({ ...BLANK, id: idOf(1), limits: [local] }));
  expect(locals()).toBe(499);
  // Packed anew at 2,048 rows: what was remembered is looked up again.
  for (let number = 2_000; number < 2_100; number++) add(number, [local]);
  expect(locals()).toBeLessThan(110);
  for (let number = 2_100; number < 6_000; number++) add(number, [local]);
  expect(locals()).toBeGreaterThan(3_900);
  packed.clear();
  expect(locals()).toBe(0);
});

test('a key with more to it than fits into a row comes out as it went in', () => {
  const more: Partial<KeyRecord>[] = [
    { name: 'a name' },
    { planMove: { planId: 'plan_1', atMs: 1, balance: 'keep' } },
    { meta: '{"a":1}' },
    { environment: 'test' },
    { ipAllowlist: ['10.0.0.0/8'] },
    { id: 'key_short' },
    // What does not follow: a limit that was added later, and what only a spoilt record can have.
    { credits: { account: 5, refill: null }, limits: [{ ...strict, account: 7 }] },
    {
      limits: [
        { ...strict, account: 7 },
        { ...strict, name: 'b', account: 6 },
      ],
    },
    { revision: 2 ** 32 },
    { revision: 1.5 },
  ];
  for (const fields of more) {
    const packed = packedKeys();
    const key = { ...BLANK, ...fields };
    packed.add(digestOf(1), found(key));
    const entry = packed.get(digestOf(1)) as CachedEntry;
    expect(packed.size).toBe(1);
    expect([entry.id, entry.revision, entry.enabled]).toEqual([key.id, key.revision, true]);
    expect(entry.limits?.map((limit) => accountOf(entry, limit)) ?? []).toEqual(
      key.limits.map(({ account }) => account),
    );
    const { name, meta, environment, planMove, ipAllowlist } = key;
    const extras = { name, meta, environment, planMovesAtMs: planMove?.atMs ?? Infinity };
    const isPlain = name === null && meta === null && environment === null && planMove === null;
    if (ipAllowlist.length > 0) expect(entry.extras?.allowedBlocks).toHaveLength(1);
    else if (isPlain) expect(entry.extras).toBeNull();
    else expect(entry.extras).toMatchObject(extras);
  }
  const permissions = { roles: [{ id: 'role_1', name: 'admin' }], direct: [], grants: [] };
  const packed = packedKeys();
  packed.add(digestOf(1), found(BLANK, { permissions, secretUntilMs: 1 }));
  expect(packed.get(digestOf(1))?.extras).toMatchObject({ permissions: { roles: ['admin'] }, secretUntilMs: 1 });
});

test('a key whose identity or plan is missing is refused: nothing would limit it', () => {
  for (const fields of [{ identityId: 'id_1' }, { planId: 'plan_1' }, { identityId: 'id_1', name: 'a name' }]) {
    const packed = packedKeys();
    packed.add(digestOf(1), found({ ...BLANK, ...fields }));
    expect(packed.get(digestOf(1))?.enabled).toBe(false);
  }
});

test('of all keys, the one that was read first is dropped first, whether it has a side or not', () => {
  const packed = packedKeys();
  for (let number = 0; number < 6; number++) {
    packed.add(digestOf(number), found({ ...BLANK, id: idOf(number), name: number % 2 === 0 ? 'a name' : null }));
  }
  for (let number = 0; number < 6; number++) {
    packed.dropOldest();
    const left = [0, 1, 2, 3, 4, 5].filter((each) => packed.get(digestOf(each)) !== undefined);
    expect(left).toEqual([0, 1, 2, 3, 4, 5].slice(number + 1));
  }
});

test('keys that are made alike share their limits, whatever their accounts are', () => {
  const packed = packedKeys();
  for (let number = 1; number <= 20_000; number++) {
    const made = { ...BLANK, id: idOf(number), ...withAccounts(number * 3, { limits: [strict] }) };
    packed.add(digestOf(number), found(made));
  }
  const [first, last] = [packed.get(digestOf(1)), packed.get(digestOf(20_000))];
  expect(last?.limits?.[0]).toBe(first?.limits?.[0] as AppliedLimit);
  expect([first, last].map((entry) => entry && accountOf(entry, entry.limits?.[0] as AppliedLimit))).toEqual([
    3, 60_000,
  ]);
});

/** What a change of roles, or of an api, takes out of a cache of many blocks. */
test('all keys with permissions of their own are dropped when roles change, and all of an api with it; no other is', () => {
  const packed = packedKeys();
  const KEYS = 3_000;
  const permissions = { roles: [], direct: [], grants: [] };
  const hasPermissions = (number: number): boolean => number % 7 === 0;
  const isNamed = (number: number): boolean => number % 3 === 0;
  const isOfOther = (number: number): boolean => number % 5 === 0;
  const entries = Array.from({ length: KEYS }, (_, number) => {
    const fields = { name: isNamed(number) ? 'a name' : null, apiId: isOfOther(number) ? 'api_2' : 'api_1' };
    const key = { ...BLANK, ...fields, id: idOf(number) };
    packed.add(digestOf(number), found(key, hasPermissions(number) ? { permissions } : {}));
    return packed.get(digestOf(number));
  });
  const left = (): number[] => entries.flatMap((_, number) => (packed.get(digestOf(number)) ? [number] : []));
  const all = entries.map((_, number) => number);
  packed.dropAccess();
  expect(left()).toEqual(all.filter((number) => !hasPermissions(number)));
  packed.dropApi('api_2');
  const rest = all.filter((number) => !hasPermissions(number) && !isOfOther(number));
  expect(left()).toEqual(rest);
  expect(packed.size).toBe(rest.length);
  // What has a side keeps its entry, with all that was made for it.
  for (const number of rest.filter(isNamed)) expect(packed.get(digestOf(number))).toBe(entries[number] as CachedEntry);
});

test('a key with a side keeps its entry and what is learned with it; when rows are packed again, it is counted as before', () => {
  const packed = packedKeys();
  const named = { ...BLANK, id: idOf(1), name: 'a name' };
  const get = (): CachedEntry => packed.get(digestOf(1)) as CachedEntry;
  packed.add(digestOf(1), found(named));
  const first = get();
  const owner: LocalOwner = { id: named.id, windows: [], isForgotten: false };
  packed.keepLocal(first, owner);
  expect(get()).toBe(first);
  expect(get().local).toBe(owner);
  for (let number = 2; number < 1_500; number++) {
    packed.add(digestOf(number), found({ ...BLANK, id: idOf(number) }));
    packed.delete(digestOf(number));
  }
  const second = get();
  expect(second).not.toBe(first);
  expect(second.extras?.name).toBe('a name');
  expect([packed.count(first, 0, 0), packed.count(second, 0, 0)]).toEqual([false, true]);
  packed.keepChecked(second, 7);
  expect([packed.checkedAt(get()), packed.size]).toEqual([7, 1]);
});

test('a record that cannot be packed changes nothing', () => {
  const packed = packedKeys();
  packed.add(digestOf(1), found({ ...BLANK, id: idOf(1) }));
  const broken = { ...BLANK, id: idOf(1), ipAllowlist: null as unknown as string[] };
  expect(() => packed.add(digestOf(1), found(broken))).toThrow();
  expect([packed.get(digestOf(1))?.id, packed.size]).toEqual([idOf(1), 1]);
  packed.dropOldest();
  expect(packed.size).toBe(0);
});

test('digests under different peppers are different keys', () => {
  const packed = packedKeys();
  packed.add(`v1:${digestOf(1)}`, found({ ...BLANK, id: idOf(1) }));
  packed.add(`v2:${digestOf(2)}`, found({ ...BLANK, id: idOf(2) }));
  expect(packed.get(`v1:${digestOf(1)}`)?.id).toBe(idOf(1));
  expect(packed.get(`v2:${digestOf(2)}`)?.id).toBe(idOf(2));
});

const revisions = (identity: number, ofPlan: number) =>
  ({ identity: { revision: identity, plan: { revision: ofPlan } }, plan: null }) as unknown as KeyEntry;

describe('what is noted about the records of a packed key', () => {
  test('is kept for its row and these revisions, and a new row has no note', () => {
    const notes = new RowChecks(4);
    notes.put(2, revisions(7, 1), 5);
    expect([1, 2, 3].map((row) => notes.at(row, revisions(7, 1)))).toEqual([0, 5, 0]);
  });

  test('says nothing about another revision of the identity or the plan', () => {
    const notes = new RowChecks(1);
    notes.put(0, revisions(7, 1), 5);
    expect([notes.at(0, revisions(8, 1)), notes.at(0, revisions(7, 2))]).toEqual([0, 0]);
    notes.put(0, revisions(8, 1), 6);
    expect([notes.at(0, revisions(7, 1)), notes.at(0, revisions(8, 1))]).toEqual([0, 6]);
  });

  test('stays when there are more rows', () => {
    const notes = new RowChecks(1);
    notes.put(0, revisions(7, 1), 5);
    notes.grow();
    notes.put(1, revisions(7, 1), 6);
    expect([notes.at(0, revisions(7, 1)), notes.at(1, revisions(7, 1))]).toEqual([5, 6]);
  });
});
