import type { TestService } from '../../support/service.ts';

/** Calls about identities, of the service that a test uses. */
export function identityCalls(at: () => { readonly service: TestService }) {
  const create = async (fields: Record<string, unknown> = {}) =>
    (await at().service.ok('/v1/identities.createIdentity', { externalId: 'user_1', ...fields })).identityId as string;

  const get = (identityId: string) => at().service.ok('/v1/identities.getIdentity', { identityId });

  const update = (identityId: string, fields: Record<string, unknown>) =>
    at().service.ok('/v1/identities.updateIdentity', { identityId, ...fields });

  return { create, get, update };
}
