import { Type } from 'typebox';

import { CHANGED_KEY_RIGHTS } from '../shapes/fieldRights.ts';
import { refuseRecoverable, toKeyPatch } from '../shapes/keyFields.ts';
import { defineRoute } from './route.ts';
import {
  Count,
  EnvironmentOrNone,
  ExternalIdOrNone,
  Id,
  IpAllowlist,
  Meta,
  NamedRatelimits,
  NameOrNone,
  orNull,
  PermissionReferences,
  Ratelimit,
  Refill,
  RoleReferences,
  strict,
  UnixMs,
} from '../shapes/schemas.ts';

export const updateKey = defineRoute({
  path: '/v1/keys.updateKey',
  method: 'POST',
  summary:
    'Change a key. null clears a field; a field that is left out stays as it is. `roles` and `permissions` replace all that the key has; creating one with `create` needs `rbac.*.create_role` or `rbac.*.create_permission`.',
  rights: ['api.<apiId>.update_key'],
  fieldRights: CHANGED_KEY_RIGHTS,
  request: strict({
    keyId: Id,
    name: Type.Optional(orNull(NameOrNone)),
    externalId: Type.Optional(orNull(ExternalIdOrNone)),
    ownerId: Type.Optional(orNull(ExternalIdOrNone)),
    meta: Type.Optional(orNull(Meta)),
    roles: Type.Optional(orNull(RoleReferences)),
    permissions: Type.Optional(orNull(PermissionReferences)),
    expires: Type.Optional(orNull(UnixMs)),
    remaining: Type.Optional(orNull(Count)),
    refill: Type.Optional(orNull(Refill)),
    ratelimit: Type.Optional(orNull(Ratelimit)),
    ratelimits: Type.Optional(orNull(NamedRatelimits)),
    ipAllowlist: Type.Optional(orNull(IpAllowlist)),
    enabled: Type.Optional(Type.Boolean()),
    environment: Type.Optional(orNull(EnvironmentOrNone)),
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
