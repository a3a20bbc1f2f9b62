import { Type } from 'typebox';

import type { RootKeyRecord } from '../../core/records.ts';
import { strict } from './schemas.ts';

export const RootKeyObject = strict({
  id: Type.String(),
  start: Type.String(),
  name: Type.Optional(Type.String()),
  permissions: Type.Array(Type.String()),
  createdAt: Type.Integer(),
  expires: Type.Optional(Type.Integer()),
  revokedAt: Type.Optional(Type.Integer()),
});

/** A root key as it is shown: never its secret, and nothing made from it. */
export function toRootKeyObject({ id, start, name, rights, createdAtMs, expiresAtMs, revokedAtMs }: RootKeyRecord) {
  return {
    id,
    start,
    ...(name === null ? {} : { name }),
    permissions: rights,
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expires: expiresAtMs }),
    ...(revokedAtMs === null ? {} : { revokedAt: revokedAtMs }),
  };
}
