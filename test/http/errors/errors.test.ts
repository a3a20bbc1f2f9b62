import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type Answer, type CallOptions, TestService } from '../../support/service.ts';
import { shownError } from './shownError.ts';

/** The words of every error that a request can bring about by itself; `bun test --update-snapshots` takes new ones over. */

let service: TestService;
let apiId = '';
let keyId = '';
let key = '';

beforeAll(async () => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  ({ apiId, keyId, key } = await service.createKey({
    remaining: 5,
    ratelimits: [{ name: 'calls', limit: 5, duration: 60_000 }],
  }));
});

afterAll(async () => {
  await service.close();
});

const raw = (path: string, text: string, options: CallOptions = {}) =>
  service.call(path, undefined, { raw: text, ...options });
const get = (path: string) => service.call(path, undefined, { method: 'GET' });
const create = (fields: object) => service.call('/v1/keys.createKey', { apiId, ...fields });
const update = (fields: object) => service.call('/v1/keys.updateKey', { keyId, ...fields });
const verify = (fields: object, options: CallOptions = {}) =>
  service.call('/v1/keys.verifyKey', { key, ...fields }, options);
const withRights = async (...rights: string[]): Promise<string> =>
  (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

type Case = readonly [name: string, ask: () => Promise<Answer>];

const LIMIT = { limit: 1, duration: 1000 };

const BODIES: readonly Case[] = [
  ['an empty body', () => raw('/v1/apis.createApi', '')],
  ['malformed JSON', () => raw('/v1/apis.createApi', '{"name":')],
  ['a member twice', () => raw('/v1/apis.createApi', '{"name":"a","name":"b"}')],
  ['nesting over 32', () => raw('/v1/apis.createApi', '['.repeat(33))],
  [
    'a body that is not UTF-8',
    () => service.call('/v1/apis.createApi', undefined, { raw: new Uint8Array([0x22, 0xff, 0x22]) }),
  ],
  ['a body that is a list', () => raw('/v1/apis.createApi', '[]')],
  ['a body over 64 KiB', () => raw('/v1/apis.createApi', ' '.repeat(65_537))],
  ['a verification over 8 KiB', () => raw('/v1/keys.verifyKey', ' '.repeat(8193))],
  ['a body that is no JSON', () => raw('/v1/apis.createApi', '{}', { headers: { 'content-type': 'text/plain' } })],
  ['a missing field', () => service.call('/v1/apis.createApi', {})],
  ['an unknown field with a near one', () => service.call('/v1/apis.createApi', { nmae: 'x', name: 'abc' })],
  ['an unknown field', () => service.call('/v1/apis.createApi', { qqqqqqq: 'x', name: 'abc' })],
  [
    'several at once',
    () => create({ name: 5, remaining: '5', meta: [], enabled: null, refill: { interval: 'weekly' } }),
  ],
  [
    'numbers',
    () => raw('/v1/keys.createKey', '{"apiId":"a","remaining":1e400,"byteLength":9007199254740993,"expires":1.5}'),
  ],
  ['strings', () => create({ name: '', environment: 'e'.repeat(257), externalId: '\u0000', prefix: 'a b' })],
  ['lists', () => create({ ratelimits: Array.from({ length: 51 }, () => ({})), ipAllowlist: 'x' })],
  ['a union with null', () => update({ remaining: 'x', name: 5, refill: 'daily' })],
  ['a query parameter twice', () => get('/v1/apis.getApi?apiId=a&apiId=b')],
];

const ROUTING: readonly Case[] = [
  ['a wrong method', () => get('/v1/keys.createKey')],
  ['a wrong method of a GET endpoint', () => service.call('/v1/keys.getKey', undefined, { method: 'DELETE' })],
  ['a route near a known one', () => get('/v1/keys.getKeys')],
  ['a route near none', () => get('/favicon.ico')],
];

const FIELDS: readonly Case[] = [
  ['an unknown api', () => service.call('/v1/apis.getApi', { apiId: 'api_unknown' })],
  ['an unknown key', () => service.call('/v1/keys.getKey', { keyId: 'key_unknown' })],
  ['a recoverable key', () => create({ recoverable: true })],
  ['decrypt', () => service.call('/v1/keys.getKey', { keyId, decrypt: true })],
  ['an expiry in the past', () => create({ expires: 1 })],
  ['a refill without remaining', () => create({ refill: { interval: 'daily', amount: 1 } })],
  ['a refill with remaining cleared', () => update({ remaining: null, refill: { interval: 'daily', amount: 1 } })],
  ['refillDay with daily', () => create({ remaining: 1, refill: { interval: 'daily', amount: 1, refillDay: 1 } })],
  ['an unknown time zone', () => create({ remaining: 1, refill: { interval: 'daily', amount: 1, timezone: 'Mars' } })],
  ['max without add', () => create({ remaining: 1, refill: { interval: 'daily', amount: 1, max: 1 } })],
  ['a large meta', () => create({ meta: { a: 'x'.repeat(16_384) } })],
  ['a meta with many members', () => create({ meta: { a: Array.from({ length: 256 }, () => 1) } })],
  ['a meta with an inexact number', () => create({ meta: { a: 2 ** 53 } })],
  ['a meta with half characters', () => create({ meta: { a: '\ud800' } })],
  ['a ratelimit without numbers', () => create({ ratelimit: {} })],
  ['a limit named default', () => create({ ratelimits: [{ name: 'default', ...LIMIT }] })],
  ['a limit given twice', () => create({ ratelimits: ['a', 'a'].map((name) => ({ name, ...LIMIT })) })],
  ['no address', () => create({ ipAllowlist: ['here'] })],
  ['null with increment', () => service.call('/v1/keys.updateRemaining', { keyId, op: 'increment', value: null })],
  [
    'a counter that is not there',
    async () => {
      const plain = await service.createKey({ apiId });
      return service.call('/v1/keys.updateRemaining', { keyId: plain.keyId, op: 'increment', value: 1 });
    },
  ],
];

const VERIFYING: readonly Case[] = [
  ['an empty key', () => verify({ key: '' })],
  ['clientIp', () => verify({ clientIp: 'here' })],
  ['an unknown limit', () => verify({ ratelimits: [{ name: 'nope' }] })],
  ['no default limit', () => verify({ ratelimit: { cost: 1 } })],
  ['a limit named twice', () => verify({ ratelimits: [{ name: 'calls' }, { name: 'calls' }] })],
  ['async of a configured limit', () => verify({ ratelimits: [{ name: 'calls', async: true }] })],
  ['an idempotency key', () => verify({ idempotencyKey: 'x' })],
  ['an idempotency key in the header', () => verify({}, { headers: { 'idempotency-key': 'x' } })],
  [
    'two idempotency keys',
    () => verify({ idempotencyKey: 'order-0001' }, { headers: { 'idempotency-key': 'order-0002' } }),
  ],
  [
    'an idempotency key used again',
    async () => {
      await verify({ idempotencyKey: 'order-0003' });
      return verify({ idempotencyKey: 'order-0003', remaining: { cost: 0 } });
    },
  ],
];

const ACCESS: readonly Case[] = [
  ['no root key', () => service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: null })],
  ['an unknown root key', () => service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: 'root_unknown' })],
  ['an API key', () => service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: key })],
  [
    'a revoked root key',
    async () => {
      const rootKey = await service.engine.rootKeys.create({ name: null, rights: ['*'], expiresAtMs: null });
      await service.engine.rootKeys.revoke(rootKey.rootKey.id);
      return service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: rootKey.secret });
    },
  ],
  [
    'an expired root key',
    async () => {
      const expiresAtMs = service.clock.nowMs() + 1;
      const { secret } = await service.engine.rootKeys.create({ name: null, rights: ['*'], expiresAtMs });
      service.clock.advance(1);
      return service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: secret });
    },
  ],
  [
    'a right that is lacking',
    async () => service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: await withRights('api.*.read_api') }),
  ],
];

describe.each([
  ['bodies', BODIES],
  ['routing', ROUTING],
  ['fields', FIELDS],
  ['verifying', VERIFYING],
  ['access', ACCESS],
])('the words of errors: %s', (_group, cases) => {
  test.each(cases)('%s', async (_name, ask) => {
    const answer = await ask();
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(shownError(answer)).toMatchSnapshot();
  });
});
