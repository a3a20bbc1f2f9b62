import { Type } from 'typebox';

import { isSecretShaped } from '../../core/secret.ts';
import { toIdentityObject, toMeta, IdentityObject } from '../shapes/keyObject.ts';
import { defineRoute } from './route.ts';
import { strict } from '../shapes/schemas.ts';

export const whoami = defineRoute({
  path: '/v1/keys.whoami',
  method: 'POST',
  summary: 'Find the key that a secret belongs to, without verifying it and without counting anything.',
  rights: ['api.<apiId>.read_key'],
  request: strict({ key: Type.String({ minLength: 1 }) }),
  response: strict({
    id: Type.String(),
    name: Type.Optional(Type.String()),
    remaining: Type.Optional(Type.Integer()),
    identity: Type.Optional(IdentityObject),
    meta: Type.Object({}),
    createdAt: Type.Integer(),
    enabled: Type.Boolean(),
    environment: Type.Optional(Type.String()),
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
