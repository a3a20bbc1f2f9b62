import { Type } from 'typebox';

import { isSecretShaped } from '../../core/secret.ts';
import { KEY_PLAIN } from '../../model/keys.ts';
import { part, showPlain } from '../../model/plainFields.ts';
import { defineRoute } from './route.ts';
import { field, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { KeyId } from '../shapes/schema/commonFields.ts';
import { SHOWN_KEY_FIELDS, toIdentityObject } from '../shapes/keys/keyObject.ts';
import { strict, Whole } from '../../model/schema/schemas.ts';

export const whoami = defineRoute({
  path: '/v1/keys.whoami',
  method: 'POST',
  summary: 'Find the key that a secret belongs to, without verifying it and without counting anything.',
  rights: ['api.<apiId>.read_key'],
  request: strict({
    key: field(
      Type.String({ minLength: 1 }),
      'The secret of the key. A text that cannot be a secret answers 404.',
      EXAMPLE.secret,
    ),
  }),
  response: strict({
    id: KeyId,
    ...part(KEY_PLAIN, 'shown'),
    remaining: optional(
      Whole,
      'The credits that the key has left. Refills that are due are included. Absent when the key is unlimited.',
      97,
    ),
    identity: SHOWN_KEY_FIELDS.identity,
    createdAt: field(Whole, 'When the key was created, in unix milliseconds.', EXAMPLE.midnight),
  }),
  example: {
    request: { key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
    response: { id: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', meta: {}, createdAt: 1783036800000, enabled: true },
  },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { key: secret }) {
    const { system } = engine;
    // No key can have a secret of another shape.
    const digests = isSecretShaped(secret) ? [system.digestSecret(secret), ...system.olderDigests(secret)] : [];
    const { key, identity, remaining } = await engine.keys.whoami(actor, digests);
    return {
      id: key.id,
      ...showPlain(KEY_PLAIN, key),
      ...(remaining === null ? {} : { remaining }),
      ...(identity === null ? {} : { identity: toIdentityObject(identity) }),
      createdAt: key.createdAtMs,
    };
  },
});
