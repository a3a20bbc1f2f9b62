import {
  MAX_BATCH_ITEMS,
  MAX_IMPORT_BODY_BYTES,
  MAX_KEYS_BODY_BYTES,
  MAX_VERIFY_BATCH_BODY_BYTES,
  MAX_VERIFY_BODY_BYTES,
} from '../../src/core/bounds.ts';
import { filled, times } from './bodies.ts';
import { LIMITS_PER_ITEM, manyWords, unknownField, verifyLimits } from './openInputs.ts';
import { SHORT_PARAMETERS } from './openInputs.ts';

/** What each connection of a crowd sends, again and again. */
export interface Crowd {
  readonly what: string;
  /** Requests in one write. */
  readonly count: number;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly rootKey: 'none' | 'without the right' | 'with the right';
}

export interface CrowdTargets {
  readonly apiId: string;
  readonly key: string;
}

export function crowds({ apiId, key }: CrowdTargets): readonly Crowd[] {
  const open = { count: 1, method: 'POST', rootKey: 'none' } as const;
  const verifyKeys = { ...open, path: '/v1/keys.verifyKeys' };
  const createKeys = { ...open, path: '/v1/keys.createKeys' };
  const max = MAX_VERIFY_BATCH_BODY_BYTES;
  const frame = ['{"keys":[', ']}'] as const;
  const entry = `{"key":"k",${times(630, unknownField).join(',')}}`;
  const limited = times(MAX_BATCH_ITEMS, () => ({ key, ratelimits: verifyLimits(LIMITS_PER_ITEM) }));
  const keys = filled(MAX_KEYS_BODY_BYTES, [`{"apiId":"${apiId}","keys":[`, ']}'], (i) =>
    JSON.stringify({ name: `key ${i}`, meta: { words: manyWords(i) } }),
  );
  const deep = `${'['.repeat(30)}${']'.repeat(30)}`;
  const whole = 'with the right';
  return [
    { ...verifyKeys, what: 'invalid verifications', body: filled(max, frame, () => entry) },
    { ...verifyKeys, what: 'deep JSON', body: filled(max, frame, () => deep) },
    {
      ...verifyKeys,
      what: `${MAX_BATCH_ITEMS} keys x ${LIMITS_PER_ITEM} limits`,
      body: JSON.stringify({ keys: limited }),
    },
    { ...createKeys, what: 'keys, by a root key without the right', body: keys, rootKey: 'without the right' },
    { ...createKeys, what: 'keys, by a root key with the right', body: keys, rootKey: whole },
    {
      ...createKeys,
      what: 'invalid keys, by a root key with the right',
      body: filled(MAX_KEYS_BODY_BYTES, frame, () => '{"unknown":1}'),
      rootKey: whole,
    },
    {
      ...open,
      path: '/v1/migrations.createKeys',
      what: 'invalid imports, by a root key with the right',
      body: filled(MAX_IMPORT_BODY_BYTES, ['[', ']'], (i) =>
        JSON.stringify({ apiId, plaintext: `made-elsewhere-${i}`, meta: { words: manyWords(i) } }),
      ),
      rootKey: whole,
    },
    {
      ...open,
      path: '/v1/keys.verifyKey',
      what: '500 verifications in one write',
      body: JSON.stringify({ key }),
      count: 500,
    },
    { ...open, path: '/v1/keys.verifyKey', what: 'small verifications', body: JSON.stringify({ key }) },
    {
      ...open,
      path: '/v1/keys.verifyKey',
      what: 'small invalid verifications',
      body: filled(MAX_VERIFY_BODY_BYTES, ['{', '}'], unknownField),
    },
    {
      ...open,
      method: 'GET',
      path: `/v1/keys.forwardAuth?${SHORT_PARAMETERS}`,
      what: 'queries of a gateway',
      body: '',
    },
    {
      ...open,
      method: 'GET',
      path: `/v1/apis.listKeys?${times(2_500, (i) => `x${i}`).join('&')}`,
      what: 'queries, by a root key with the right',
      body: '',
      rootKey: whole,
    },
  ];
}
