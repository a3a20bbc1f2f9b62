import {
  MAX_BATCH_ITEMS,
  MAX_LIMITS_PER_KEY,
  MAX_QUERY_PARTS,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_VERIFY_BATCH_BODY_BYTES,
  MAX_VERIFY_BODY_BYTES,
} from '../../src/core/bounds.ts';
import { collidingText } from '../../test/support/collidingTexts.ts';
import { collidingMembers, filled, times, wholeObjects } from './bodies.ts';
import { bytes, type Input, to } from './input.ts';
import type { Targets } from './setup.ts';

/** As many short parameters as fit into the head of a request. */
export const SHORT_PARAMETERS = times(3_700, (i) => i.toString(36).padStart(3, '0')).join('&');
const SAME_HASH = 'texts with the same hash';
/** As many limits of each of 100 verifications as fit into a list of them. */
export const LIMITS_PER_ITEM = 40;
/** The same for the parts of their queries. */
const PARTS_PER_ITEM = 90;

/** Inputs that anyone can send, without a root key. */
export function openInputs(targets: Targets): Input[] {
  const get = { bound: '16 KiB', body: null, isOpen: true };
  return [
    ...singleInputs(targets),
    ...batchInputs(targets),
    { path: `/v1/keys.forwardAuth?${SHORT_PARAMETERS}`, what: 'parameters', ...get, status: 400 },
    { path: `/v1/${'x'.repeat(8_000)}`, what: 'an unknown route', ...get, status: 404 },
  ];
}

function singleInputs({ key }: Targets): Input[] {
  const send = to('/v1/keys.verifyKey', true);
  const max = MAX_VERIFY_BODY_BYTES;
  const tags = times(MAX_TAGS, (i) => `${i}`.padEnd(MAX_TAG_LENGTH, 'x'));
  return [
    send('unknown fields', bytes(max), filled(max, ['{', '}'], unknownField)),
    send(
      SAME_HASH,
      bytes(max),
      filled(max, ['{"tags":[', ']}'], (i) => `"${collidingText(i)}"`),
    ),
    send(
      'a permission query',
      `${MAX_QUERY_PARTS} parts`,
      JSON.stringify({ key, authorization: query(MAX_QUERY_PARTS) }),
      200,
    ),
    send('tags', `${MAX_TAGS} of ${MAX_TAG_LENGTH} characters`, JSON.stringify({ key, tags }), 200),
    send('limits', `${MAX_LIMITS_PER_KEY}`, JSON.stringify({ key, ratelimits: verifyLimits(MAX_LIMITS_PER_KEY) }), 200),
  ];
}

function batchInputs({ key }: Targets): Input[] {
  const send = to('/v1/keys.verifyKeys', true);
  const max = MAX_VERIFY_BATCH_BODY_BYTES;
  const frame = ['{"keys":[', ']}'] as const;
  const entry = `{"key":"k",${times(630, unknownField).join(',')}}`;
  const all = (fields: object): string => JSON.stringify({ keys: times(MAX_BATCH_ITEMS, () => ({ key, ...fields })) });
  const each = `${MAX_BATCH_ITEMS} x`;
  return [
    send(
      'unknown fields',
      bytes(max),
      filled(max, frame, () => entry),
    ),
    send('member names with the same hash', bytes(max), wholeObjects(filled(max, frame, collidingMembers), ']}')),
    send(
      SAME_HASH,
      bytes(max),
      filled(max, frame, (i) => `"${collidingText(i)}"`),
    ),
    send(
      'escapes',
      bytes(max),
      filled(max, frame, () => `"${'\\u0041'.repeat(100)}"`),
    ),
    send(
      'nested lists',
      bytes(max),
      filled(max, frame, () => '[[[[]]]]'),
    ),
    send('permission queries', `${each} ${PARTS_PER_ITEM} parts`, all({ authorization: query(PARTS_PER_ITEM) }), 200),
    send('limits', `${each} ${LIMITS_PER_ITEM}`, all({ ratelimits: verifyLimits(LIMITS_PER_ITEM) }), 200),
  ];
}

export function unknownField(i: number): string {
  return `"unknown_${i}":1`;
}

/** A query whose permissions look like those of the key, but match none of them. */
function query(parts: number): object {
  return { permissions: { or: times(parts - 1, (i) => `documents.${i}.part${i}.write`) } };
}

/** A hundred words that no other item has. */
export function manyWords(item: number): string {
  return times(100, (i) => `key${item}word${i}`).join(' ');
}

export function verifyLimits(count: number): object[] {
  return times(count, (i) => ({ name: `limit ${i}`, limit: 1000, duration: 60_000, async: true }));
}
