import { afterAll, beforeAll, expect, test, describe } from 'bun:test';

import { Value } from 'typebox/value';

import { openApi } from '../../../src/http/docs/openApi.ts';
import { type Answer, type CallOptions, TestService } from '../../support/service.ts';
import { type Document, inlined, responsesOf } from '../docs/document.ts';
import { ENDPOINTS, OPEN } from '../docs/endpoints.ts';
import { realRequest, recordsFor, spellings } from '../errors/records.ts';

describe('a tour through all endpoints', () => {
  /** A tour of all endpoints: what is really answered fits what /openapi.json says of it. */
  let service: TestService;
  const document = openApi(null) as unknown as Document;
  const visited = new Set<string>();

  beforeAll(async () => {
    service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  });

  afterAll(async () => {
    await service.close();
  });

  async function visit(path: string, body?: object, options: CallOptions = {}): Promise<Answer> {
    const answer = await service.call(path, body, options);
    const [plain = ''] = path.split('?');
    const method = (options.method ?? 'POST').toLowerCase();
    const operation = document.paths[plain]?.[method] ?? Object.values(document.paths[plain] ?? {})[0];
    const isDone = answer.status < 300;
    const schema = responsesOf(document, operation)[String(answer.status)]?.content['application/json']?.schema;
    if (schema === undefined) throw new Error(`${method} ${plain} is documented with no ${answer.status}`);
    expect([plain, answer.status, Value.Errors(inlined(document, schema), answer.body)]).toEqual([
      plain,
      answer.status,
      [],
    ]);
    if (isDone) visited.add(plain);
    return answer;
  }

  const EVERYTHING = {
    prefix: 'demo',
    name: 'n',
    externalId: 'user_1',
    meta: { a: 1 },
    expires: Date.parse('2027-01-01T00:00:00Z'),
    remaining: 5,
    refill: { interval: 'monthly', amount: 5, refillDay: 31, timezone: 'Europe/Berlin', mode: 'add', max: 50 },
    ratelimit: { limit: 3, duration: 60_000 },
    ratelimits: [{ name: 'strict', limit: 9, duration: 60_000, async: false }],
    ipAllowlist: ['203.0.113.0/24'],
    environment: 'live',
  };

  test('every answer of a tour through all endpoints fits its schema, and no endpoint is left out', async () => {
    const { apiId } = (await visit('/v1/apis.createApi', { name: 'payments' })).body;
    await visit('/v1/apis.getApi', { apiId });
    await visit(`/v1/apis.getApi?apiId=${apiId}`, undefined, { method: 'GET' });
    await visit('/v1/apis.createApi', { name: 'second' });
    expect((await visit('/v1/apis.listApis', { limit: 1 })).body).toHaveProperty('cursor');
    await visit('/v1/apis.listApis', {});
    const plain = (await visit('/v1/keys.createKey', { apiId })).body;
    const full = (await visit('/v1/keys.createKey', { apiId, ...EVERYTHING })).body;
    for (const { key } of [plain, full]) await visit('/v1/keys.verifyKey', { key }, { rootKey: null });
    for (const { keyId } of [plain, full]) await visit('/v1/keys.getKey', { keyId });
    expect((await visit('/v1/apis.listKeys', { apiId, limit: 1 })).body).toHaveProperty('cursor');
    await visit('/v1/apis.listKeys', { apiId, ownerId: 'user_1' });
    await visit('/v1/keys.updateKey', { keyId: plain.keyId, ...EVERYTHING, prefix: undefined });
    service.clock.set('2026-04-01T00:00:00Z');
    await visit('/v1/keys.getKey', { keyId: full.keyId });
    await visit('/v1/keys.updateRemaining', { keyId: full.keyId, op: 'increment', value: 5 });
    await visit('/v1/keys.updateRemaining', { keyId: full.keyId, op: 'set', value: null });
    await visit('/v1/keys.updateKey', { keyId: full.keyId, enabled: false });
    await visit('/v1/keys.verifyKey', { key: full.key }, { rootKey: null });
    await visit('/v1/keys.deleteKey', { keyId: full.keyId });
    await visit('/v1/keys.verifyKey', { key: full.key }, { rootKey: null });
    const forwarded = await visit('/v1/keys.forwardAuth', undefined, { method: 'GET', rootKey: plain.key });
    expect(forwarded.status).toBe(200);
    for (const path of ['/v1/liveness', '/v1/readiness']) await visit(path, undefined, { method: 'GET' });
    for (const endpoint of ENDPOINTS) {
      for (const spelt of spellings(endpoint)) {
        if (spelt.path.includes('.create') && spelt.example.request !== endpoint.example.request) continue;
        const answer = await visit(spelt.path, realRequest(spelt, await recordsFor(service, spelt)));
        expect([spelt, answer.status < 300 ? '' : answer.text]).toEqual([spelt, '']);
      }
    }
    expect([...visited].sort()).toEqual(Object.keys(document.paths).sort());
  });

  test('every refusal of a tour fits the error schema, with a status that is documented there', async () => {
    const { apiId, keyId, key } = await service.createKey({ remaining: 1 });
    const forward = async (query: string, rootKey: string | null) =>
      (await visit(`/v1/keys.forwardAuth${query}`, undefined, { method: 'GET', rootKey })).status;
    expect(await forward('', null)).toBe(401);
    expect(await forward('', 'unknown')).toBe(401);
    expect(await forward('?permission=a', key)).toBe(403);
    expect(await forward('?cost=2', key)).toBe(429);
    expect(await forward('?nonsense=1', key)).toBe(400);
    for (const path of Object.keys(document.paths).filter((name) => name.includes('.'))) {
      await visit(path, { nonsense: 1 });
      await visit(path, { apiId, keyId, key }, { headers: { 'content-type': 'text/plain' } });
      await visit(path, undefined, { method: 'PUT' });
      if (!OPEN.some((open) => open.path === path)) await visit(path, {}, { rootKey: null });
    }
    await visit('/v1/keys.getKey', { keyId: 'key_unknown' });
    await visit('/v1/keys.getKey', { keyId, decrypt: true });
    await visit('/v1/keys.createKey', { apiId: 'api_unknown' });
    await visit('/v1/keys.createKey', { apiId, recoverable: true });
    await visit('/v1/keys.verifyKey', { key, idempotencyKey: 'order-0001' });
    await visit('/v1/keys.verifyKey', { key, idempotencyKey: 'order-0001', remaining: { cost: 0 } });
  });

  test('a service that has stopped answering says so in readiness, as documented', async () => {
    service.engine.verifier.stop('The database has failed; nothing more is answered from it.');
    const answer = await visit('/v1/readiness');
    expect([answer.status, answer.body]).toEqual([
      503,
      { ready: false, reasons: ['The database has failed; nothing more is answered from it.'], warnings: [] },
    ]);
    await visit('/v1/liveness');
    await visit('/v1/keys.verifyKey', { key: 'demo_x' });
  });
});

