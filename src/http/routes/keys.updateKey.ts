import { Type } from 'typebox';

import { refuseRecoverable, toKeyPatch } from '../keyFields.ts';
import { defineRoute } from '../route.ts';
import {
  Count,
  Environment,
  ExternalId,
  Id,
  IpAllowlist,
  Meta,
  Name,
  NamedRatelimits,
  orNull,
  PermissionReferences,
  Ratelimit,
  Refill,
  RoleReferences,
  strict,
  UnixMs,
} from '../schemas.ts';

export const updateKey = defineRoute({
  path: '/v1/keys.updateKey',
  method: 'POST',
  summary: 'Change a key: null clears a field, an absent one is left as it is.',
  rights: ['api.<apiId>.update_key'],
  request: strict({
    keyId: Id,
    name: Type.Optional(orNull(Name)),
    externalId: Type.Optional(orNull(ExternalId)),
    ownerId: Type.Optional(orNull(ExternalId)),
    meta: Type.Optional(orNull(Meta)),
    roles: Type.Optional(orNull(RoleReferences)),
    permissions: Type.Optional(orNull(PermissionReferences)),
    expires: Type.Optional(orNull(UnixMs)),
    remaining: Type.Optional(orNull(Count)),
    refill: Type.Optional(orNull(Refill)),
    ratelimit: Type.Optional(orNull(Ratelimit)),
    ratelimits: Type.Optional(orNull(NamedRatelimits)),
    ipAllowlist: Type.Optional(orNull(IpAllowlist)),
    enabled: Type.Optional(orNull(Type.Boolean())),
    environment: Type.Optional(orNull(Environment)),
    recoverable: Type.Optional(Type.Boolean()),
  }),
  response: strict({}),
  example: { request: { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', enabled: false, name: null }, response: {} },
  errors: ['NOT_FOUND', 'PRECONDITION_FAILED'],
  async handle(engine, actor, { keyId, recoverable, ...fields }) {
    refuseRecoverable(recoverable);
    await engine.keys.update(actor, keyId, toKeyPatch(fields));
    return {};
  },
});
