import { makeStream } from './grammar.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const MAX_CUTS = 4;
const MAX_PADDING = 40;

/** The last request, which closes the connection. A server that still waits for a body reads it as part of that body. */
const END = 'GET /end HTTP/1.1\r\nHost: end\r\nConnection: close\r\n\r\n';
/** Repeated requests that fill a body with a wrong length, so that the place where it ends becomes visible. */
const PADDING = 'GET /padding HTTP/1.1\r\nHost: padding\r\n\r\n';

/** The bytes that one connection sends before the last request. Texts have one character for each byte. */
export interface Input {
  readonly pieces: readonly string[];
  /** The client closes its sending side as soon as it has sent everything. */
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

/** Everything that is sent. The last request is part of the last piece. */
export function sentPieces({ pieces }: Input): string[] {
  return [...pieces.slice(0, -1), (pieces.at(-1) ?? '') + END];
}

/** The input as text that can be pasted into a test. */
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
