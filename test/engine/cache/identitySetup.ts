import { BLANK_IDENTITY } from '../../../src/model/identities.ts';
import type { IdentityRecord } from '../../../src/model/identities.ts';
import type { AppliedLimit } from '../../../src/engine/cache/entries.ts';
import { Identities } from '../../../src/engine/cache/identities.ts';
import { Plans } from '../../../src/engine/cache/plans.ts';
import type { LocalOwner } from '../../../src/engine/localLimits.ts';
import { textReader } from '../../../src/bunPlatform.ts';
import { plan } from '../../postgres/conformance/samples.ts';

/** Identities, and one plan that was read. `turnPlan` changes it. */
export async function setup() {
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

export const record = (number: number, fields: Partial<IdentityRecord> = {}): IdentityRecord => ({
  ...BLANK_IDENTITY,
  id: `id_${String(number).padStart(22, '0')}`,
  externalId: `customer ${number}`,
  revision: 1,
  ...fields,
});
export const ownerOf = (id: string): LocalOwner => ({ id, windows: [], isForgotten: false });
