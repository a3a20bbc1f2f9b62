import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { AppliedLimit } from '../../../src/engine/cache/entries.ts';
import { Identities, makeTraits } from '../../../src/engine/cache/identities.ts';
import type { IdentityEntry } from '../../../src/engine/cache/entries.ts';
import type { LimitRecord } from '../../../src/core/records.ts';
import { type IdentityRecord, BLANK_IDENTITY } from '../../../src/model/identities.ts';
import { Plans } from '../../../src/engine/cache/plans.ts';
import type { LocalOwner } from '../../../src/engine/localLimits.ts';
import { textReader } from '../../../src/bunPlatform.ts';
import { plan } from '../../postgres/conformance/samples.ts';

/** Identities, and one plan that was read. `turnPlan` changes it. */
async function setup() {
  let revision = 1;
  const plans = new Plans({
    findPlans: async ([id = '']) => {
      const limits = ['a', 'b'].map((name) => ({ name, limit: 4 + revision, durationMs: 60_000, async: false }));
      return [{ plan: plan(id, id, { revision, remaining: 100, limits }), permissions: null }];
    },
  });
  const slot = plans.slot('plan_1');
  await plans.read(slot);
  const turnPlan = async () => {
    revision++;
    plans.drop('plan_1');
    await plans.read(slot);
  };
  const limits = (): readonly AppliedLimit[] => slot.entry?.forIdentities.all ?? [];
  return { identities: new Identities(plans, textReader), plans, slot, turnPlan, limits };
}

const record = (number: number, fields: Partial<IdentityRecord> = {}): IdentityRecord => ({
  ...BLANK_IDENTITY,
  id: `id_${String(number).padStart(22, '0')}`,
  externalId: `customer ${number}`,
  revision: 1,
  ...fields,
});
const ownerOf = (id: string): LocalOwner => ({ id, windows: [], isForgotten: false });

describe('an entry that is still in use when its identity changes', () => {
  const renamed = record(1, { externalId: 'renamed', revision: 2, planId: 'plan_1' });
  const other = record(2, { planId: 'plan_1' });
  const changes: [what: string, (identities: Identities, row: number) => void][] = [
    ['is read again', (identities) => void identities.keep(renamed)],
    ['is dropped', (identities) => identities.drop(record(1).id)],
    ['gives its row to another', (identities, row) => [identities.release(row), identities.keep(other)]],
    ['goes with all others', (identities) => [identities.clear(), identities.keep(other)]],
  ];

  test.each(changes)('says what was true, and leaves no trace when the identity %s', async (_what, change) => {
    const { identities, limits } = await setup();
    const row = identities.keep(record(1, { planId: 'plan_1' }));
    const entry = identities.at(row) as IdentityEntry;
    expect(entry.isPresent).toBe(true);
    for (const each of limits()) entry.keepWindow(each, 10);
    entry.keepLocal(ownerOf(entry.id));
    change(identities, row);
    expect([entry.isPresent, entry.id, entry.externalId]).toEqual([false, record(1).id, 'customer 1']);
    expect(entry.local).toBeNull();
    for (const each of limits()) entry.keepWindow(each, 11);
    entry.keepLocal(ownerOf(entry.id));
    entry.keepUsualEnd(`"${entry.id} ${entry.externalId}"`);
    // For itself it knows its windows: its request has opened them.
    expect(limits().map((each) => entry.windowOf(each))).toEqual([11, 11]);
    const now = identities.at(row);
    expect([now?.local ?? null, now?.usualEnd ?? null]).toEqual([null, null]);
    expect(limits().map((each) => now?.windowOf(each) ?? null)).toEqual([null, null]);
    now?.keepLocal(ownerOf('another'));
    expect(entry.local).toBeNull();
  });

  test('keeps its text for itself: an entry that is kept for long does not make it again', async () => {
    const { identities } = await setup();
    const entry = identities.at(identities.keep(record(1))) as IdentityEntry;
    entry.keepUsualEnd(`the end of ${entry.externalId}, ${entry.id}`);
    expect(entry.usualEnd).toBe(`the end of customer 1, ${record(1).id}`);
  });
});

describe('an identity that is read again', () => {
  test('is an object or a row, as its newest record says', async () => {
    const { identities, slot } = await setup();
    const row = identities.keep(record(1, { meta: '{"a":1}', planId: 'plan_1' }));
    expect(identities.keep(record(1, { revision: 2, externalId: 'renamed' }))).toBe(row);
    const now = identities.at(row);
    expect([now?.meta, now?.externalId, now?.revision, now?.kept, now?.plan]).toEqual([null, 'renamed', 2, null, null]);
    expect(identities.planSlotOf({ identityRow: row, planSlot: null })).toBeNull();
    identities.keep(record(1, { revision: 3, meta: '{"b":1}', planId: 'plan_1' }));
    expect([identities.at(row)?.meta, identities.planSlotOf({ identityRow: row, planSlot: null })]).toEqual([
      '{"b":1}',
      slot,
    ]);
  });

  test('stays when an older entry of it is found to be out of date', async () => {
    const { identities } = await setup();
    const row = identities.keep(record(1, { planId: 'plan_1' }));
    const before = identities.at(row) as IdentityEntry;
    identities.keep(record(1, { revision: 2, planId: 'plan_1' }));
    identities.dropEntry(before);
    expect(identities.at(row)?.revision).toBe(2);
    identities.dropEntry(identities.at(row) as IdentityEntry);
    expect(identities.at(row)).toBeNull();
    // Its plan is not what must be read: the identity is.
    expect(identities.planSlotOf({ identityRow: row, planSlot: null })).toBeNull();
  });
});

