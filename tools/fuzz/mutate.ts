import type { Random } from './random.ts';

const MAX_MUTATIONS = 4;
const MAX_RANGE_BYTES = 24;

const BYTES = ['\r', '\n', '\t', ' ', ':', ',', ';', '0', '1', 'a', '\0', '\x0b', '\x7f', '\x80', '\xff'] as const;

const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '0\r\n\r\n',
  '\r\n ',
  'Content-Length: 3\r\n',
  'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: b\r\n',
  'Connection: close\r\n',
  'Expect: 100-continue\r\n',
  ' HTTP/1.1\r\n',
  'GET /inserted HTTP/1.1\r\nHost: a\r\n\r\n',
] as const;

type Mutation = (random: Random, text: string) => string;

const spliced = (text: string, at: number, removed: number, put: string): string =>
  text.slice(0, at) + put + text.slice(at + removed);

const range = (random: Random, text: string): [at: number, length: number] => [
  random.below(text.length + 1),
  1 + random.below(MAX_RANGE_BYTES),
];

/** Replaces a line break by another one. */
const lineEnd: Mutation = (random, text) => {
  const ends = [...text.matchAll(/\r\n/g)].map(({ index }) => index);
  const at = ends[random.below(ends.length)];
  return at === undefined ? text : spliced(text, at, 2, random.pick(['\n', '\r', '\n\r', '\r\r\n', '\r\n\r\n', '']));
};

/** Changes a number, because wrong lengths and sizes are the most dangerous. */
const number: Mutation = (random, text) => {
  const digits = [...text.matchAll(/\d+/g)];
  const found = digits[random.below(digits.length)];
  if (found === undefined) return text;
  const put = random.pick([String(Number(found[0]) + 1), `${found[0]}0`, `0${found[0]}`, `${found[0]} `, '']);
  return spliced(text, found.index, found[0].length, put);
};

const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  lineEnd,
  number,
  (random, text) => {
    const at = random.below(text.length);
    return spliced(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(8))));
  },
  (random, text) => spliced(text, random.below(text.length), 1, random.pick(BYTES)),
  (random, text) => spliced(text, random.below(text.length + 1), 0, random.pick(BYTES)),
  (random, text) => spliced(text, random.below(text.length + 1), 0, random.pick(TOKENS)),
  (random, text) => spliced(text, ...range(random, text), ''),
  (random, text) => {
    const [at, length] = range(random, text);
    return spliced(text, at, 0, text.slice(at, at + length));
  },
  (random, text) => text.slice(0, random.below(text.length + 1)),
  (_random, text) => text.replaceAll('\r\n', '\n'),
];

export function mutate(random: Random, text: string): string {
  let mutated = text;
  for (let count = 1 + random.below(MAX_MUTATIONS); count > 0 && mutated !== ''; count--) {
    mutated = random.pick(MUTATIONS)(random, mutated);
  }
  return mutated;
}
