import { makeStream } from './grammar.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const MAX_CUTS = 4;
const MAX_PADDING = 40;

/** Closes the connection. Whoever waits for the rest of a body before it takes it for that body. */
const END = 'GET /end HTTP/1.1\r\nHost: end\r\nConnection: close\r\n\r\n';
/** Many of them fill a body whose length is told wrongly: where it ends is seen then. */
const PADDING = 'GET /padding HTTP/1.1\r\nHost: padding\r\n\r\n';

/** What one connection sends, before a last request that closes it. Texts have one character for each byte. */
export interface Input {
  readonly pieces: readonly string[];
  /** The client says that it sends nothing more as soon as it has sent everything. */
  readonly isHalfClosed: boolean;
}

export function makeInput(random: Random): Input {
  const made = makeStream(random);
  const text = random.chance(0.4) ? mutate(random, made) : made;
  const padding = PADDING.repeat(random.chance(0.2) ? random.below(MAX_PADDING) : 0);
  return { pieces: cut(random, text + padding), isHalfClosed: random.chance(0.3) };
}

function cut(random: Random, text: string): string[] {
  if (random.chance(0.6)) return [text];
  const places = Array.from({ length: 1 + random.below(MAX_CUTS) }, () => random.below(text.length + 1));
  const sorted = [0, ...places.sort((a, b) => a - b), text.length];
  return sorted.flatMap((start, i) => text.slice(start, sorted[i + 1] ?? start) || []);
}

/** All that is sent: the last request comes with the last piece. */
export function sentPieces({ pieces }: Input): string[] {
  return [...pieces.slice(0, -1), (pieces.at(-1) ?? '') + END];
}

/** As it can be pasted into a test. */
export function show({ pieces, isHalfClosed }: Input): string {
  return `${pieces.map(quoted).join(' | ')}${isHalfClosed ? ' | half-close' : ''}`;
}

function quoted(text: string): string {
  const escaped = text.replaceAll(/[^ -~]|[\\']/g, (character) => ESCAPES[character] ?? hex(character));
  return `'${escaped}'`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\r': '\\r',
  '\n': '\\n',
  '\t': '\\t',
  '\\': '\\\\',
  "'": "\\'",
};

function hex(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
