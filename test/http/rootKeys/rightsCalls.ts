import type { TestService } from '../../support/service.ts';

export type How = 'add' | 'set' | 'remove';

/** Permissions and roles are given to keys in the same way. */
export const KINDS = [
  { field: 'permissions', word: 'Permissions', one: 'permission', max: 1_000 },
  { field: 'roles', word: 'Roles', one: 'role', max: 100 },
] as const;

/** The calls that give permissions or roles to keys. */
export function accessCalls(service: () => TestService, { field, word, one }: (typeof KINDS)[number]) {
  const pathTo = (how: How): string => `/v1/keys.${how}${word}`;
  return {
    pathTo,
    call: (how: How, keyId: string, references: readonly object[], options = {}) =>
      service().ok(pathTo(how), { keyId, [field]: references }, options),
    make: async (name: string): Promise<string> =>
      (await service().ok(`/v1/permissions.create${word.slice(0, -1)}`, { name }))[`${one}Id`] as string,
    heldBy: async (keyId: string): Promise<string[]> =>
      (await service().ok('/v1/keys.getKey', { keyId }))[field] as string[],
  };
}

export function namesOf(records: readonly { name: string }[]): string[] {
  return records.map(({ name }) => name);
}
