import type { RootKeyShown } from '../../serve/rootKeyCommands.ts';

/** A root key in the words of the HTTP API: what is not set is absent. */
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
