import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import type { LimitRecord } from '../../../src/core/records.ts';
import type { IdentityRecord } from '../../../src/model/identities.ts';
import type { IdentityEntry } from '../../../src/engine/cache/entries.ts';
import { makeTraits } from '../../../src/engine/cache/identities.ts';
import { record, setup } from './identitySetup.ts';

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
