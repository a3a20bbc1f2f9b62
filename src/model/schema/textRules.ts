import { Format } from 'typebox/format';

import { parseBlock } from '../../core/address.ts';
import { isTimeZone } from '../../core/calendar.ts';

/** Rules for texts beyond their length, and the messages for texts that break them. */

/** Text that a database and a terminal can hold: no NUL, and no half of a surrogate pair. */
export const TEXT_PATTERN = '^[^\\u0000\\uD800-\\uDFFF]*$';

/** The same, with at least one character that is not blank. */
export const READABLE_PATTERN = '^[^\\u0000\\uD800-\\uDFFF]*[^\\s\\u0000\\uD800-\\uDFFF][^\\u0000\\uD800-\\uDFFF]*$';

/** Rules that a pattern cannot express. The validator checks them too. */
const FORMATS = {
  'time-zone': { fits: isTimeZone, must: 'must be an IANA time zone such as "Europe/Berlin"' },
  'address-block': {
    fits: (text: string): boolean => parseBlock(text) !== null,
    must: 'must be an address or a CIDR block such as 10.0.0.0/8',
  },
} as const;

export type TextFormat = keyof typeof FORMATS;

for (const [name, { fits }] of Object.entries(FORMATS)) Format.Set(name, fits);

/** The specific problem of a text of valid length, or null. The message does not show the text. */
export function textFault({ pattern, format }: { pattern?: string; format?: string }, text: string): string | null {
  if (pattern === TEXT_PATTERN || pattern === READABLE_PATTERN) {
    if (!regExpOf(TEXT_PATTERN).test(text)) return 'must not contain NUL or lone surrogates';
    if (!regExpOf(pattern).test(text)) return 'must not be blank';
  }
  if (format === undefined || !Object.hasOwn(FORMATS, format)) return null;
  const { fits, must } = FORMATS[format as TextFormat];
  return fits(text) ? null : must;
}

/** Compiled once for each pattern: compiling takes longer than matching. */
const regExps = new Map<string, RegExp>();

function regExpOf(pattern: string): RegExp {
  const known = regExps.get(pattern);
  if (known !== undefined) return known;
  const made = new RegExp(pattern, 'u');
  regExps.set(pattern, made);
  return made;
}

/** Counts characters as the schemas do, not UTF-16 units. A list of characters would need many times the memory of the text. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let i = 1; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) length--;
  }
  return length;
}
