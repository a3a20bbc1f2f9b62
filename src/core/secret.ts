import { MAX_SECRET_LENGTH } from './bounds.ts';
import { base58, base58Number } from '../basics/base58.ts';

/** Characters of the random part that `start` shows. */
const SHOWN_CHARACTERS = 4;

/** 58^6 > 2^32: six characters hold a CRC32. */
const CHECKSUM_LENGTH = 6;

export const PREFIX_PATTERN = '^[A-Za-z0-9_.-]{1,16}$';

/** The prefixes of the secrets that Keystile makes for itself. */
export const OWN_PREFIXES = { rootKey: 'root', session: 'session', portal: 'portal' } as const;

/** A key with this prefix would look like another kind of secret, to people and to programs that look for leaked ones. */
export function isReservedPrefix(prefix: string): boolean {
  const [first = ''] = prefix.toLowerCase().split('_');
  return Object.values(OWN_PREFIXES).some((own) => own === first);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc >>> 0;
});

export function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ text.charCodeAt(i)) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Makes `<prefix>_<random><checksum>`. The checksum covers everything before it. */
export function makeSecret(prefix: string | null, random: Uint8Array): string {
  const body = (prefix === null ? '' : `${prefix}_`) + base58(random);
  return body + base58Number(crc32(body), CHECKSUM_LENGTH);
}

/** The prefix and the first characters of the random part. A person recognises a key by it, and nobody can use it as one. */
export function shownStart(prefix: string | null, secret: string): string {
  const prefixLength = prefix === null ? 0 : prefix.length + 1;
  return secret.slice(0, prefixLength + SHOWN_CHARACTERS);
}

/** The checksum fits: the secret was made here and typed right. It never decides a verdict, because imported keys have none. */
export function hasChecksum(secret: string): boolean {
  if (secret.length > MAX_SECRET_LENGTH) return false;
  const body = secret.slice(0, -CHECKSUM_LENGTH);
  return body.length > 0 && base58Number(crc32(body), CHECKSUM_LENGTH) === secret.slice(-CHECKSUM_LENGTH);
}

/**
 * Only printable ASCII of bounded length is ever digested. An encoder maps other texts to the same bytes (every lone surrogate
 * becomes EF BF BD), and two secrets would share a digest.
 */
export function isSecretShaped(secret: string): boolean {
  if (secret.length === 0 || secret.length > MAX_SECRET_LENGTH) return false;
  for (let i = 0; i < secret.length; i++) {
    const code = secret.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
