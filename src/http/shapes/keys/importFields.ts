import { type Static, Type } from 'typebox';

import { MAX_SECRET_LENGTH, MIN_IMPORTED_SECRET_LENGTH } from '../../../core/bounds.ts';
import { AppError, type Issue } from '../../../core/errors.ts';
import type { Actor } from '../../../engine/admin/change/requireRight.ts';
import type { ImportedKey } from '../../../engine/admin/imports.ts';
import type { KeyPatch } from '../../../engine/admin/createKeys.ts';
import type { Engine } from '../../../engine/engine.ts';
import { MAX_ISSUES } from '../../../core/bounds.ts';
import { CREATION_FIELDS, toKeyPatch, withoutEmpty } from './keyFields.ts';
import { badFields, placed } from '../schema/badFields.ts';
import { component, EXPECTED, field, optional } from '../../../model/schema/described.ts';
import { EXAMPLE } from '../../../model/schema/examples.ts';
import type { Ratelimit } from '../counters/keyLimitFields.ts';
import { Prefix, strict, words } from '../../../model/schema/schemas.ts';

const MAX_START_LENGTH = 64;

const DIGEST = { value: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=', variant: 'sha256_base64' } as const;

/** The fields of an imported key, without its api. */
export const IMPORTED_FIELDS = {
  plaintext: optional(
    Type.String({
      minLength: MIN_IMPORTED_SECRET_LENGTH,
      maxLength: MAX_SECRET_LENGTH,
      pattern: '^[ -~]*$',
      [EXPECTED]: `${MIN_IMPORTED_SECRET_LENGTH} to ${MAX_SECRET_LENGTH} characters of printable ASCII`,
    }),
    'The secret of the key: 16 to 512 characters of printable ASCII. It is digested at once and stored nowhere. Give either `plaintext` or `hash`.',
    'demo_key-that-was-made-elsewhere',
  ),
  hash: optional(
    component(
      'KeyDigest',
      strict({
        value: field(words(1, 64), 'The 32 bytes of the SHA-256 in base64, 44 characters.', DIGEST.value),
        variant: field(Type.Literal('sha256_base64'), 'The only kind of digest that is accepted.', DIGEST.variant),
      }),
      'The digest of a secret that you do not have in plain text.',
      DIGEST,
    ),
    'The SHA-256 of the secret. Give either `plaintext` or `hash`.',
  ),
  prefix: optional(
    Prefix,
    'The prefix that is shown to people: 1 to 16 of the characters A-Z a-z 0-9 _ . -. It does not change the secret.',
    'demo',
  ),
  start: optional(
    words(1, MAX_START_LENGTH),
    'The beginning of the secret that is shown to people, 1 to 64 characters and at most half of the secret. When absent, a plaintext shows its prefix and four characters, and a digest shows its prefix.',
    'demo_2cf2',
  ),
  ...CREATION_FIELDS,
};

/** The example of an imported key, without its api. */
export const IMPORTED_EXAMPLE = { hash: DIGEST, start: 'demo_2cf2', ownerId: EXAMPLE.externalId, remaining: 100 };

type Imported = Static<ReturnType<typeof strict<typeof IMPORTED_FIELDS>>>;

/** 32 bytes in base64. The last character before the `=` has two unused bits, which must be 0. */
const SHA256_PATTERN = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** From the wire to the engine; the problems of all items are reported together, as `list[3].field`, up to the maximum. */
export async function toImportedKeys(
  engine: Engine,
  { id: client }: Pick<Actor, 'id'>,
  { items, list }: { readonly items: readonly (Imported & { readonly apiId: string })[]; readonly list: string },
): Promise<ImportedKey[]> {
  const issues: Issue[] = [];
  const keys: ImportedKey[] = [];
  await engine.turns.each(client, items, (item, i) => {
    const own: Issue[] = [];
    keys.push(toImportedKey(engine, item, own));
    issues.push(...own.map(({ path, message }) => placed(`${list}[${i}]`, path, message)));
    return issues.length < MAX_ISSUES;
  });
  if (issues.length > 0) throw badFields(issues);
  return keys;
}

function toImportedKey(engine: Engine, item: Imported & { apiId: string }, issues: Issue[]): ImportedKey {
  const { apiId, plaintext, hash, prefix = null, start = null, roles, permissions, ratelimit, ...fields } = item;
  if (fields.refill !== undefined && fields.remaining === undefined) {
    issues.push({ path: 'refill', message: 'a refill needs credits: send remaining too' });
  }
  const patch = collected(issues, () =>
    toKeyPatch({
      ...withoutEmpty(fields),
      ...(ratelimit === undefined ? {} : { ratelimit: strictByDefault(ratelimit) }),
      ...(roles === undefined ? {} : { roles: roles.map((name) => ({ name })) }),
      ...(permissions === undefined ? {} : { permissions: permissions.map((name) => ({ name })) }),
    }),
  );
  const secret = toSecret(plaintext, hash?.value, issues);
  if (start !== null && secret !== null && showsTooMuch(engine, start, secret)) {
    issues.push({ path: 'start', message: 'start contains too much of the key; send fewer characters' });
  }
  return { apiId, patch, secret: secret ?? { plaintext: '' }, prefix, start };
}

/** An imported limit without a mode is strict. */
function strictByDefault(ratelimit: Static<typeof Ratelimit>): Static<typeof Ratelimit> {
  return ratelimit.async === undefined && ratelimit.type === undefined ? { ...ratelimit, async: false } : ratelimit;
}

function collected(issues: Issue[], make: () => KeyPatch): KeyPatch {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof AppError) || error.issues === undefined) throw error;
    issues.push(...error.issues);
    return {};
  }
}

function toSecret(
  plaintext: string | undefined,
  sha256: string | undefined,
  issues: Issue[],
): ImportedKey['secret'] | null {
  if ((plaintext === undefined) === (sha256 === undefined)) {
    issues.push({ path: '', message: 'give either plaintext or hash' });
    return null;
  }
  if (sha256 === undefined) return { plaintext: plaintext ?? '' };
  if (SHA256_PATTERN.test(sha256)) return { sha256 };
  const isHex = /^[0-9a-f]{64}$/i.test(sha256);
  const hint = isHex ? '; these are hexadecimal digits: send the same bytes in base64' : '';
  const message = `hash.value must be the 32 bytes of a SHA-256 in base64, 44 characters${hint}`;
  issues.push({ path: 'hash.value', message });
  return null;
}

/** `start` is stored as it is, so it must not contain the secret. */
function showsTooMuch({ system }: Engine, start: string, secret: ImportedKey['secret']): boolean {
  if ('sha256' in secret) return system.digestSecret(start) === system.digestOfSha256(secret.sha256);
  return secret.plaintext.startsWith(start) && start.length * 2 > secret.plaintext.length;
}
