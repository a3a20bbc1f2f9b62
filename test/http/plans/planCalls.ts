import type { TestService } from '../../support/service.ts';

export type Fields = Record<string, unknown>;

let number = 0;

/** Calls about plans and their holders, which are made apart from all others. */
export function planCalls(at: () => TestService) {
  const plan = async (fields: Fields = {}): Promise<string> => {
    const { planId } = await at().ok('/v1/plans.createPlan', { name: `plan ${++number}`, ...fields });
    return planId as string;
  };
  const update = (planId: string, fields: Fields) => at().ok('/v1/plans.updatePlan', { planId, ...fields });
  const assign = (externalId: string, planId: string | null, fields: Fields = {}) =>
    at().ok('/v1/plans.assign', { externalId, planId, ...fields });
  /** An identity on this plan, with one key. */
  const holder = async (planId: string | null, fields: Fields = {}) => {
    const externalId = `customer ${++number}`;
    const { identityId } = await at().ok('/v1/identities.createIdentity', { externalId, ...fields });
    if (planId !== null) await assign(externalId, planId);
    const { key, keyId } = await at().createKey({ externalId });
    return { externalId, identityId: identityId as string, key, keyId };
  };
  const read = (externalId: string) => at().ok('/v1/identities.getIdentity', { externalId });
  const refused = async (path: string, body: Fields) => {
    const { status, body: answer } = await at().call(path, body);
    return [status, (answer as { error?: { message?: string } }).error?.message];
  };
  return { plan, update, assign, holder, read, refused };
}
