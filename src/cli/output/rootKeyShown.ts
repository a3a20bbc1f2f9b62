import type { RootKeyShown } from '../../serve/rootKeyCommands.ts';

/** A root key with the field names of the HTTP API. Fields that are not set are absent. */
export function rootKeyObject({ id, start, name, rights, createdAtMs, expiresAtMs, revokedAtMs }: RootKeyShown) {
  return {
    id,
    start,
    ...(name === null ? {} : { name }),
    rights,
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expires: expiresAtMs }),
    ...(revokedAtMs === null ? {} : { revokedAt: revokedAtMs }),
  };
}