const CERTIFICATE = { KEYSTILE_TLS_CERT: '/cert.pem', KEYSTILE_TLS_KEY: '/key.pem' };
const HEADER = 'max-age=31536000';

test.each<[string, Record<string, string>, string | null]>([
  ['behind a proxy that ends TLS', { KEYSTILE_PUBLIC_URL: 'https://keys.example.com' }, HEADER],
  ['with a certificate', { KEYSTILE_HOST: '0.0.0.0', ...CERTIFICATE }, HEADER],
  ['with a certificate and a public name', { ...CERTIFICATE, KEYSTILE_PUBLIC_URL: 'https://keys.example.com' }, HEADER],
  ['over plain HTTP', { KEYSTILE_PUBLIC_URL: 'http://keys.example.com' }, null],
  ['on this machine, with a certificate', CERTIFICATE, null],
  ['as localhost', { KEYSTILE_PUBLIC_URL: 'https://localhost:8443' }, null],
  ['where it is off', { KEYSTILE_PUBLIC_URL: 'https://keys.example.com', KEYSTILE_HSTS: 'off' }, null],
])('browsers are told to use HTTPS only, or not: %s', async (_where, settings, expected) => {
  const service = await TestService.start({ settings });
  for (const path of ['/dashboard', '/portal', '/docs', '/v1/liveness', '/v1/unknown', '/v1/apis.listApis']) {
    const answer = await service.call(path, undefined, { method: 'GET', headers: { host: 'keys.example.com' } });
    expect([path, answer.headers.get('strict-transport-security')]).toEqual([path, expected]);
  }
  await service.close();
});

test('a service on all addresses tells it to nobody who calls it by a name of this machine', async () => {
  const service = await TestService.start({ settings: { KEYSTILE_HOST: '0.0.0.0', ...CERTIFICATE } });
  for (const [host, expected] of [
    ['localhost:7878', null],
    ['127.0.0.1', null],
    ['[::1]:7878', null],
    ['keys.internal:7878', HEADER],
  ] as const) {
    const answer = await service.call('/dashboard', undefined, { method: 'GET', headers: { host } });
    expect([host, answer.headers.get('strict-transport-security')]).toEqual([host, expected]);
  }
  await service.close();
});
