import { afterEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

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
