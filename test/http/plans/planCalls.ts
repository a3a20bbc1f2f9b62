import type { TestService } from '../../support/service.ts';

export type Fields = Record<string, unknown>;

/** What can be on a plan. */
export const HOLDERS = ['identity', 'key'] as const;
export type HolderKind = (typeof HOLDERS)[number];

/** How a request names a holder. */
export type Who = { readonly externalId: string } | { readonly keyId: string };

let number = 0;

/** Calls about plans and their holders of one kind, which are made apart from all others. */
export function planCalls(at: () => TestService, kind: HolderKind = 'identity') {
  const plan = async (fields: Fields = {}): Promise<string> => {
    const { planId } = await at().ok('/v1/plans.createPlan', { name: `plan ${++number}`, ...fields });
    return planId as string;
  };
  const update = (planId: string, fields: Fields) => at().ok('/v1/plans.updatePlan', { planId, ...fields });
  const assign = (who: Who, planId: string | null, fields: Fields = {}) =>
    at().ok('/v1/plans.assign', { ...who, planId, ...fields });
  /** A holder on this plan, and a key to verify: its first one, or itself. `id`: of the holder. */
  const holder = async (planId: string | null, fields: Fields = {}) => {
    if (kind === 'key') {
      const { key, keyId, apiId } = await at().createKey(fields);
      if (planId !== null) await assign({ keyId }, planId);
      return { who: { keyId }, id: keyId, key, keyId, around: { apiId } };
    }
    const externalId = `customer ${++number}`;
    const { identityId } = await at().ok('/v1/identities.createIdentity', { externalId, ...fields });
    if (planId !== null) await assign({ externalId }, planId);
    const { key, keyId } = await at().createKey({ externalId });
    return { who: { externalId }, id: identityId as string, key, keyId, around: { externalId } };
  };
  const read = (who: Who) => at().ok(kind === 'key' ? '/v1/keys.getKey' : '/v1/identities.getIdentity', who);
  const change = (who: Who, fields: Fields) =>
    at().ok(kind === 'key' ? '/v1/keys.updateKey' : '/v1/identities.updateIdentity', { ...who, ...fields });
  const refused = async (path: string, body: Fields) => {
    const { status, body: answer } = await at().call(path, body);
    return [status, (answer as { error?: { message?: string } }).error?.message];
  };
  return { plan, update, assign, holder, read, change, refused };
}
