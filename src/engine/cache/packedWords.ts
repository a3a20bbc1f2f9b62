/** Words of a packed digest. */
export const DIGEST_WORDS = 11;
const WORD = 2 ** 32;

const SIX_BITS = new Uint8Array(128);
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
for (let value = 0; value < BASE64.length; value++) SIX_BITS[BASE64.charCodeAt(value)] = value;

/** Base64 of 32 bytes, behind `version:` where there is a pepper. Two peppers never give the same bytes. */
export function readDigest(digest: string, into: Uint32Array): void {
  let at = digest.indexOf(':') + 1;
  for (let i = 0; i < DIGEST_WORDS; i++) {
    // The last group has three characters and a `=`, which reads as 0.
    into[i] =
      (sixBits(digest, at) << 18) |
      (sixBits(digest, at + 1) << 12) |
      (sixBits(digest, at + 2) << 6) |
      sixBits(digest, at + 3);
    at += 4;
  }
}

function sixBits(text: string, at: number): number {
  return SIX_BITS[text.charCodeAt(at)] ?? 0;
}

/** Whether a number fits into one word. A damaged record can contain any number. */
export function isWord(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < WORD;
}

/** A number up to 2^53 in two words. */
export function readLong(words: Uint32Array, at: number): number {
  return (words[at] ?? 0) + (words[at + 1] ?? 0) * WORD;
}

export function writeLong(words: Uint32Array, at: number, value: number): void {
  words[at] = value % WORD;
  words[at + 1] = Math.floor(value / WORD);
}
