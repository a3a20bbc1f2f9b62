/**
 * Texts that all fall into one place of the runtime's tables. Its hash (rapidhash, without a seed) takes texts of 16
 * characters in four groups of four, and multiplies each with the next: a group that equals a constant of the hash makes
 * the product 0, whatever the next one is.
 */
const CONSTANT = String.fromCharCode(0xd4a3, 0xd433, 0xa62e, 0x4b33);

export function collidingText(number: number): string {
  return `${CONSTANT}${number.toString(36).padStart(4, '0')}zzzzzzzz`;
}

export function collidingTexts(count: number): string[] {
  return Array.from({ length: count }, (_, i) => collidingText(i));
}
