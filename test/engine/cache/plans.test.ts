import { expect, test } from 'bun:test';

import { Plans } from '../../../src/engine/cache/plans.ts';
import type { KeyPermissions, PlanWithPermissions } from '../../../src/storage/port/records.ts';
import { plan } from '../../postgres/conformance/samples.ts';

const PLAN = plan('plan_1', 'pro');

function setup(found: readonly PlanWithPermissions[], whileReading: () => void = () => {}) {
  let reads = 0;
  const plans = new Plans({
    findPlans: async () => {
      reads++;
      whileReading();
      return found;
    },
  });
  return { plans, slot: plans.slot('plan_1'), reads: () => reads };
}

test('a plan is read once for all who wait, and again after it has changed', async () => {
  const { plans, slot, reads } = setup([{ plan: PLAN, permissions: null }]);
  await Promise.all([plans.read(slot), plans.read(slot)]);
  await plans.read(slot);
  expect([reads(), slot.entry?.revision, plans.slot('plan_1') === slot]).toEqual([1, 1, true]);
  plans.drop('plan_1');
  expect(slot.entry).toBeNull();
  await plans.read(slot);
  expect(reads()).toBe(2);
});

test('what is read of a plan that changes meanwhile is not used', async () => {
  let changes = 2;
  const { plans, slot, reads } = setup([{ plan: PLAN, permissions: null }], () => {
    if (changes-- > 0) plans.drop('plan_1');
  });
  await plans.read(slot);
  expect([reads(), slot.entry?.revision]).toEqual([3, 1]);
  changes = Infinity;
  plans.drop('plan_1');
  expect(plans.read(slot)).rejects.toThrow('The plan plan_1 keeps changing; nothing was spent. Try again.');
});

test('a plan that does not exist refuses its holders; one with a role that cannot be read says so', async () => {
  const gone = setup([]);
  await gone.plans.read(gone.slot);
  expect(gone.slot.entry).toMatchObject({ record: null, revision: -1 });
  const broken: KeyPermissions = {
    roles: [],
    direct: [],
    grants: [],
    broken: [{ id: 'role_1', name: 'r', reason: 'permissions cannot be read' }],
  };
  const spoilt = setup([{ plan: PLAN, permissions: broken }]);
  expect(spoilt.plans.read(spoilt.slot)).rejects.toThrow(
    'The stored plan plan_1 cannot be read: role_1: permissions cannot be read.',
  );
});

test('a change of roles drops the plans that give some, and those that are being read', async () => {
  const plain = setup([{ plan: PLAN, permissions: null }]);
  await plain.plans.read(plain.slot);
  plain.plans.dropAccess();
  expect(plain.slot.entry).not.toBeNull();
  const giving = setup([{ plan: PLAN, permissions: { roles: [], direct: [], grants: [] } }]);
  await giving.plans.read(giving.slot);
  giving.plans.dropAccess();
  expect(giving.slot.entry).toBeNull();
});
