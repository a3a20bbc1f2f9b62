import { afterEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { codeOf, forward } from './forwardSetup.ts';

let service: TestService;

async function start(settings: Record<string, string> = {}): Promise<void> {
  service = await TestService.start({ settings });
}

afterEach(async () => {
  await service.close();
});

describe('the key of the client', () => {
  test('comes from Authorization or X-API-Key, or from both when they are equal', async () => {
    await start();
    const { key } = await service.createKey();
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { authorization: `bearer  ${key}` },
      { 'x-api-key': key },
      { authorization: `Bearer ${key}`, 'x-api-key': key },
      { authorization: 'Basic YTpi', 'x-api-key': key },
    ]) {
      expect(codeOf(await forward(service, null, { headers }))).toEqual([200, 'VALID']);
    }
  });

  test('without one key that is clear the answer is a 401, and nothing is taken', async () => {
    await start();
    const { key, keyId } = await service.createKey({ remaining: 5 });
    const { key: other } = await service.createKey({ remaining: 5 });
    const cases: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: key },
      { authorization: `Basic ${key}` },
      { authorization: `Bearer ${key}, Bearer ${other}` },
      { authorization: `Bearer ${key}, Bearer ${key}` },
      { authorization: `Basic YTpi, Bearer ${key}` },
      { authorization: `Bearer ${key} x` },
      { authorization: `Bearer ${key}`, 'x-api-key': other },
      { authorization: `Bearer ${key}, Bearer ${other}`, 'x-api-key': key },
      { authorization: 'Bearer', 'x-api-key': key },
      { 'x-api-key': `${key}, ${other}` },
      { 'x-api-key': '' },
      { authorization: `Bearer ${key}`, 'x-api-key': '' },
      { cookie: `key=${key}`, 'proxy-authorization': `Bearer ${key}`, 'keystile-key': key },
    ];
    for (const headers of cases) {
      const answer = await forward(service, null, { headers });
      expect([headers, ...codeOf(answer)]).toEqual([headers, 401, 'UNAUTHORIZED']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="keystile"');
      expect(answer.text).not.toContain(key);
    }
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
  });

  test('a text that no key can be is an unknown key', async () => {
    await start();
    for (const key of ['x', 'x'.repeat(5_000), '\u00e9\u00e9', 'a"b\\c']) {
      expect(codeOf(await forward(service, key))).toEqual([401, 'NOT_FOUND']);
    }
  });
});

describe('KEYSTILE_VERIFY_AUTH=required', () => {
  const required = { KEYSTILE_VERIFY_AUTH: 'required' };
  const withRoot = (secret: string) => ({ headers: { 'keystile-root-key': secret } });

  test('the root key stands in Keystile-Root-Key, and its rights hold', async () => {
    await start(required);
    const [mine, other] = [await service.createKey(), await service.createKey()];
    const rights = [`api.${mine.apiId}.verify_key`];
    const { secret } = await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
    expect(codeOf(await forward(service, mine.key, withRoot(secret)))).toEqual([200, 'VALID']);
    expect(codeOf(await forward(service, other.key, withRoot(secret)))).toEqual([401, 'NOT_FOUND']);
  });

  test('without a good root key of the gateway the answer is a 403, never a 401, and nothing is taken', async () => {
    await start(required);
    const { key, keyId } = await service.createKey({ remaining: 5 });
    const { secret } = await service.engine.rootKeys.create({
      name: null,
      rights: ['api.*.read_key'],
      expiresAtMs: null,
    });
    const missing = 'The root key of the gateway is missing: let the gateway set the header Keystile-Root-Key, once.';
    const unknown =
      'The root key that the gateway set in Keystile-Root-Key is refused. This root key is unknown. Check that it is complete, and that it is one of this service.';
    for (const [client, headers, message] of [
      [key, {}, missing],
      // Neither a key of a client is a root key, nor a root key in the place of the client's key.
      [service.rootKey, {}, missing],
      [key, { 'keystile-root-key': `${service.rootKey}, ${service.rootKey}` }, missing],
      [key, { 'keystile-root-key': '' }, missing],
      [key, { 'keystile-root-key': 'root_wrong' }, unknown],
      [key, { 'keystile-root-key': key }, unknown],
      [key, { 'keystile-root-key': secret }, 'This root key lacks the right api.*.verify_key.'],
    ] as const) {
      const { status, body } = await forward(service, client, { headers });
      expect([status, body.error.code, body.error.message]).toEqual([403, 'INSUFFICIENT_PERMISSIONS', message]);
    }
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
  });

  test('the quota of the root key holds: 429, or 403 that says so', async () => {
    await start({ ...required, KEYSTILE_MAX_VERIFICATIONS_PER_SECOND: '1' });
    const { key } = await service.createKey();
    const options = withRoot(service.rootKey);
    expect((await forward(service, key, options)).status).toBe(200);
    const over = await forward(service, key, options);
    expect([...codeOf(over), over.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '1']);
    const denied = await forward(service, key, { ...options, query: '?deny=403' });
    expect([...codeOf(denied), denied.headers.get('retry-after')]).toEqual([403, 'RATE_LIMITED', '1']);
  });
});

test('where everyone may verify, Keystile-Root-Key is not looked at', async () => {
  await start();
  const { key } = await service.createKey();
  expect((await forward(service, key, { headers: { 'keystile-root-key': 'root_wrong' } })).status).toBe(200);
});

describe('the address that an allowlist sees', () => {
  const fromClient = (peer: string, forwarded?: string) => ({
    peer,
    headers: {
      // Only X-Forwarded-For counts, and only of a trusted gateway.
      'x-real-ip': '192.0.2.1',
      'keystile-client-ip': '192.0.2.1',
      forwarded: 'for=192.0.2.1',
      ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
    },
  });

  test.each([
    [{}, '192.0.2.1', undefined, 200],
    [{}, '10.0.0.1', '192.0.2.1', 403],
    [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', '192.0.2.1', 200],
    [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', '192.0.2.1, 198.51.100.1', 403],
    [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', '198.51.100.1, 192.0.2.1', 200],
    [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.1', undefined, 403],
    [{ KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, '10.0.0.2', '192.0.2.1', 403],
  ] as const)('with %o, from %s for %s: %i', async (settings, peer, forwarded, status) => {
    await start(settings);
    const { key } = await service.createKey({ ipAllowlist: ['192.0.2.1'] });
    expect((await forward(service, key, fromClient(peer, forwarded))).status).toBe(status);
  });
});
