import { type Static, Type } from 'typebox';

import type { Issue } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import type { IdentityPatch, IdentityReference, IdentityView } from '../../engine/admin/identities/identityAdmin.ts';
import { badFields, toMetaText, toNamedLimits, toRefill } from './keyFields.ts';
import { NamedRatelimitObject, RefillObject, toMeta, toNamedRatelimit, toRefillObject } from './keyObject.ts';
import { type NamedRatelimits, type Refill, strict } from './schemas.ts';

/** An identity as it is shown. Fields that are not set are left out. */
export const FullIdentityObject = strict({
  id: Type.String(),
  externalId: Type.String(),
  meta: Type.Object({}),
  ratelimits: Type.Array(NamedRatelimitObject),
  remaining: Type.Optional(Type.Integer()),
  refill: Type.Optional(RefillObject),
});

export function toFullIdentity(view: IdentityView): object {
  const { identity, remaining } = view;
  return {
    id: identity.id,
    externalId: identity.externalId,
    meta: toMeta(identity.meta),
    ratelimits: identity.limits.map(toNamedRatelimit),
    ...(remaining === null ? {} : { remaining }),
    ...toRefillObject(identity.credits, view),
  };
}

/** The fields of an identity that a request can set. */
export interface IdentityFields {
  readonly meta?: object | null;
  readonly ratelimits?: Static<typeof NamedRatelimits> | null;
  readonly remaining?: number | null;
  readonly refill?: Static<typeof Refill> | null;
}

/** Reports its problems together with `issues`. */
export function toIdentityPatch(fields: IdentityFields, before: readonly Issue[] = []): IdentityPatch {
  const issues = [...before];
  const limits = fields.ratelimits === undefined ? undefined : toNamedLimits(fields.ratelimits ?? [], issues);
  const patch: IdentityPatch = {
    ...(fields.meta === undefined ? {} : { meta: toMetaText(fields.meta, issues) }),
    ...(fields.remaining === undefined ? {} : { remaining: fields.remaining }),
    ...(fields.refill === undefined ? {} : { refill: toRefill(fields.refill, issues) }),
    ...(limits === undefined
      ? {}
      : {
          defaultLimit: limits.find(({ name }) => name === DEFAULT_LIMIT_NAME) ?? null,
          otherLimits: limits.filter(({ name }) => name !== DEFAULT_LIMIT_NAME),
        }),
  };
  if (issues.length > 0) throw badFields(issues);
  return patch;
}

/** An identity is named by its id or by its externalId, never by both. */
export function toIdentityReference(body: { identityId?: string; externalId?: string }): IdentityReference {
  const { identityId, externalId } = body;
  if (identityId !== undefined && externalId === undefined) return { id: identityId };
  if (externalId !== undefined && identityId === undefined) return { externalId };
  throw badFields([{ path: 'identityId', message: 'give either identityId or externalId' }]);
}
