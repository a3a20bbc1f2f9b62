import { Type } from 'typebox';

import { MAX_OVERLAP_MS } from '../../../core/bounds.ts';
import { component, field } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import { KeyId, RootKeyId } from '../schema/commonFields.ts';
import { strict, Text } from '../../../model/schema/schemas.ts';

/** Answers with a new secret, and how long the old one stays valid. */

export const OverlapMs = field(
  Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_MS }),
  'How long the old secret stays valid, in milliseconds: from 0 to 2592000000 (30 days). 0 ends every former secret at once.',
  86400000,
);

const SECRET_WORDS = 'It is shown only in this answer: store it now, or hand it to its user.';

export const NewSecret = component(
  'NewSecret',
  strict({ keyId: KeyId, key: field(Text, `The secret of the key. ${SECRET_WORDS}`, EXAMPLE.secret) }),
  'A key with its new secret.',
  { keyId: EXAMPLE.keyId, key: EXAMPLE.secret },
);

export const NewRootSecret = component(
  'NewRootSecret',
  strict({
    rootKeyId: RootKeyId,
    key: field(Text, `The secret of the root key. ${SECRET_WORDS}`, EXAMPLE.rootSecret),
  }),
  'A root key with its new secret.',
  { rootKeyId: EXAMPLE.rootKeyId, key: EXAMPLE.rootSecret },
);
