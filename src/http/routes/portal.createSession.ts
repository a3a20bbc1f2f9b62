import { Type } from 'typebox';

import { MAX_WEBHOOK_URL_LENGTH } from '../../core/bounds.ts';
import { repeatable } from '../../core/errors.ts';
import { PORTAL_ACTIONS } from '../../core/portalSession.ts';
import { requireEverywhere } from '../../engine/admin/change/requireRight.ts';
import { defineRoute } from './route.ts';
import { KeyDefaults, toNewKey } from '../shapes/keys/keyFields.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import { IDENTITY_REFERENCE, toIdentityReference } from '../shapes/holders/identityObject.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { strict, Text, Whole, words } from '../../model/schema/schemas.ts';

const ID = 'portal_1Jm8ZtXg3kPp5FhJ9sQw2R';
const LINK = 'https://keys.example.com/portal#open=portal_9Wd4XbZe2RpVcT7uNqKs5F6hJg3M';

export const createPortalSession = defineRoute({
  path: '/v1/portal.createSession',
  method: 'POST',
  summary: 'Make a link to the portal for one customer.',
  description:
    'The link can be opened once, within 15 minutes. The portal then works for an hour. It shows the keys that the customer has in this api, its usage and its plan, and lets the customer do what `allow` names. It can do nothing that this root key may not do. It ends when the root key is revoked, or when the customer is deleted or disabled.',
  rights: ['identity.<identityId>.read_identity', 'api.<apiId>.read_key', 'api.<apiId>.read_api'],
  request: strict({
    ...IDENTITY_REFERENCE,
    apiId: ApiId,
    allow: optional(
      Type.Array(Type.Enum(PORTAL_ACTIONS), { maxItems: PORTAL_ACTIONS.length }),
      'What the customer may do with its keys: `create` (the root key needs `api.<apiId>.create_key`, and the right to name this customer), `rotate` (`api.<apiId>.create_key` and `api.<apiId>.update_key`), `delete` (`api.<apiId>.delete_key`). Nothing when absent: the customer can only look.',
      ['create', 'rotate'],
    ),
    keyDefaults: optional(KeyDefaults),
    returnUrl: optional(
      words(1, MAX_WEBHOOK_URL_LENGTH),
      'Where the link back from the portal leads, http or https. Its origin must be one that KEYSTILE_PORTAL_RETURN_ORIGINS names. The portal has no such link when absent.',
      'https://app.example.com/settings',
    ),
  }),
  response: strict({
    sessionId: field(Text, 'The id of the session, as the audit log names it.', ID),
    url: field(Text, 'The link. Send it only to this customer: whoever opens it first gets in.', LINK),
    expiresAt: field(Whole, 'Until when the link can be opened, in unix milliseconds.', EXAMPLE.midnight),
  }),
  example: {
    request: { identityId: EXAMPLE.identityId, apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R' },
    response: { sessionId: ID, url: LINK, expiresAt: EXAMPLE.midnight },
  },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, body) {
    const { apiId, allow = [], keyDefaults, returnUrl = null } = body;
    if (returnUrl !== null && !URL.canParse(returnUrl))
      throw badFields([
        {
          path: 'returnUrl',
          message: `returnUrl must be an address such as https://app.example.com/, got ${repeatable(returnUrl)}`,
        },
      ]);
    if (keyDefaults?.roles !== undefined) requireEverywhere(actor, 'rbac.add_role_to_key');
    if (keyDefaults?.permissions !== undefined) requireEverywhere(actor, 'rbac.add_permission_to_key');
    // Defaults that no key could have are refused here, not when the customer creates a key.
    if (keyDefaults !== undefined) toNewKey({ ...keyDefaults, apiId }, engine.storage.ledger.nowMs());
    const made = await engine.portal.create(actor, toIdentityReference(body), {
      apiId,
      allow: PORTAL_ACTIONS.filter((action) => allow.includes(action)),
      keyDefaults: keyDefaults === undefined ? null : JSON.stringify(keyDefaults),
      returnUrl,
    });
    return { sessionId: made.id, url: made.url, expiresAt: made.untilMs };
  },
});
