import { MAX_STARS_PER_PATTERN } from '../../core/bounds.ts';
import { hasTooManyStars } from '../../core/identifierPattern.ts';
import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { NamespaceId, OverrideId } from '../shapes/schema/commonFields.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { Identifier, NamespaceFields, toNamespaceReference } from '../shapes/ratelimitFields.ts';
import { ASYNC_WORDS, DURATION_BOUNDS, DURATION_WORDS } from '../shapes/counters/keyLimitFields.ts';
import { Count, DurationMs, Flag, strict } from '../../model/schema/schemas.ts';

export const setOverride = defineRoute({
  path: '/v1/ratelimits.setOverride',
  method: 'POST',
  summary:
    'Override the limit of an identifier, or of all identifiers that match a pattern with `*`: its numbers replace those in the request.',
  description: 'A limit of 0 blocks. The namespace must exist: `ratelimits.limit` creates it on first use.',
  rights: ['ratelimit.<namespaceId>.set_override'],
  request: strict({
    ...NamespaceFields,
    identifier: Identifier,
    limit: field(
      Count,
      'How much may pass in a window, instead of the limit of the request. 0 blocks every call.',
      100,
    ),
    duration: field(DurationMs, `${DURATION_WORDS} ${DURATION_BOUNDS}`, 60000),
    async: optional(Flag, `${ASYNC_WORDS} false when absent.`, false),
  }),
  response: strict({ overrideId: OverrideId, namespaceId: NamespaceId }),
  example: {
    request: { namespaceName: 'email.outbound', identifier: '*@example.com', limit: 100, duration: 60000 },
    response: { overrideId: 'ovr_1Jm8ZtYk7pTt8HmN5wVz4X', namespaceId: 'ns_1Jm8ZtXg3kPp5FhJ9sQw2R' },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { identifier, limit, duration, async = false, ...body }) {
    if (hasTooManyStars(identifier)) {
      const stars = identifier.split('*').length - 1;
      const message = `identifier must have at most ${MAX_STARS_PER_PATTERN} stars (*), got ${stars}`;
      throw badFields([{ path: 'identifier', message }]);
    }
    const numbers = { identifier, limit, durationMs: duration, async };
    return engine.ratelimits.overrides.set(actor, toNamespaceReference(body), numbers);
  },
});
