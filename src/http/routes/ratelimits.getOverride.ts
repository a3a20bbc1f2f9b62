import { defineRoute } from './route.ts';
import {
  Identifier,
  NamespaceFields,
  OverrideObject,
  toNamespaceReference,
  toOverrideObject,
} from '../shapes/ratelimitFields.ts';
import { strict } from '../../model/schema/schemas.ts';

export const getOverride = defineRoute({
  path: '/v1/ratelimits.getOverride',
  method: 'GET',
  summary: 'Read the override that was set for this identifier or pattern.',
  rights: ['ratelimit.<namespaceId>.read_override'],
  request: strict({ ...NamespaceFields, identifier: Identifier }),
  response: OverrideObject,
  example: {
    request: { namespaceName: 'email.outbound', identifier: '*@example.com' },
    response: {
      id: 'ovr_1Jm8ZtYk7pTt8HmN5wVz4X',
      namespaceId: 'ns_1Jm8ZtXg3kPp5FhJ9sQw2R',
      identifier: '*@example.com',
      limit: 100,
      duration: 60000,
      async: false,
    },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { identifier, ...body }) {
    return toOverrideObject(await engine.ratelimits.overrides.get(actor, toNamespaceReference(body), identifier));
  },
});
