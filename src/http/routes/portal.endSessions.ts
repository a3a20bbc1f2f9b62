import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { IDENTITY_REFERENCE, toIdentityReference } from '../shapes/holders/identityObject.ts';
import { strict, Whole } from '../../model/schema/schemas.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';

export const endPortalSessions = defineRoute({
  path: '/v1/portal.endSessions',
  method: 'POST',
  summary: 'End all portal links of one customer, and the portal pages that are open, at once.',
  description: 'For a link that reached the wrong person. The keys stay as they are.',
  rights: ['identity.<identityId>.update_identity'],
  command: { asksFirst: 'always' },
  request: strict(IDENTITY_REFERENCE),
  response: strict({ ended: field(Whole, 'How many links and pages were ended.', 1) }),
  example: { request: { identityId: EXAMPLE.identityId }, response: { ended: 1 } },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, body) {
    return { ended: await engine.portal.endAll(actor, toIdentityReference(body)) };
  },
});
