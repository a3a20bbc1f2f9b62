import { afterEach, describe, expect, test } from 'bun:test';

import { VerificationQuota } from '../../../src/engine/perSecondQuotas.ts';
import { TestService } from '../../support/service.ts';
import { tablesOf } from '../imports/imported.ts';

let service: TestService;

async function start(settings: Record<string, string>): Promise<void> {
  service = await TestService.start({ settings });
}

afterEach(async () => {
  await service.close();
});

/** Sends what must be refused, and must leave nothing behind. */
async function refused(path: string, body: object) {
  const before = tablesOf(service);
  const answer = await service.call(path, body);
  expect(tablesOf(service)).toEqual(before);
  return [answer.status, answer.body.error.code, answer.body.error.message];
}

const quotaReached = (max: number, what: string, count = 1): [number, string, string] => [
  412,
  'PRECONDITION_FAILED',
  `This installation is limited to ${max} ${what} (KEYSTILE_MAX_${what.toUpperCase()}); ${count} more would exceed the quota.`,
];

describe('KEYSTILE_MAX_KEYS', () => {
  const three = { KEYSTILE_MAX_KEYS: '3' };

  test('the key after the last that may be is refused, in words that name the setting', async () => {
    await start(three);
    const apiId = await service.createApi();
    for (let i = 0; i < 3; i++) await service.createKey({ apiId });
    expect(await refused('/v1/keys.createKey', { apiId })).toEqual(quotaReached(3, 'keys'));
    expect(await refused('/v1/keys.createKey', { apiId: await service.createApi() })).toEqual(quotaReached(3, 'keys'));
  });

  test('a deleted key makes room, softly or for good; a restored one takes it', async () => {
    await start(three);
    const apiId = await service.createApi();
    const keys = [
      await service.createKey({ apiId }),
      await service.createKey({ apiId }),
      await service.createKey({ apiId }),
    ];
    const [first = '', second = ''] = keys.map(({ keyId }) => keyId);
    await service.ok('/v1/keys.deleteKey', { keyId: first });
    await service.createKey({ apiId });
    expect(await refused('/v1/keys.restoreKey', { keyId: first })).toEqual(quotaReached(3, 'keys'));
    await service.ok('/v1/keys.deleteKey', { keyId: second, permanent: true });
    await service.ok('/v1/keys.restoreKey', { keyId: first });
    expect(await refused('/v1/keys.createKey', { apiId })).toEqual(quotaReached(3, 'keys'));
    await service.ok('/v1/apis.deleteKeys', { apiId });
    await service.createKey({ apiId });
  });

  test('an import fits as a whole or not at all', async () => {
    await start(three);
    const apiId = await service.createApi();
    await service.createKey({ apiId });
    const items = ['a', 'b', 'c'].map((name) => ({ apiId, plaintext: `secret-made-elsewhere-${name}` }));
    expect(await refused('/v1/migrations.createKeys', items)).toEqual(quotaReached(3, 'keys', 3));
    await service.ok('/v1/migrations.createKeys', items.slice(0, 2));
    expect(await refused('/v1/migrations.createKeys', items.slice(2))).toEqual(quotaReached(3, 'keys'));
  });

  test('keys that are created together fit as a whole or not at all', async () => {
    await start(three);
    const apiId = await service.createApi();
    await service.createKey({ apiId });
    expect(await refused('/v1/keys.createKeys', { apiId, keys: [{}, {}, {}] })).toEqual(quotaReached(3, 'keys', 3));
    await service.ok('/v1/keys.createKeys', { apiId, keys: [{}, {}] });
    expect(await refused('/v1/keys.createKeys', { apiId, keys: [{}] })).toEqual(quotaReached(3, 'keys'));
  });

  test('is never exceeded by creations at the same time, and is reached', async () => {
    await start({ KEYSTILE_MAX_KEYS: '10' });
    const apiId = await service.createApi();
    const create = () => service.call('/v1/keys.createKey', { apiId });
    const answers = await Promise.all(Array.from({ length: 50 }, create));
    const made = answers.filter(({ status }) => status === 200).length;
    expect(answers.every(({ status }) => status === 200 || status === 412)).toBe(true);
    const total = async () => (await service.ok('/v1/apis.listKeys', { apiId })).total;
    expect(await total()).toBe(made);
    for (let i = made; i < 10; i++) expect((await create()).status).toBe(200);
    expect([await total(), (await create()).status]).toEqual([10, 412]);
  });

  test('holds after a restart', async () => {
    await start(three);
    const apiId = await service.createApi();
    for (let i = 0; i < 3; i++) await service.createKey({ apiId });
    await service.restart();
    expect(await refused('/v1/keys.createKey', { apiId })).toEqual(quotaReached(3, 'keys'));
  });

  test('of 0 lets none be made, and everything else go on', async () => {
    await start({ KEYSTILE_MAX_KEYS: '0' });
    const apiId = await service.createApi();
    expect(await refused('/v1/keys.createKey', { apiId })).toEqual(quotaReached(0, 'keys'));
    expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(0);
  });
});

