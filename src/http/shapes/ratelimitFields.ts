import { type Static, Type } from 'typebox';

import { MAX_IDENTIFIER_LENGTH, MAX_NAMESPACE_LENGTH, MAX_RESOURCES } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import type { LimitResult } from '../../engine/ratelimits/limitDecider.ts';
import type { NamespaceReference, StandaloneRequest } from '../../engine/ratelimits/ratelimits.ts';
import { ASYNC_WORDS, DURATION_BOUNDS, DURATION_WORDS, LIMIT_RESULT, LIMIT_WORDS } from './counters/keyLimitFields.ts';
import { badFields, told } from './schema/badFields.ts';
import { NamespaceId, OverrideId } from './schema/commonFields.ts';
import type { OverrideRecord } from '../../model/overrides.ts';
import { toMetaText } from '../../model/plainFields.ts';
import { component, field, former, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import {
  Count,
  DurationMs,
  Flag,
  Meta,
  Name,
  Positive,
  strict,
  Text,
  Whole,
  words,
} from '../../model/schema/schemas.ts';

const IdentifierText = words(1, MAX_IDENTIFIER_LENGTH);
const NamespaceName = words(1, MAX_NAMESPACE_LENGTH);
const DEFAULT_NAMESPACE = 'default';

/** The identifier or pattern of an override. */
export const Identifier = field(
  IdentifierText,
  'The identifier that the override is for, 1 to 256 characters. `*` stands for any characters, at most 10 times. An exact identifier wins over a pattern, a longer pattern over a shorter one.',
  '*@example.com',
);

const Resource = component(
  'LimitedResource',
  strict({
    type: field(Name, 'What kind of thing it is, 1 to 256 characters.', 'mailbox'),
    id: field(Name, 'Your own id of it, 1 to 256 characters.', 'mailbox_77'),
    name: optional(Name, 'A name for people, 1 to 256 characters.', 'Support'),
    meta: optional(Meta),
  }),
  'A thing that a limited call is about. It is written to the audit log with the decision.',
  { type: 'mailbox', id: 'mailbox_77' },
);

/** One limit to take. `meta` is accepted and has no effect. */
export const LimitRequest = component(
  'LimitRequest',
  strict({
    namespace: optional(
      NamespaceName,
      'The name of the namespace that the identifier belongs to, 1 to 128 characters. The first use creates it, if the root key may. `default` when absent.',
      'email.outbound',
    ),
    identifier: field(
      IdentifierText,
      'What is limited, by your own id: a user, an address, an organisation. 1 to 256 characters.',
      'user_1234',
    ),
    limit: field(Positive, `${LIMIT_WORDS} At least 1. An override replaces it.`, 10),
    duration: field(DurationMs, `${DURATION_WORDS} ${DURATION_BOUNDS} An override replaces it.`, 60000),
    cost: optional(Count, 'How much this call takes. 0 asks without taking anything. 1 when absent.', 1),
    async: optional(Flag, `${ASYNC_WORDS} false when absent. An override replaces it.`, false),
    meta: former(Meta, 'Accepted for older programs. It has no effect.'),
    resources: optional(
      Type.Array(Resource, { maxItems: MAX_RESOURCES }),
      'What the call is about, at most 10 things. They are written to the audit log with the decision, before the answer.',
      [{ type: 'mailbox', id: 'mailbox_77' }],
    ),
  }),
  'A standalone limit to take: so much for one identifier in one namespace.',
  { namespace: 'email.outbound', identifier: 'user_1234', limit: 10, duration: 60000 },
);

export const LimitAnswer = component(
  'LimitResult',
  strict({
    success: field(Flag, 'true: the call may pass. false: it may not, and nothing was taken.', true),
    ...LIMIT_RESULT,
  }),
  'Whether a limited call may pass, and what is left.',
  { success: true, limit: 10, remaining: 9, reset: 1767225660000 },
);

/** A namespace is named by one of these two. */
export const NamespaceFields = {
  namespaceId: optional(NamespaceId, 'The id of the namespace. Give either `namespaceId` or `namespaceName`.'),
  namespaceName: optional(
    NamespaceName,
    'The name of the namespace, 1 to 128 characters. Give either `namespaceId` or `namespaceName`.',
    'email.outbound',
  ),
};

export const OverrideObject = component(
  'Override',
  strict({
    id: OverrideId,
    namespaceId: NamespaceId,
    identifier: field(Text, 'The identifier or pattern that the override is for.', '*@example.com'),
    limit: field(Whole, 'How much may pass in a window. 0 blocks every call.', 100),
    duration: field(Whole, DURATION_WORDS, 60000),
    async: field(Flag, ASYNC_WORDS, false),
  }),
  'Numbers that replace those in requests, for some identifiers of a namespace.',
  {
    id: EXAMPLE.overrideId,
    namespaceId: EXAMPLE.namespaceId,
    identifier: '*@example.com',
    limit: 100,
    duration: 60000,
    async: false,
  },
);

/** `path`: the path of the limit in the body, with a dot at its end; empty when the limit is the body. */
export function toStandaloneRequest(
  body: Static<typeof LimitRequest>,
  path: string,
  issues: Issue[],
): StandaloneRequest {
  const { namespace = DEFAULT_NAMESPACE, identifier, limit, duration, cost = 1, async = false, resources = [] } = body;
  for (const [i, { meta }] of resources.entries()) {
    toMetaText(meta ?? null, (problem) => told(issues)(`${path}resources[${i}].meta`, problem));
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
