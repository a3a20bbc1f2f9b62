import { defineRoute } from './route.ts';
import { Identifier, NamespaceFields, toNamespaceReference } from '../shapes/ratelimitFields.ts';
import { Empty, strict } from '../../model/schema/schemas.ts';

export const deleteOverride = defineRoute({
  path: '/v1/ratelimits.deleteOverride',
  method: 'POST',
  summary: 'Remove the override that was set for this identifier or pattern.',
  rights: ['ratelimit.<namespaceId>.delete_override'],
  command: { asksFirst: 'always' },
  request: strict({ ...NamespaceFields, identifier: Identifier }),
  response: Empty,
  example: { request: { namespaceName: 'email.outbound', identifier: '*@example.com' }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { identifier, ...body }) {
    await engine.ratelimits.overrides.delete(actor, toNamespaceReference(body), identifier);
    return {};
  },
});
