import {
  MAX_ALLOWLIST_ENTRIES,
  MAX_BATCH_ITEMS,
  MAX_BODY_BYTES,
  MAX_IMPORT_BODY_BYTES,
  MAX_KEY_BYTES,
  MAX_KEYS_BODY_BYTES,
  MAX_KEYS_PER_CALL,
  MAX_LISTED_PER_CALL,
  MAX_META_BYTES,
  MAX_PATTERNS_PER_NAMESPACE,
  MAX_PERMISSIONS_PER_KEY,
  MAX_RIGHTS,
  MAX_SEARCH_LENGTH,
} from '../../src/core/bounds.ts';
import { collidingText } from '../../test/support/collidingTexts.ts';
import { collidingMembers, filled, times, wholeObjects } from './bodies.ts';
import { bytes, type Input, to } from './input.ts';
import { manyWords } from './openInputs.ts';
import { NAMESPACE, type Targets } from './setup.ts';

/** Inputs that need a root key. */
export function managementInputs(targets: Targets): Input[] {
  const limits = times(MAX_BATCH_ITEMS, (i) => ({
    namespace: NAMESPACE,
    identifier: `${'a'.repeat(250)}${i}`,
    limit: 1000,
    duration: 60_000,
    async: true,
  }));
  const nested = `${'{"a":'.repeat(30)}[${times(10_000, () => '"x"').join(',')}]${'}'.repeat(30)}`;
  const rights = times(MAX_RIGHTS, (i) => `api.*.creat_key${i}`);
  const [createKey, createRootKey, multiLimit] = [
    'keys.createKey',
    'rootKeys.createRootKey',
    'ratelimits.multiLimit',
  ].map((route) => to(`/v1/${route}`, false)) as [Send, Send, Send];
  return [
    ...importInputs(targets),
    ...creationInputs(targets),
    multiLimit(
      'limits against patterns of overrides',
      `${MAX_BATCH_ITEMS} against ${MAX_PATTERNS_PER_NAMESPACE}`,
      JSON.stringify({ limits }),
      200,
    ),
    createKey('nested metadata', bytes(MAX_BODY_BYTES), `{"apiId":"${targets.apiId}","meta":${nested}}`),
    createRootKey('texts that are not rights', `${MAX_RIGHTS}`, JSON.stringify({ name: 'x', permissions: rights })),
    ...queryInputs(targets),
  ];
}

type Send = ReturnType<typeof to>;

function importInputs({ apiId }: Targets): Input[] {
  const send = to('/v1/migrations.createKeys', false);
  const max = MAX_IMPORT_BODY_BYTES;
  const entry = `{${times(630, (i) => `"unknown_${i}_${'y'.repeat(50)}":1`).join(',')}}`;
  /** With a wrong last key, the service checks all keys before it refuses. */
  const keys = (fields: (i: number) => object, last: object = {}): string =>
    JSON.stringify(
      times(MAX_BATCH_ITEMS, (i) => ({
        apiId,
        plaintext: `${i}-made-elsewhere`,
        ...fields(i),
        ...(i === MAX_BATCH_ITEMS - 1 ? last : {}),
      })),
    );
  const names = (i: number): object => ({ permissions: times(MAX_PERMISSIONS_PER_KEY, (j) => `key.${i}.number.${j}`) });
  const blocks = times(MAX_ALLOWLIST_ENTRIES, (i) => `2001:db8:0:0:0:0:${i}:0/112`);
  const words = times(1_600, (i) => `word${i}`).join(' ');
  const wrong = { remaining: -1 };
  const each = `${MAX_BATCH_ITEMS} x`;
  return [
    send(
      'unknown fields',
      bytes(max),
      filled(max, ['[', ']'], () => entry),
    ),
    send('member names with the same hash', bytes(max), wholeObjects(filled(max, ['[', ']'], collidingMembers), ']')),
    send(
      'texts with the same hash',
      bytes(max),
      filled(max, ['[', ']'], (i) => `"${collidingText(i)}"`),
    ),
    send('permissions, the last field wrong', `${each} ${MAX_PERMISSIONS_PER_KEY}`, keys(names, wrong)),
    send('permissions that do not exist', `${each} ${MAX_PERMISSIONS_PER_KEY}`, keys(names), 412),
    send(
      'addresses, the last field wrong',
      `${each} ${MAX_ALLOWLIST_ENTRIES}`,
      keys(() => ({ ipAllowlist: blocks }), wrong),
    ),
    send(
      'metadata with many words',
      `${each} ${bytes(MAX_META_BYTES)}`,
      keys(() => ({ meta: { words }, apiId: 'api_none' })),
      404,
    ),
  ];
}