describe('what an identity learns', () => {
  test('belongs to it alone, each window to its limit, and is there for the next request', async () => {
    const { identities, limits } = await setup();
    const [one, other] = [1, 2].map((number) => identities.keep(record(number, { planId: 'plan_1' }))) as [
      number,
      number,
    ];
    const entry = identities.at(one) as IdentityEntry;
    const [a, b] = limits() as [AppliedLimit, AppliedLimit];
    entry.keepWindow(b, 12);
    entry.keepWindow(a, 11);
    // A limit with the cost of a request is another object.
    entry.keepWindow({ ...a, cost: 5 }, 99);
    entry.keepLocal(ownerOf(entry.id));
    const text = `the usual end of ${entry.externalId}, which is ${entry.id}`;
    entry.keepUsualEnd(text);
    for (const each of [entry, identities.at(one)]) {
      expect([each?.windowOf(a), each?.windowOf(b), each?.windowOf({ ...a, cost: 5 })]).toEqual([11, 12, null]);
    }
    const next = identities.at(one);
    expect([next?.local?.id, next?.usualEnd, next?.id, next?.externalId]).toEqual([
      record(1).id,
      text,
      record(1).id,
      'customer 1',
    ]);
    expect(identities.idOf(one)).toBe(record(1).id);
    const second = identities.at(other);
    expect([second?.windowOf(a), second?.windowOf(b), second?.local, second?.usualEnd]).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  test('of its windows is forgotten when its plan changes; the rest stays', async () => {
    const { identities, limits, turnPlan } = await setup();
    const row = identities.keep(record(1, { planId: 'plan_1' }));
    const before = identities.at(row) as IdentityEntry;
    for (const each of limits()) before.keepWindow(each, 11);
    before.keepLocal(ownerOf(before.id));
    await turnPlan();
    expect(before.isPresent).toBe(false);
    const after = identities.at(row);
    expect(limits().map((each) => after?.windowOf(each))).toEqual([null, null]);
    expect(after?.local?.id).toBe(before.id);
    after?.keepWindow(limits()[0] as AppliedLimit, 22);
    expect(limits().map((each) => identities.at(row)?.windowOf(each))).toEqual([22, null]);
  });

  test('includes a text that is too long for its row', async () => {
    const { identities } = await setup();
    const row = identities.keep(record(1));
    const text = `customer 1 ${record(1).id}`.padEnd(300);
    identities.at(row)?.keepUsualEnd(text);
    expect([identities.at(row)?.usualEnd, identities.at(row)?.externalId]).toEqual([text, 'customer 1']);
    identities.release(row);
    expect([identities.keep(record(2)), identities.at(row)?.usualEnd]).toEqual([row, null]);
  });
});

test('an identity is not there while its plan must be read', async () => {
  const { identities, plans, slot } = await setup();
  const rows = [record(1, { planId: 'plan_1' }), record(2, { planId: 'plan_1', meta: '{"a":1}' })].map((each) =>
    identities.keep(each),
  );
  expect(rows.map((row) => identities.at(row)?.plan)).toEqual([slot.entry, slot.entry]);
  plans.drop('plan_1');
  expect(rows.map((row) => identities.at(row))).toEqual([null, null]);
  expect(rows.map((row) => identities.planSlotOf({ identityRow: row, planSlot: null }))).toEqual([slot, slot]);
  await plans.read(slot);
  expect(rows.map((row) => identities.at(row)?.plan)).toEqual([slot.entry, slot.entry]);
});

test('10,000 identities are found while others come and go, and their rows are used again', async () => {
  const { identities } = await setup();
  const rows = Array.from({ length: 10_000 }, (_, number) => identities.keep(record(number)));
  for (let number = 0; number < 10_000; number += 2) identities.release(rows[number] as number);
  expect(identities.size).toBe(5_000);
  for (let number = 10_000; number < 15_000; number++) rows[number] = identities.keep(record(number));
  expect(Math.max(...rows.slice(10_000))).toBeLessThan(10_000);
  for (let number = 0; number < 15_000; number++) {
    if (number >= 10_000 || number % 2 === 1)
      expect(identities.at(rows[number] as number)?.externalId).toBe(`customer ${number}`);
  }
});

test('each of many plans has its own identities, and however many there were, none of them becomes an object', async () => {
  const { identities, plans } = await setup();
  const ids = Array.from({ length: 70_000 }, (_, number) => `plan_${number}`);
  await Promise.all(ids.map((id) => plans.read(plans.slot(id))));
  const rows = ids.map((planId, number) => identities.keep(record(number, { planId })));
  const entries = rows.map((row) => identities.at(row));
  expect(entries.map((entry) => entry?.plan?.id)).toEqual(ids);
  expect(entries.filter((entry) => entry?.kept !== null)).toEqual([]);
});

test('a row is not released by more keys than refer to it: it would belong to two identities', async () => {
  const { identities } = await setup();
  const row = identities.keep(record(1));
  identities.release(row);
  expect(() => identities.release(row)).toThrow('no key refers to the identity in row 0');
  const [one, other] = [identities.keep(record(2)), identities.keep(record(3))];
  expect([identities.at(one)?.id, identities.at(other)?.id]).toEqual([record(2).id, record(3).id]);
});

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

const limit: LimitRecord = { name: 'own', limit: 3, durationMs: 60_000, async: true, account: null };
const refill = {
  interval: 'daily',
  amount: 5,
  refillDay: null,
  refillWeekday: null,
  timezone: 'UTC',
  mode: 'restore',
  max: null,
  sinceMs: 0,
} as const;

/** Identities that fit into a row, and others that do not, for each reason. */
const fields = fc
  .record({
    externalId: fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('x'.repeat(80), 'x'.repeat(300), 'a "b" \\', 'ü'),
    ),
    meta: fc.constantFrom(null, null, '{"a":1}'),
    enabled: fc.boolean(),
    revision: fc.oneof(fc.integer({ min: 1, max: 2 ** 32 }), fc.constant(2 ** 32 + 1)),
    credits: fc.constantFrom(
      null,
      { account: 0, refill: null },
      { account: 0, refill: null, metered: true as const },
      { account: 0, refill },
    ),
    account: fc.maxSafeNat(),
    limits: fc.constantFrom([], [], [limit], [{ ...limit, name: 'a' }], [{ ...limit, autoApply: false as const }]),
    alerts: fc.constantFrom(null, null, { creditsBelow: 7 }),
    planId: fc.constantFrom('plan_1', null),
    planMove: fc.constantFrom(null, null, { planId: 'plan_2', atMs: 77, balance: 'keep' as const }),
  })
  .map(({ account, ...each }) => ({ ...each, credits: each.credits && { ...each.credits, account } }));

const shown = (entry: IdentityEntry | null) =>
  entry && {
    id: entry.id,
    externalId: entry.externalId,
    meta: entry.meta,
    revision: entry.revision,
    enabled: entry.enabled,
    credits: entry.credits,
    limits: entry.limits,
    alwaysApplied: entry.alwaysApplied,
    planMovesAtMs: entry.planMovesAtMs,
    plan: entry.plan,
  };

type Steps = readonly (
  | { keep: number; fields: Partial<IdentityRecord> }
  | { release: number }
  | { drop: number }
  | { turn: true }
)[];
const numbers = fc.nat({ max: 12 });
const steps: fc.Arbitrary<Steps> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ keep: numbers, fields }) },
    { weight: 4, arbitrary: fc.record({ release: numbers }) },
    { weight: 1, arbitrary: fc.record({ drop: numbers }) },
    { weight: 1, arbitrary: fc.record({ turn: fc.constant(true as const) }) },
  ),
  { maxLength: 80 },
);

