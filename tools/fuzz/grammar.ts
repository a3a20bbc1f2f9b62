import {
  BODIES,
  CONNECTIONS,
  ENDS,
  EXTRAS,
  HOSTS,
  LINE_ENDS,
  METHODS,
  ODD_CONNECTIONS,
  ODD_ENCODINGS,
  ODD_ENDS,
  ODD_EXTRAS,
  ODD_HOSTS,
  ODD_LENGTHS,
  ODD_LINE_ENDS,
  ODD_METHODS,
  ODD_SIZES,
  ODD_TARGETS,
  ODD_VERSIONS,
  TARGETS,
  VERSIONS,
} from './oddities.ts';
import type { Random } from './random.ts';

/**
 * The share of odd elements. A request has about eight elements and an input up to four requests, so most inputs have one or two odd ones.
 */
const ODDNESS = 0.05;
const MAX_REQUESTS = 4;

/** Requests of one connection as text, with one character for each byte. */
export function makeStream(random: Random): string {
  let text = '';
  for (let count = 1 + random.below(MAX_REQUESTS); count > 0; count--) text += makeRequest(random);
  return text;
}

function makeRequest(random: Random): string {
  const eol = (): string => random.mostly(LINE_ENDS, ODD_LINE_ENDS, ODDNESS / 8);
  const method = random.mostly(METHODS, ODD_METHODS, ODDNESS);
  const target = random.mostly(TARGETS, ODD_TARGETS, ODDNESS);
  const version = random.mostly(VERSIONS, ODD_VERSIONS, ODDNESS);
  const blank = (): string => random.mostly([' '], ['  ', '\t', ''], ODDNESS / 4);
  const { lines, body } = makeBody(random, method !== 'GET' || random.chance(0.1));
  const fields = shuffled(random, [
    random.mostly<string>(HOSTS, ODD_HOSTS, ODDNESS),
    random.mostly<string>(CONNECTIONS, ODD_CONNECTIONS, ODDNESS),
    random.mostly<string>(EXTRAS, ODD_EXTRAS, ODDNESS),
    ...lines,
  ]).filter((line) => line !== '');
  const before = random.mostly([''], ['\r\n', '\n', '\r', ' ', '\r\n\r\n'], ODDNESS / 2);
  const head = [`${method}${blank()}${target}${blank()}${version}`, ...fields];
  return `${before}${head.map((line) => line + eol()).join('')}${eol()}${body}`;
}

function makeBody(random: Random, isWanted: boolean): { lines: string[]; body: string } {
  if (!isWanted) return { lines: [], body: '' };
  const text = random.pick<string>(BODIES);
  const length = (): string =>
    random.chance(ODDNESS * 2) ? random.pick(ODD_LENGTHS)(text.length) : `Content-Length: ${text.length}`;
  const encoding = (): string => random.mostly<string>(['Transfer-Encoding: chunked'], ODD_ENCODINGS, ODDNESS * 2);
  const kind = random.next();
  if (kind < 0.5) return { lines: [length()], body: text };
  if (kind < 0.93) return { lines: [encoding()], body: chunked(random, text) };
  // Both headers together, as in request smuggling.
  return { lines: [length(), encoding()], body: random.chance(0.5) ? text : chunked(random, text) };
}

function chunked(random: Random, text: string): string {
  const eol = (): string => random.mostly(LINE_ENDS, ODD_LINE_ENDS, ODDNESS / 3);
  let written = '';
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + 1 + random.below(text.length - at));
    const size = random.chance(ODDNESS) ? random.pick(ODD_SIZES)(piece.length) : sizeOf(random, piece.length);
    written += `${size}${eol()}${piece}${eol()}`;
    at += piece.length;
  }
  return written + random.mostly(ENDS, ODD_ENDS, ODDNESS * 2);
}

function sizeOf(random: Random, bytes: number): string {
  const size = bytes.toString(16);
  return random.chance(0.2) ? size.toUpperCase() : size;
}

function shuffled(random: Random, lines: readonly string[]): string[] {
  const rest = [...lines];
  return lines.flatMap(() => rest.splice(random.below(rest.length), 1));
}
