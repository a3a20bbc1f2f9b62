import type { Static } from 'typebox';

import { component } from '../../../model/schema/described.ts';
import { strict } from '../../../model/schema/schemas.ts';
import { NEW_KEY_FIELDS } from './newKeyFields.ts';

const {
  name: _name,
  externalId: _externalId,
  ownerId: _ownerId,
  recoverable: _recoverable,
  ...fields
} = NEW_KEY_FIELDS;

/** What a customer cannot choose: everything about a new key but its name. */
export const KeyDefaults = component(
  'KeyDefaults',
  strict(fields),
  "What keys get that a customer creates on the customers' page: the fields of keys.createKey. Nothing when absent.",
  { prefix: 'demo', ratelimit: { async: true, limit: 10, duration: 1000 } },
);

export type KeyDefaults = Static<typeof KeyDefaults>;
