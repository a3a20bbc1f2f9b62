import { type Static, Type } from 'typebox';

import { MAX_IDENTIFIER_LENGTH, MAX_NAMESPACE_LENGTH, MAX_RESOURCES } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import type { OverrideRecord } from '../../core/records.ts';
import type { NamespaceReference } from '../../engine/standalone/overrideAdmin.ts';
import type { StandaloneRequest } from '../../engine/standalone/standaloneLimits.ts';
import type { LimitResult } from '../../engine/standalone/limitDecider.ts';
import { badFields, toMetaText } from './keyFields.ts';
import { Count, DurationMs, Id, Meta, Name, Positive, strict, words } from './schemas.ts';

export const Identifier = words(1, MAX_IDENTIFIER_LENGTH);
const NamespaceName = words(1, MAX_NAMESPACE_LENGTH);
const DEFAULT_NAMESPACE = 'default';

const Resource = strict({ type: Name, id: Name, name: Type.Optional(Name), meta: Type.Optional(Meta) });

/** One limit to take. `meta` is accepted and has no effect. */
export const LimitRequest = strict({
  namespace: Type.Optional(NamespaceName),
  identifier: Identifier,
  limit: Positive,
  duration: DurationMs,
  cost: Type.Optional(Count),
  async: Type.Optional(Type.Boolean()),
  meta: Type.Optional(Meta),
  resources: Type.Optional(Type.Array(Resource, { maxItems: MAX_RESOURCES })),
});

export const LimitAnswer = strict({
  success: Type.Boolean(),
  limit: Type.Integer(),
  remaining: Type.Integer(),
  reset: Type.Integer(),
});

export const NamespaceFields = { namespaceId: Type.Optional(Id), namespaceName: Type.Optional(NamespaceName) };

export const OverrideObject = strict({
  id: Type.String(),
  namespaceId: Type.String(),
  identifier: Type.String(),
  limit: Type.Integer(),
  duration: Type.Integer(),
  async: Type.Boolean(),
});

/** `path`: the path of the limit in the body, with a dot at its end; empty when the limit is the body. */
export function toStandaloneRequest(
  body: Static<typeof LimitRequest>,
  path: string,
  issues: Issue[],
): StandaloneRequest {
  const { namespace = DEFAULT_NAMESPACE, identifier, limit, duration, cost = 1, async = false, resources = [] } = body;
  for (const [i, { meta }] of resources.entries()) {
    const found: Issue[] = [];
    toMetaText(meta ?? null, found);
    const prefix = `${path}resources[${i}].`;
    issues.push(...found.map((issue) => ({ path: prefix + issue.path, message: prefix + issue.message })));
  }
  return { namespace, identifier, limit, durationMs: duration, cost, async, resources };
}

export function toLimitAnswer({ success, limit, remaining, resetAtMs }: LimitResult): Static<typeof LimitAnswer> {
  return { success, limit, remaining, reset: resetAtMs };
}

/** A namespace is named by its id or by its name, never by both. */
export function toNamespaceReference(body: { namespaceId?: string; namespaceName?: string }): NamespaceReference {
  const { namespaceId, namespaceName } = body;
  if (namespaceId !== undefined && namespaceName === undefined) return { id: namespaceId };
  if (namespaceName !== undefined && namespaceId === undefined) return { name: namespaceName };
  throw badFields([{ path: 'namespaceId', message: 'give either namespaceId or namespaceName' }]);
}

export function toOverrideObject(override: OverrideRecord): Static<typeof OverrideObject> {
  const { id, namespaceId, identifier, limit, durationMs, async } = override;
  return { id, namespaceId, identifier, limit, duration: durationMs, async };
}
