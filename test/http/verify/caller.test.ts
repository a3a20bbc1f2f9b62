import { afterEach, describe, expect, test, beforeEach } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { reuseService } from '../../support/reusedService.ts';

describe('the root key of a verification', () => {
  const services: TestService[] = [];

  afterEach(async () => {
    for (const service of services.splice(0).toReversed()) await service.close();
  });

  async function start(settings: Record<string, string>, folder?: string): Promise<TestService> {
    const service = await TestService.start({ settings, ...(folder === undefined ? {} : { folder }) });
    services.push(service);
    return service;
  }

  /** The same data under other settings. */
  async function reopen(before: TestService, settings: Record<string, string>): Promise<TestService> {
    await before.stop();
    return start(settings, before.folder);
  }

  const rootKeyWith = async (service: TestService, ...rights: string[]): Promise<string> =>
    (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

  describe('KEYSTILE_VERIFY_AUTH=required', () => {
    const required = { KEYSTILE_VERIFY_AUTH: 'required' };

    test('a verification without a good root key is a 401, and takes nothing', async () => {
      const service = await start(required);
      const { key, keyId } = await service.createKey({ remaining: 5 });
      for (const [rootKey, message] of [
        [null, 'The root key is missing: send it as "Authorization: Bearer root_...".'],
        ['root_wrong', 'This root key is unknown. Check that it is complete, and that it is one of this service.'],
        [key, 'This root key is unknown. Check that it is complete, and that it is one of this service.'],
      ] as const) {
        const answer = await service.call('/v1/keys.verifyKey', { key }, { rootKey });
        expect([answer.status, answer.body.error.message]).toEqual([401, message]);
      }
      expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
    });

    test('a root key without the right is a 403 that names it', async () => {
      const service = await start(required);
      const { key } = await service.createKey();
      const rootKey = await rootKeyWith(service, 'api.*.read_key', 'api.*.create_key');
      const answer = await service.call('/v1/keys.verifyKey', { key }, { rootKey });
      expect([answer.status, answer.body.error.message]).toEqual([
        403,
        'This root key lacks the right api.*.verify_key.',
      ]);
    });

    test('keys of an api that the root key has no right on look like unknown ones', async () => {
      const service = await start(required);
      const mine = await service.createKey();
      const other = await service.createKey();
      const rootKey = await rootKeyWith(service, `api.${mine.apiId}.verify_key`);
      expect((await service.verify(mine.key, {}, { rootKey })).code).toBe('VALID');
      const { requestId: _own, ...hidden } = await service.verify(other.key, {}, { rootKey });
      const { requestId: _absent, ...absent } = await service.verify('demo_unknown', {}, { rootKey });
      expect(hidden).toEqual(absent);
      const everywhere = await rootKeyWith(service, 'api.*.verify_key');
      expect((await service.verify(other.key, {}, { rootKey: everywhere })).code).toBe('VALID');
    });
  });

  test('where verifying is open, the Authorization header is not looked at', async () => {
    const service = await start({});
    const { key } = await service.createKey();
    for (const rootKey of ['public', 'root_wrong', key]) {
      expect((await service.verify(key, {}, { rootKey })).code).toBe('VALID');
    }
  });

  describe('peppers', () => {
    const ONE = '1:first-pepper-0123456789';
    const TWO = '2:second-pepper-0123456789';

    test('keys and root keys made before a pepper was configured still work with one', async () => {
      const plain = await start({});
      const { key, keyId } = await plain.createKey({ remaining: 5 });
      const peppered = await reopen(plain, { KEYSTILE_PEPPER: ONE });
      expect(await peppered.verify(key)).toMatchObject({ valid: true, keyId, remaining: 4 });
      expect(await peppered.verify(key)).toMatchObject({ valid: true, remaining: 3 });
      const { status } = await peppered.call('/v1/keys.getKey', { keyId }, { rootKey: plain.rootKey });
      expect(status).toBe(200);
    });

    test('a rotated pepper: keys of the older version and of the new one work, and can be changed', async () => {
      const first = await start({ KEYSTILE_PEPPER: ONE });
      const old = await first.createKey({ name: 'old' });
      const rotated = await reopen(first, { KEYSTILE_PEPPER: `${TWO},${ONE}` });
      const made = await rotated.createKey({ name: 'new' });
      expect(await rotated.verify(old.key)).toMatchObject({ valid: true, name: 'old' });
      expect(await rotated.verify(made.key)).toMatchObject({ valid: true, name: 'new' });
      await rotated.ok('/v1/keys.updateKey', { keyId: old.keyId, enabled: false });
      expect((await rotated.verify(old.key)).code).toBe('DISABLED');
      await rotated.ok('/v1/keys.deleteKey', { keyId: old.keyId });
      expect((await rotated.verify(old.key)).code).toBe('NOT_FOUND');
    });

    test('a key of a pepper that is not configured any more is not found, nor is one under another pepper', async () => {
      const first = await start({ KEYSTILE_PEPPER: ONE });
      const { key } = await first.createKey();
      const second = await reopen(first, { KEYSTILE_PEPPER: TWO });
      expect((await second.verify(key)).code).toBe('NOT_FOUND');
      const without = await reopen(second, {});
      expect((await without.verify(key)).code).toBe('NOT_FOUND');
      const again = await reopen(without, { KEYSTILE_PEPPER: ONE });
      expect((await again.verify(key)).code).toBe('VALID');
    });

    test('the digest of a secret under one pepper is not its digest under another, nor its plain one', async () => {
      const service = await start({ KEYSTILE_PEPPER: `${TWO},${ONE}` });
      const { digester } = service.composed.service;
      const digests = [digester.digest('demo_x'), ...digester.older('demo_x')];
      expect(new Set(digests).size).toBe(3);
    });
  });
});

describe('the address of a verification', () => {
  let service: TestService;

  const started = reuseService({ settings: { KEYSTILE_TRUSTED_PROXIES: '198.51.100.0/24' } });
  beforeEach(() => {
    service = started();
  });

  const limitedTo = async (...ipAllowlist: string[]): Promise<string> => (await service.createKey({ ipAllowlist })).key;

  const codeOf = async (key: string, fields: Record<string, unknown>, peer?: string, forwarded?: string) => {
    const options = {
      ...(peer === undefined ? {} : { peer }),
      ...(forwarded === undefined ? {} : { headers: { 'x-forwarded-for': forwarded } }),
    };
    return (await service.verify(key, fields, options)).code as string;
  };

  test.each([
    ['10.1.2.3', 'VALID'],
    ['11.0.0.1', 'FORBIDDEN'],
    ['192.0.2.1', 'VALID'],
    ['192.0.2.2', 'FORBIDDEN'],
    ['::ffff:10.1.2.3', 'VALID'],
    ['2001:db8::1', 'VALID'],
    ['2001:0db8:ffff::1', 'VALID'],
    ['2001:db9::1', 'FORBIDDEN'],
  ])('clientIp %s is held against the list: %s', async (clientIp, code) => {
    const key = await limitedTo('10.0.0.0/8', '192.0.2.1', '2001:db8::/32');
    expect(await codeOf(key, { clientIp })).toBe(code);
  });

  test('without clientIp the peer counts, and clientIp wins over it', async () => {
    const key = await limitedTo('10.0.0.0/8');
    expect(await codeOf(key, {}, '10.9.9.9')).toBe('VALID');
    expect(await codeOf(key, {}, '203.0.113.7')).toBe('FORBIDDEN');
    expect(await codeOf(key, { clientIp: '10.9.9.9' }, '203.0.113.7')).toBe('VALID');
    expect(await codeOf(key, { clientIp: '203.0.113.7' }, '10.9.9.9')).toBe('FORBIDDEN');
  });

  test('a forwarding header from a peer that is no trusted proxy is not looked at', async () => {
    const key = await limitedTo('10.0.0.0/8');
    expect(await codeOf(key, {}, '203.0.113.7', '10.9.9.9')).toBe('FORBIDDEN');
  });

  test.each([
    ['the address that the proxy names', '10.9.9.9', 'VALID'],
    ['the last one that is no proxy', '10.9.9.9, 198.51.100.4', 'VALID'],
    ['not one that the client put in front', '10.9.9.9, 203.0.113.99', 'FORBIDDEN'],
    ['nothing behind text that is no address', '10.9.9.9, unknown', 'FORBIDDEN'],
    ['the proxy itself when there are only proxies', '198.51.100.4', 'FORBIDDEN'],
  ])('behind a trusted proxy: %s (%s)', async (_name, forwarded, code) => {
    const key = await limitedTo('10.0.0.0/8');
    expect(await codeOf(key, {}, '198.51.100.1', forwarded)).toBe(code);
  });

  test('without trusted proxies the header of no peer is looked at', async () => {
    service = await TestService.start();
    const key = await limitedTo('10.0.0.0/8');
    for (const peer of ['203.0.113.7', '198.51.100.1', '127.0.0.1']) {
      expect(await codeOf(key, {}, peer, '10.9.9.9')).toBe('FORBIDDEN');
    }
    await service.close();
  });

  test('a trusted proxy that sends no header is the caller', async () => {
    const key = await limitedTo('198.51.100.1');
    expect(await codeOf(key, {}, '198.51.100.1')).toBe('VALID');
  });

  test.each([['localhost'], ['10.0.0.0/8'], ['1.2.3'], ['fe80::1%eth0'], ['']])(
    'clientIp %p is a 400, not a verdict',
    async (clientIp) => {
      const key = await limitedTo('10.0.0.0/8');
      const answer = await service.call('/v1/keys.verifyKey', { key, clientIp }, { rootKey: null });
      expect([answer.status, answer.body.error.code]).toEqual([400, 'BAD_REQUEST']);
    },
  );

  test('clearing the list opens the key again', async () => {
    const key = await limitedTo('10.0.0.0/8');
    const { keyId } = await service.verify(key);
    await service.ok('/v1/keys.updateKey', { keyId, ipAllowlist: null });
    expect(await codeOf(key, {})).toBe('VALID');
  });
});
