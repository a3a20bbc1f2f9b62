import { MAX_JSON_NAMES } from '../../src/core/bounds.ts';
import { collidingText } from '../../test/support/collidingTexts.ts';

/** A body of at most `bytes` bytes, with as many items as fit. */
export function filled(bytes: number, [open, close]: readonly [string, string], itemOf: (i: number) => string): string {
  const items: string[] = [];
  let size = Buffer.byteLength(open + close);
  for (let i = 0; ; i++) {
    const item = itemOf(i);
    size += Buffer.byteLength(item) + 1;
    if (size > bytes) return open + items.join(',') + close;
    items.push(item);
  }
}

export function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

/** The i-th member of objects that have as many different names as a body allows, less the one around them. */
export function collidingMembers(i: number): string {
  const member = i % (MAX_JSON_NAMES - 1);
  return `${member === 0 ? '{' : ''}"${collidingText(member)}":1${member === MAX_JSON_NAMES - 2 ? '}' : ''}`;
}

/** Removes an object at the end that is incomplete. */
export function wholeObjects(body: string, close: string): string {
  return body.slice(0, body.lastIndexOf('}', body.length - close.length) + 1) + close;
}

/** An ordinary body of at most `bytes` bytes. All times are compared to JSON.parse for such a body. */
export function ordinaryJson(bytes: number): string {
  return filled(bytes, ['[', ']'], (i) =>
    JSON.stringify({
      apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R',
      plaintext: `demo_${i}_made-elsewhere`,
      remaining: i,
      meta: { plan: 'pro' },
    }),
  );
}
