/** Bitcoin's alphabet: no 0, O, I or l, so that a person can read a key aloud. */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Digits that are computed together: 58^5 x 2^16 < 2^53. Digit by digit, the longest secret would take ten times as long. */
const LIMB_DIGITS = 5;
const LIMB = 58 ** LIMB_DIGITS;

/**
 * Encodes bytes as one big-endian number, padded to the width of the largest value of this length. Inputs of equal length give
 * outputs of equal length, and no bit is lost or biased.
 */
export function base58(bytes: Uint8Array): string {
  const width = base58Length(bytes.length);
  const limbs = new Float64Array(Math.ceil(width / LIMB_DIGITS));
  // Two bytes at a time. If their number is odd, the first one is alone.
  for (let at = bytes.length % 2 === 0 ? 0 : -1; at < bytes.length; at += 2) {
    let carry = (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
    for (let i = limbs.length - 1; i >= 0; i--) {
      carry += (limbs[i] ?? 0) * 65_536;
      const over = Math.floor(carry / LIMB);
      limbs[i] = carry - over * LIMB;
      carry = over;
    }
  }
  const digits = Array.from(limbs, (limb) => base58Number(limb, LIMB_DIGITS)).join('');
  return digits.slice(digits.length - width);
}

/** How many base58 characters hold `byteLength` bytes. */
export function base58Length(byteLength: number): number {
  return Math.ceil((byteLength * 8) / Math.log2(58));
}

/** Encodes a non-negative integer in at least `width` characters. Strings of one width sort like their numbers. */
export function base58Number(value: number, width: number): string {
  let text = '';
  let rest = value;
  while (rest > 0 || text.length < width) {
    text = (ALPHABET[rest % 58] ?? '') + text;
    rest = Math.floor(rest / 58);
  }
  return text;
}
