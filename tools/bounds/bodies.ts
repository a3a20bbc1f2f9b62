import { MAX_JSON_NAMES } from '../../src/core/bounds.ts';
import { collidingText } from '../../test/support/collidingTexts.ts';

/** A body of nearly so many bytes, from as many items as fit. */
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

/** Objects of as many members as a body may have different names, but for the one that holds them. */
export function collidingMembers(i: number): string {
  const place = i % (MAX_JSON_NAMES - 1);
  return `${place === 0 ? '{' : ''}"${collidingText(place)}":1${place === MAX_JSON_NAMES - 2 ? '}' : ''}`;
}

/** An object that was begun is ended. */
export function wholeObjects(body: string, close: string): string {
  return body.slice(0, body.lastIndexOf('}', body.length - close.length) + 1) + close;
}

/** What everybody sends, in so many bytes: all times are compared with that of JSON.parse for it. */
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