function creationInputs({ apiId }: Targets): Input[] {
  const send = to('/v1/keys.createKeys', false);
  const body = (fields: (i: number) => object, last: object = {}): string =>
    JSON.stringify({
      apiId,
      keys: times(MAX_KEYS_PER_CALL, (i) => ({ ...fields(i), ...(i === MAX_KEYS_PER_CALL - 1 ? last : {}) })),
    });
  const listed = MAX_LISTED_PER_CALL / MAX_KEYS_PER_CALL;
  const limits = times(listed, (i) => ({ name: `limit${i}`, limit: 1, duration: 60_000, async: false }));
  const roles = (i: number): string[] => times(listed, (j) => `role.${i}.number.${j}`);
  const each = `${MAX_KEYS_PER_CALL} x`;
  const frame = [`{"apiId":"${apiId}","keys":[`, ']}'] as const;
  return [
    send(
      'unknown fields',
      bytes(MAX_KEYS_BODY_BYTES),
      filled(MAX_KEYS_BODY_BYTES, ['{"keys":[', ']}'], () => '{"unknown":1}'),
    ),
    send(
      'names, owners and metadata with many words',
      '100 words each',
      filled(MAX_KEYS_BODY_BYTES, frame, (i) =>
        JSON.stringify({ name: `key ${i}`, ownerId: `owner ${i}`, meta: { words: manyWords(i) } }),
      ),
      200,
    ),
    send(
      'metadata of distinct words',
      `${bytes(MAX_META_BYTES)} each`,
      filled(MAX_KEYS_BODY_BYTES, frame, (i) => JSON.stringify({ meta: { words: distinctWords(i) } })),
      200,
    ),
    send(
      'long secrets',
      `${each} ${MAX_KEY_BYTES} bytes`,
      body(() => ({ byteLength: MAX_KEY_BYTES })),
      200,
    ),
    send(
      'strict limits',
      `${each} ${listed}`,
      body(() => ({ remaining: 1, ratelimits: limits })),
      200,
    ),
    send(
      'addresses, the last field wrong',
      `${each} ${listed}`,
      body(() => ({ ipAllowlist: times(listed, (i) => `2001:db8:0:0:0:0:${i}:0/112`) }), { expires: 1 }),
    ),
    send(
      'roles, more than there may be',
      `${each} ${listed}`,
      body((i) => ({ roles: roles(i) })),
      412,
    ),
  ];
}

/** Nearly as much metadata as a key may have, of words that no other key has. */
function distinctWords(item: number): string {
  return times(1_400, (i) => `w${item.toString(36)}x${i.toString(36)}`)
    .join(' ')
    .slice(0, MAX_META_BYTES - 20);
}

function queryInputs({ apiId }: Targets): Input[] {
  const get = (path: string, what: string, bound: string, status = 200): Input => ({
    path,
    what,
    bound,
    body: null,
    isOpen: false,
    status,
  });
  const search = 'ab%20'.repeat(MAX_SEARCH_LENGTH / 3);
  const tags = times(100, (i) => `tag${i}`).join(',');
  const groups = 'hour,key,identity,tags';
  return [
    get(`/v1/apis.listKeys?apiId=${apiId}&search=${search}`, 'search words', `${MAX_SEARCH_LENGTH} characters`),
    get(`/v1/apis.listKeys?${times(2_500, (i) => `x${i}`).join('&')}`, 'unknown parameters', '16 KiB', 400),
    get(`/v1/analytics.getVerifications?apiId=${apiId}&groupBy=${groups}&tag=${tags}`, 'groups and tags', '100 tags'),
  ];
}
