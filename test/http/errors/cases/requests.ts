import { rootKeyWith } from '../refusal.ts';
import { type Case, create, get, post, raw, update } from './case.ts';

/** What is wrong before an endpoint looks at its fields: bodies, routes, parameters and root keys. */

export const BODIES: readonly Case[] = [
  ['an empty body', () => raw('apis.createApi', '')],
  ['malformed JSON', () => raw('apis.createApi', '{"name":')],
  ['a member twice', () => raw('apis.createApi', '{"name":"a","name":"b"}')],
  ['nesting over 32', () => raw('apis.createApi', '['.repeat(33))],
  ['a body that is not UTF-8', () => raw('apis.createApi', Uint8Array.of(0x22, 0xff, 0x22))],
  [
    'a text of a body that is not UTF-8',
    ({ apiId }) =>
      raw(
        'keys.createKey',
        Buffer.concat([
          Buffer.from(`{"apiId":"${apiId}","name":"`),
          Uint8Array.of(0xff, 0xc0, 0x80),
          Buffer.from('"}'),
        ]),
      ),
  ],
  ['a body that is a list', () => raw('apis.createApi', '[]')],
  ['a body over 64 KiB', () => raw('apis.createApi', ' '.repeat(65_537))],
  ['a verification over 8 KiB', () => raw('keys.verifyKey', ' '.repeat(8193))],
  ['a body that is no JSON', () => raw('apis.createApi', '{}', { headers: { 'content-type': 'text/plain' } })],
  ['a missing field', () => post('apis.createApi', {})],
  ['a field in the query of a POST', ({ keyId }) => post(`keys.getKey?keyId=${keyId}`, {})],
  ['an unknown field with a near one', () => post('apis.createApi', { nmae: 'x', name: 'abc' })],
  ['an unknown field', () => post('apis.createApi', { qqqqqqq: 'x', name: 'abc' })],
  ['several at once', create({ name: 5, remaining: '5', meta: [], enabled: null, refill: { interval: 'yearly' } })],
  [
    'numbers',
    () => raw('keys.createKey', '{"apiId":"a","remaining":1e400,"byteLength":9007199254740993,"expires":1.5}'),
  ],
  ['strings', create({ name: '', environment: 'e'.repeat(257), externalId: '\u0000', prefix: 'a b' })],
  ['lists', create({ ratelimits: Array.from({ length: 51 }, () => ({})), ipAllowlist: 'x' })],
  ['a union with null', update({ remaining: 'x', name: 5, refill: 'daily' })],
];

export const ROUTING: readonly Case[] = [
  ['a wrong method', () => get('/v1/keys.createKey')],
  ['a wrong method of a GET endpoint', () => ({ path: '/v1/keys.getKey', options: { method: 'DELETE' } })],
  ['a route near a known one', () => get('/v1/keys.getKeys')],
  ['a route near none', () => get('/robots.txt')],
  ...['keys.createKeyz', 'keys.verifykey', 'apis.getAPI', 'something.else', 'keys.createKey/', '%6beys.deleteKeys'].map(
    (method): Case => [`the route ${method}`, () => post(method, {})],
  ),
  ['a route of 5001 characters', () => ({ path: `/${'x'.repeat(5000)}`, body: {} })],
];

const LIMITS = ['0', '101', '-1', '1.5', '1e1', '0x10', '%2010', '', '1&limit=2'].map((limit) => `limit=${limit}`);
const OTHERS = ['decrypt=True', 'decrypt=1', 'decrypt', 'decrypt=no', 'apiID=x', '__proto__=x'];

export const PARAMETERS: readonly Case[] = [
  ...[...LIMITS, ...OTHERS].map((query): Case => [
    query,
    ({ apiId }) => get(`/v1/apis.listKeys?apiId=${apiId}&${query}`),
  ]),
  ['apiId twice', () => get('/v1/apis.getApi?apiId=a&apiId=b')],
  ['keyId twice', ({ keyId }) => get(`/v1/keys.getKey?keyId=${keyId}&keyId=${keyId}`)],
  ['decrypt=true', ({ keyId }) => get(`/v1/keys.getKey?keyId=${keyId}&decrypt=true`)],
];

const createApi = (rootKey: string | null) => post('apis.createApi', { name: 'abc' }, { rootKey });

/** Reads keys and identities, but none that exist. */
const OTHER = ['api.other.read_key', 'identity.other.read_identity', 'identity.other.update_identity'];

export const ACCESS: readonly Case[] = [
  ['no root key', () => createApi(null)],
  ['an unknown root key', () => createApi('root_unknown')],
  ['an API key', ({ key }) => createApi(key)],
  [
    'a revoked root key',
    async ({ service }) => {
      const { rootKey, secret } = await service.engine.rootKeys.create({
        name: null,
        rights: ['*'],
        expiresAtMs: null,
      });
      await service.engine.rootKeys.revoke(rootKey.id);
      return createApi(secret);
    },
  ],
  [
    'an expired root key',
    async ({ service }) => {
      const expiresAtMs = service.clock.nowMs() + 1;
      const { secret } = await service.engine.rootKeys.create({ name: null, rights: ['*'], expiresAtMs });
      service.clock.advance(1);
      return createApi(secret);
    },
  ],
  ['a right that is lacking', async ({ service }) => createApi(await rootKeyWith(service, 'api.*.read_api'))],
  ...(
    [
      ['keys.whoami', 'key'],
      ['identities.getIdentity', 'externalId'],
      ['identities.updateIdentity', 'externalId'],
    ] as const
  ).map(([method, name]): Case => [
    `${method} of what the root key may not see`,
    async (setup) => post(method, { [name]: setup[name] }, { rootKey: await rootKeyWith(setup.service, ...OTHER) }),
  ]),
];