test('an identity comes out as its newest record with its plan says, as long as a key refers to it', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { identities, slot, turnPlan } = await setup();
      const known = new Map<number, { row: number; keys: number; record: IdentityRecord | null }>();
      for (const step of sequence) {
        if ('turn' in step) await turnPlan();
        else if ('keep' in step) {
          const read = record(step.keep, step.fields);
          const before = known.get(step.keep);
          const row = identities.keep(read);
          if (before !== undefined) expect(row).toBe(before.row);
          const newest = (before?.record?.revision ?? -1) < read.revision ? read : (before?.record ?? read);
          known.set(step.keep, { row, keys: (before?.keys ?? 0) + 1, record: newest });
        } else if ('drop' in step) {
          identities.drop(record(step.drop).id);
          const dropped = known.get(step.drop);
          if (dropped !== undefined) dropped.record = null;
        } else {
          const one = known.get(step.release);
          if (one === undefined) continue;
          identities.release(one.row);
          if (--one.keys === 0) known.delete(step.release);
        }
      }
      expect(identities.size).toBe(known.size);
      for (const [number, { row, record: newest }] of known) {
        expect(identities.idOf(row)).toBe(record(number).id);
        const entry = identities.at(row);
        if (newest === null) {
          expect(entry).toBeNull();
          continue;
        }
        const { id, externalId, meta, revision, credits, planId } = newest;
        const traits = makeTraits(newest, planId === null ? null : slot);
        const { planSlot: _slot, ...given } = traits;
        const held = credits === null ? null : { ...given.credits, account: credits.account };
        expect(shown(entry)).toEqual({ id, externalId, meta, revision, ...given, credits: held } as never);
      }
    }),
    { seed, numRuns: 200 },
  );
});