describe('KEYSTILE_MAX_APIS', () => {
  test('the api after the last that may be is refused; a deleted one makes room', async () => {
    await start({ KEYSTILE_MAX_APIS: '2' });
    const [first] = [await service.createApi(), await service.createApi()];
    expect(await refused('/v1/apis.createApi', { name: 'third' })).toEqual(quotaReached(2, 'apis'));
    await service.ok('/v1/apis.deleteApi', { apiId: first });
    await service.createApi();
    expect(await refused('/v1/apis.createApi', { name: 'fourth' })).toEqual(quotaReached(2, 'apis'));
  });
});

test('without a setting there is no quota', async () => {
  await start({});
  const { config } = service.composed.service;
  expect([config.maxKeys, config.maxApis, config.maxVerificationsPerSecond]).toEqual([null, null, null]);
});

describe('KEYSTILE_MAX_VERIFICATIONS_PER_SECOND', () => {
  const settings = { KEYSTILE_VERIFY_AUTH: 'required', KEYSTILE_MAX_VERIFICATIONS_PER_SECOND: '3' };
  const MESSAGE =
    'This root key may verify 3 keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); try again in a second.';

  const newRootKey = async (): Promise<string> =>
    (await service.engine.rootKeys.create({ name: null, rights: ['api.*.verify_key'], expiresAtMs: null })).secret;

  const verify = (key: string, rootKey: string) => service.call('/v1/keys.verifyKey', { key }, { rootKey });

  test('the fourth verification in a second is a 429 that takes nothing, until the next second', async () => {
    await start(settings);
    const { key, keyId } = await service.createKey({ remaining: 10 });
    const rootKey = await newRootKey();
    for (let i = 0; i < 3; i++) expect((await verify(key, rootKey)).body.code).toBe('VALID');
    service.clock.advance(999);
    const answer = await verify(key, rootKey);
    expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([429, 'RATE_LIMITED', MESSAGE]);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(7);
    service.clock.advance(1);
    for (let i = 0; i < 3; i++) expect((await verify(key, rootKey)).status).toBe(200);
    expect((await verify(key, rootKey)).status).toBe(429);
  });

  test('counts each root key for itself, and every verdict, also one that is not valid', async () => {
    await start(settings);
    const { key } = await service.createKey();
    const [one, two] = [await newRootKey(), await newRootKey()];
    for (let i = 0; i < 3; i++) expect((await verify('nobody-has-this-key', one)).body.code).toBe('NOT_FOUND');
    expect((await verify(key, one)).status).toBe(429);
    expect((await verify(key, two)).body.code).toBe('VALID');
  });

  test('a list of keys counts each of them, and is taken as a whole or not at all', async () => {
    await start(settings);
    const { key, keyId } = await service.createKey({ remaining: 10 });
    const rootKey = await newRootKey();
    const ask = (count: number) =>
      service.call('/v1/keys.verifyKeys', { keys: Array.from({ length: count }, () => ({ key })) }, { rootKey });
    expect((await ask(2)).status).toBe(200);
    const refusedAnswer = await ask(2);
    expect([refusedAnswer.status, refusedAnswer.body.error.message]).toEqual([429, MESSAGE]);
    expect((await ask(1)).status).toBe(200);
    expect((await ask(1)).status).toBe(429);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(7);
  });

  test('a list that is larger than the quota is told that it can never pass, and takes nothing', async () => {
    await start(settings);
    const { key } = await service.createKey();
    const rootKey = await newRootKey();
    const keys = Array.from({ length: 4 }, () => ({ key }));
    const { status, body } = await service.call('/v1/keys.verifyKeys', { keys }, { rootKey });
    expect([status, body.error.code, body.error.message]).toEqual([
      429,
      'RATE_LIMITED',
      'A list of 4 keys can never be verified: this root key may verify 3 keys a second (KEYSTILE_MAX_VERIFICATIONS_PER_SECOND); send shorter lists.',
    ]);
    expect((await service.call('/v1/keys.verifyKeys', { keys: keys.slice(1) }, { rootKey })).status).toBe(200);
  });

  test('what cannot be asked is not counted: a body that is wrong, a root key without the right', async () => {
    await start(settings);
    const { key } = await service.createKey();
    const rootKey = await newRootKey();
    for (let i = 0; i < 5; i++) {
      expect((await service.call('/v1/keys.verifyKey', { key: 5 }, { rootKey })).status).toBe(400);
    }
    for (let i = 0; i < 3; i++) expect((await verify(key, rootKey)).status).toBe(200);
  });

  test('where verifying needs no root key, each address is counted for itself, and a block of IPv6 together', async () => {
    await start({ KEYSTILE_MAX_VERIFICATIONS_PER_SECOND: '3', KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' });
    const { key, keyId } = await service.createKey({ remaining: 20 });
    const from = (peer: string, headers: Record<string, string> = {}) =>
      service.call('/v1/keys.verifyKey', { key }, { rootKey: null, peer, headers });
    for (let i = 0; i < 3; i++) expect((await from('192.0.2.1')).body.code).toBe('VALID');
    const answer = await from('192.0.2.1');
    expect([answer.status, answer.body.error.message]).toEqual([429, MESSAGE.replace('root key', 'address')]);
    // The header of a peer that is no trusted proxy does not change who it is.
    expect((await from('192.0.2.1', { 'x-forwarded-for': '192.0.2.9' })).status).toBe(429);
    expect((await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).status).toBe(429);
    expect((await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.2' })).status).toBe(200);
    for (const host of ['1', '2', '3']) expect((await from(`2001:db8::${host}`)).status).toBe(200);
    expect((await from('2001:db8::4')).status).toBe(429);
    expect((await from('2001:db8:0:1::4')).status).toBe(200);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(12);
    service.clock.advance(1000);
    expect((await from('192.0.2.1')).status).toBe(200);
  });

  test('addresses without end take no memory: those beyond the ones that are counted share a quota', () => {
    const quota = new VerificationQuota(1, 2);
    const take = (name: string, nowMs = 0): void => quota.take({ kind: 'address', name }, 1, nowMs);
    for (const name of ['a', 'b', 'c']) take(name);
    expect(() => take('d')).toThrow('This address may verify 1 keys a second');
    take('d', 1000);
  });

  test('a clock that is set back begins another second', async () => {
    await start(settings);
    const { key } = await service.createKey();
    const rootKey = await newRootKey();
    for (let i = 0; i < 3; i++) await verify(key, rootKey);
    service.clock.advance(-5000);
    expect((await verify(key, rootKey)).status).toBe(200);
  });
});

describe('KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND', () => {
  const settings = { KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND: '3' };
  const message =
    'This root key may make 3 management calls a second (KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND); try again in a second.';
  const list = (rootKey?: string) => service.call('/v1/apis.listApis', {}, rootKey === undefined ? {} : { rootKey });

  test('one more call in a second is a 429 that says when to come again, and the next second is a new one', async () => {
    await start(settings);
    expect(await Promise.all([1, 2, 3].map(async () => (await list()).status))).toEqual([200, 200, 200]);
    const answer = await list();
    expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([429, 'RATE_LIMITED', message]);
    expect(answer.headers.get('retry-after')).toBe('1');
    service.clock.advance(1000);
    expect((await list()).status).toBe(200);
  });

  test('each root key has its own, and a call that is refused for its rights does not count', async () => {
    await start(settings);
    const { secret } = await service.engine.rootKeys.create({
      name: null,
      rights: ['api.*.read_api'],
      expiresAtMs: null,
    });
    for (let i = 0; i < 4; i++) await list();
    for (let i = 0; i < 10; i++) await service.call('/v1/plans.listPlans', {}, { rootKey: secret });
    expect((await list(secret)).status).toBe(200);
  });

  test('verifications, standalone limits and the ends of reservations do not count: a customer waits for them', async () => {
    await start(settings);
    const { key } = await service.createKey({ remaining: 100 });
    service.clock.advance(1000);
    const reserved = await service.ok('/v1/reservations.create', { key, cost: 1 }, { rootKey: null });
    for (let i = 0; i < 10; i++) {
      await service.verify(key);
      await service.ok('/v1/ratelimits.limit', { namespace: 'any', identifier: 'a', limit: 100, duration: 60_000 });
    }
    await service.ok('/v1/reservations.release', { reservationId: reserved.reservationId });
    expect((await list()).status).toBe(200);
  });
});

describe('KEYSTILE_MAX_MANAGEMENT_BYTES_PER_SECOND', () => {
  test('bodies beyond it are a 429 in that second, before they are looked at', async () => {
    await start({ KEYSTILE_MAX_MANAGEMENT_BYTES_PER_SECOND: '4194304' });
    const send = (bytes: number) => service.call('/v1/migrations.createKeys', undefined, { raw: 'x'.repeat(bytes) });
    expect((await send(4_194_304 - 10)).status).toBe(400);
    const answer = await send(11);
    expect([answer.status, answer.headers.get('retry-after'), answer.body.error.message]).toEqual([
      429,
      '1',
      'This root key may send 4194304 bytes of management calls a second (KEYSTILE_MAX_MANAGEMENT_BYTES_PER_SECOND); try again in a second.',
    ]);
    // What fits still fits.
    expect((await send(10)).status).toBe(400);
    service.clock.advance(1000);
    expect((await send(4_194_304)).status).toBe(400);
  });
});
