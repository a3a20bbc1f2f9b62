import { Type } from 'typebox';

import { isSecretShaped } from '../../core/secret.ts';
import { defineRoute } from './route.ts';
import { field, optional } from '../shapes/schema/described.ts';
import { EXAMPLE } from '../shapes/schema/examples.ts';
import { KeyId } from '../shapes/schema/idFields.ts';
import { SHOWN_KEY_FIELDS, toIdentityObject, toMeta } from '../shapes/keys/keyObject.ts';
import { Flag, strict, Whole } from '../shapes/schema/schemas.ts';

export const whoami = defineRoute({
  path: '/v1/keys.whoami',
  method: 'POST',
  summary: 'Find the key that a secret belongs to, without verifying it and without counting anything.',
  rights: ['api.<apiId>.read_key'],
  request: strict({
    key: field(
      Type.String({ minLength: 1 }),
      'The secret of the key. A text that cannot be a secret is a 404.',
      EXAMPLE.secret,
    ),
  }),
  response: strict({
    id: KeyId,
    name: SHOWN_KEY_FIELDS.name,
    remaining: optional(
      Whole,
      'The credits that the key has left. Refills that are due are included. Absent when the key is unlimited.',
      97,
    ),
    identity: SHOWN_KEY_FIELDS.identity,
    meta: SHOWN_KEY_FIELDS.meta,
    createdAt: field(Whole, 'When the key was created, in unix milliseconds.', EXAMPLE.midnight),
    enabled: field(Flag, 'false: verifications of the key answer DISABLED.', true),
    environment: SHOWN_KEY_FIELDS.environment,
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
      ...(key.name === null ? {} : { name: key.name }),
      ...(remaining === null ? {} : { remaining }),
      ...(identity === null ? {} : { identity: toIdentityObject(identity) }),
      meta: toMeta(key.meta),
      createdAt: key.createdAtMs,
      enabled: key.enabled,
      ...(key.environment === null ? {} : { environment: key.environment }),
    };
  },
});
