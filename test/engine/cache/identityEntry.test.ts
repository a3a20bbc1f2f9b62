import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { BLANK_IDENTITY } from '../../../src/core/blankRecords.ts';
import type { IdentityRecord, LimitRecord } from '../../../src/core/records.ts';
import { IdentityEntry } from '../../../src/engine/cache/identityEntry.ts';
import type { PlanSlot } from '../../../src/engine/cache/planEntry.ts';
import { Plans } from '../../../src/engine/cache/plans.ts';
import type { Records } from '../../../src/storage/port/records.ts';
import { plan } from '../../postgres/conformance/samples.ts';

const PLAN = plan('plan_1', 'pro', {
  remaining: 100,
  limits: ['a', 'b'].map((name) => ({ name, limit: 5, durationMs: 60_000, async: false })),
});

/** A plan that was just read. */
async function readPlan(): Promise<PlanSlot> {
  const records = { findPlans: async () => [{ plan: PLAN, permissions: null }] } as unknown as Records;
  const plans = new Plans(records);
  const slot = plans.slot(PLAN.id);
  await plans.read(slot);
  expect(slot.entry).not.toBeNull();
  return slot;
}

const limit: LimitRecord = { name: 'own', limit: 3, durationMs: 60_000, async: true, account: null };
const refill = {
  interval: 'daily',
  amount: 5,
  day: null,
  weekday: null,
  timezone: null,
  mode: 'restore',
  max: null,
  sinceMs: 0,
};

const identities = fc.record({
  enabled: fc.boolean(),
  revision: fc.integer({ min: 1, max: 9 }),
  credits: fc.constantFrom(null, { refill: null }, { refill: null, metered: true as const }, { refill }),
  account: fc.integer({ min: 1, max: 1e6 }),
  limits: fc.constantFrom([], [limit], [{ ...limit, name: 'a' }], [{ ...limit, autoApply: false }]),
  alerts: fc.constantFrom(null, { creditsBelow: 7, expiresWithinMs: null }),
  planMove: fc.constantFrom(null, { planId: 'plan_2', atMs: 77, balance: 'keep' }),
});

const shown = (entry: IdentityEntry) => ({
  enabled: entry.enabled,
  credits: entry.credits,
  limits: entry.limits,
  alwaysApplied: entry.alwaysApplied,
  planMovesAtMs: entry.planMovesAtMs,
  revision: entry.revision,
  id: entry.id,
});

test('identities that share what their plan gives are as if each had been read alone', async () => {
  const shared = await readPlan();
  await fc.assert(
    fc.asyncProperty(identities, async ({ account, credits, ...fields }) => {
      const own = credits === null ? null : { account, ...credits };
      const record = { ...BLANK_IDENTITY, ...fields, planId: PLAN.id, credits: own } as unknown as IdentityRecord;
      expect(shown(new IdentityEntry(record, shared))).toEqual(shown(new IdentityEntry(record, await readPlan())));
    }),
  );
});

test('windows of the limits of a plan belong to one identity, each to its limit', async () => {
  const slot = await readPlan();
  const [one, other] = ['id_1', 'id_2'].map(
    (id) => new IdentityEntry({ ...BLANK_IDENTITY, id, planId: PLAN.id }, slot),
  );
  const [a, b] = slot.entry?.forIdentities.all ?? [];
  if (one === undefined || other === undefined || a === undefined || b === undefined) throw new Error('not made');
  one.keepWindow(b, 12);
  one.keepWindow(a, 11);
  // A limit with the cost of a request is another object.
  one.keepWindow({ ...a, cost: 5 }, 99);
  expect([one.windowOf(a), one.windowOf(b), one.windowOf({ ...a, cost: 5 })]).toEqual([11, 12, null]);
  expect([other.windowOf(a), other.windowOf(b)]).toEqual([null, null]);
});
