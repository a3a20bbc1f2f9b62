/** Bitcoin's alphabet: no 0, O, I or l, so that a person can read a key aloud. */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/**
 * Encodes bytes as one big-endian number, padded to the width of the largest value of this length. Inputs of equal length give
 * outputs of equal length, and no bit is lost or biased.
 */
export function base58(bytes) {
  const width = base58Length(bytes.length);
  const digits = new Uint8Array(width);
  for (const byte of bytes) {
    let carry = byte;
    for (let i = width - 1; i >= 0; i--) {
      carry += (digits[i] ?? 0) * 256;
      digits[i] = carry % 58;
      carry = Math.floor(carry / 58);
    }
  }
  let text = '';
  for (const digit of digits) text += ALPHABET[digit];
  return text;
}
/** How many base58 characters hold `byteLength` bytes. */
export function base58Length(byteLength) {
  return Math.ceil((byteLength * 8) / Math.log2(58));
}
/** Encodes a non-negative integer in at least `width` characters. Strings of one width sort like their numbers. */
export function base58Number(value, width) {
  let text = '';
  let rest = value;
  while (rest > 0 || text.length < width) {
    text = (ALPHABET[rest % 58] ?? '') + text;
    rest = Math.floor(rest / 58);
  }
  return text;
}
