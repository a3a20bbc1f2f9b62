/**
 * A checksum finds a damaged copy, but whoever changes a copy can compute a new one. A signature also finds a changed copy, because its key
 * is not in the copy.
 */

export type CopyKind = 'backup' | 'export';

/** KEYSTILE_COPY_KEY, newest first. The first key signs, and every key is accepted. Empty: there is none. */
export type CopyKeys = readonly Uint8Array[];

/**
 * What the signature proves about a copy:
 *
 *   signed    made with one of our keys, and not changed since
 *   unsigned  it has no signature
 *   unchecked it has one, and there is no key to check it with
 *   forged    it has one, but none of our keys matches
 */
export type Authenticity = 'signed' | 'unsigned' | 'unchecked' | 'forged';

/**
 * The signature of the checksum, which stands for all bytes of the copy. `kind`: a signature for one kind of copy proves nothing for
 * another.
 */
export function signatureOf(key: Uint8Array, kind: CopyKind, sha256: string): string {
  return new Bun.CryptoHasher('sha256', key).update(`keystile ${kind} ${sha256}`).digest('hex');
}

export function authenticityOf(
  copy: { readonly kind: CopyKind; readonly sha256: string; readonly signature: string | null },
  keys: CopyKeys,
): Authenticity {
  const { kind, sha256, signature } = copy;
  if (signature === null) return 'unsigned';
  if (keys.length === 0) return 'unchecked';
  return keys.some((key) => signatureOf(key, kind, sha256) === signature) ? 'signed' : 'forged';
}

/** What a reader of a copy demands from its signature. */
export interface CopyTrust {
  readonly keys: CopyKeys;
  /** Accept a copy without a signature even if there is a key. */
  readonly acceptsUnsigned: boolean;
}

/** Why a copy is refused, as a sentence without its subject; null = it is accepted. Without a key, every signature is accepted. */
export function refusalOf(authenticity: Authenticity, { keys, acceptsUnsigned }: CopyTrust): string | null {
  if (authenticity === 'forged')
    return 'was changed, or was made with another key: its signature does not match KEYSTILE_COPY_KEY. Use another copy, or add the key that it was made with to KEYSTILE_COPY_KEY, behind a comma.';
  if (authenticity === 'unsigned' && keys.length > 0 && !acceptsUnsigned)
    return 'is not signed, and KEYSTILE_COPY_KEY is set: whoever could write the file can have changed it. If you know where it has been since it was made, add --accept-unsigned.';
  return null;
}

/** The text that people read. */
export const AUTHENTICITY_WORDS: Readonly<Record<Exclude<Authenticity, 'forged'>, string>> = {
  signed: 'proved: it was made with KEYSTILE_COPY_KEY and not changed since',
  unsigned: 'not proved: it is not signed, so whoever could write the file can have changed it',
  unchecked: 'not proved: it is signed, but KEYSTILE_COPY_KEY is not set here',
};
