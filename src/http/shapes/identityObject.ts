import type { Static } from 'typebox';

import type { Issue } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import type { IdentityPatch, IdentityReference, IdentityView } from '../../engine/admin/identities/identityAdmin.ts';
import { badFields, toMetaText, toNamedLimits, toRefill } from './keyFields.ts';
import { type Refill, RefillObject } from './creditFields.ts';
import { component, field, optional } from './described.ts';
import { EXAMPLE } from './examples.ts';
import { IdentityId } from './idFields.ts';
import { ExternalIdObject, toMeta, toNamedRatelimit, toRefillObject } from './keyObject.ts';
import { type NamedRatelimits, ShownRatelimits } from './rateLimitFields.ts';
import { ExternalId, Meta, strict, Whole } from './schemas.ts';

/** An identity is named by one of these two. */
export const IDENTITY_REFERENCE = {
  identityId: optional(IdentityId, 'The id of the identity. Give either `identityId` or `externalId`.'),
  externalId: optional(
    ExternalId,
    'Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`.',
    EXAMPLE.externalId,
  ),
};

/** An identity as it is shown. Fields that are not set are left out. */
export const FullIdentityObject = component(
  'Identity',
  strict({
    id: IdentityId,
    externalId: ExternalIdObject,
    meta: field(Meta, 'Metadata of the identity. `{}` when none is set.'),
    ratelimits: field(
      ShownRatelimits,
      'The rate limits that the keys of the identity share. One of them counts when a verification names it. `[]` when there are none.',
    ),
    remaining: optional(
      Whole,
      'The credits that the keys of the identity share, as many as are left. Absent when the identity has no counter.',
      1000,
    ),
    refill: optional(RefillObject, 'The refill of the credits. Absent when there is none.'),
  }),
  'An identity: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent.',
  { id: EXAMPLE.identityId, externalId: EXAMPLE.externalId, meta: {}, ratelimits: [] },
);

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
