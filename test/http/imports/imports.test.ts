import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';
import { sha256 } from './imported.ts';
import { importCalls } from './importCalls.ts';

let service: TestService;

let apiId = '';

beforeAll(async () => {
  service = await TestService.start();
});

beforeEach(async () => {
  apiId = await service.createApi();
});

afterAll(async () => {
  await service.close();
});

const { importKeys, made, newSecret } = importCalls(() => ({ service, apiId }));

const getKey = (keyId: string | undefined) => service.ok('/v1/keys.getKey', { keyId });

describe('migrations.createKeys', () => {
  test('a key is imported by its plaintext: it verifies, and is shown by its first characters', async () => {
    const plaintext = newSecret();
    const [keyId] = await made({ plaintext });
    expect(await service.verify(plaintext)).toMatchObject({ valid: true, code: 'VALID', keyId });
    expect((await getKey(keyId)).start).toBe('live');
  });

  test('a key is imported by its SHA-256 alone: it verifies by the secret, and has nothing to show', async () => {
    const secret = newSecret();
    const [keyId] = await made({ hash: { value: sha256(secret), variant: 'sha256_base64' } });
    expect(await service.verify(secret)).toMatchObject({ valid: true, keyId });
    expect(await service.verify(sha256(secret))).toMatchObject({ valid: false, code: 'NOT_FOUND' });
    expect((await getKey(keyId)).start).toBe('');
  });

  test.each([
    ['a prefix that it begins with', { plaintext: 'acme_0123456789abcdef', prefix: 'acme' }, 'acme_0123'],
    ['a prefix that it does not begin with', { plaintext: 'abcdefghijklmnopqrst', prefix: 'acme' }, 'abcd'],
    ['a start of its own', { plaintext: 'zzzzefghijklmnopqrst', start: 'zzzzef' }, 'zzzzef'],
    ['a secret of 16 characters', { plaintext: 'shortsecret01234' }, 'shor'],
    ['a short one behind a prefix', { plaintext: 'acme_0123456789a', prefix: 'acme' }, 'acme_'],
    ['a digest and a prefix', { hash: { value: sha256('p1'), variant: 'sha256_base64' }, prefix: 'acme' }, 'acme_'],
    [
      'a digest and a start',
      { hash: { value: sha256('p2'), variant: 'sha256_base64' }, start: 'acme_01', prefix: 'acme' },
      'acme_01',
    ],
  ])('what is shown of %s', async (_name, fields, start) => {
    const [keyId] = await made(fields);
    expect((await getKey(keyId)).start).toBe(start);
  });

  test('every field of a creation reaches the key', async () => {
    await service.ok('/v1/permissions.createRole', { name: 'imports.admin' });
    await service.ok('/v1/permissions.createPermission', { name: 'imports.read' });
    const plaintext = newSecret();
    const [keyId] = await made({
      plaintext,
      name: 'from elsewhere',
      externalId: 'user_import_1',
      meta: { plan: 'pro' },
      roles: ['imports.admin'],
      permissions: ['imports.read'],
      expires: service.clock.nowMs() + 1000,
      remaining: 7,
      refill: { interval: 'monthly', amount: 9, refillDay: 31 },
      ratelimit: { async: true, limit: 10, duration: 60_000 },
      ratelimits: [{ name: 'burst', limit: 3, duration: 1000 }],
      ipAllowlist: ['203.0.113.0/24'],
      enabled: true,
      environment: 'live',
    });
    expect(await getKey(keyId)).toMatchObject({
      id: keyId,
      apiId,
      name: 'from elsewhere',
      ownerId: 'user_import_1',
      identity: { externalId: 'user_import_1' },
      meta: { plan: 'pro' },
      roles: ['imports.admin'],
      permissions: ['imports.read'],
      expires: service.clock.nowMs() + 1000,
      remaining: 7,
      refill: { interval: 'monthly', amount: 9, refillDay: 31 },
      ratelimit: { async: true, limit: 10, duration: 60_000 },
      ratelimits: [{ name: 'burst', limit: 3, duration: 1000, async: true }],
      ipAllowlist: ['203.0.113.0/24'],
      enabled: true,
      environment: 'live',
      createdAt: service.clock.nowMs(),
    });
    expect(await service.verify(plaintext)).toMatchObject({ valid: true, remaining: 6, ownerId: 'user_import_1' });
  });

  test.each([
    [
      'refillRate and refillInterval',
      { refillRate: 5, refillInterval: 2000 },
      { limit: 5, duration: 2000, async: false },
    ],
    ['limit and duration', { limit: 5, duration: 2000 }, { limit: 5, duration: 2000, async: false }],
    [
      'all of them, of which the newer ones win',
      { limit: 6, refillRate: 5, refillInterval: 2000 },
      { limit: 6, duration: 2000, async: false },
    ],
    ['type fast', { type: 'fast', limit: 5, duration: 2000 }, { limit: 5, duration: 2000, async: true }],
    ['type consistent', { type: 'consistent', limit: 5, duration: 2000 }, { limit: 5, duration: 2000, async: false }],
    ['async', { async: true, limit: 5, duration: 2000 }, { limit: 5, duration: 2000, async: true }],
  ])('a limit given by %s; one that does not say is strict', async (_name, ratelimit, stored) => {
    const [keyId] = await made({ plaintext: newSecret(), ratelimit });
    expect((await getKey(keyId)).ratelimit).toMatchObject(stored);
  });

  test('a key that has expired already is imported, and is expired', async () => {
    const plaintext = newSecret();
    await made({ plaintext, expires: service.clock.nowMs() - 1 });
    expect(await service.verify(plaintext)).toMatchObject({ valid: false, code: 'EXPIRED' });
  });

  test('a disabled key stays disabled, and one with no credits left waits for its refill', async () => {
    const [disabled, empty] = [newSecret(), newSecret()];
    await made(
      { plaintext: disabled, enabled: false },
      { plaintext: empty, remaining: 0, refill: { interval: 'daily', amount: 5 } },
    );
    expect(await service.verify(disabled)).toMatchObject({ code: 'DISABLED' });
    expect(await service.verify(empty)).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
  });

  test('100 keys are imported in one call, of several apis and one owner, who is made once', async () => {
    const other = await service.createApi();
    const secrets = Array.from({ length: 100 }, newSecret);
    const keyIds = await made(
      ...secrets.map((plaintext, i) => ({
        plaintext,
        externalId: 'user_import_100',
        apiId: i % 2 === 0 ? apiId : other,
      })),
    );
    expect(new Set(keyIds).size).toBe(100);
    for (const i of [0, 1, 99]) {
      expect(await service.verify(secrets[i] ?? '')).toMatchObject({ keyId: keyIds[i], ownerId: 'user_import_100' });
    }
    expect((await service.ok('/v1/apis.listKeys', { apiId: other })).total).toBe(50);
  });

  test('each key is told to the audit log as a creation, without its secret and its digest', async () => {
    const plaintext = newSecret();
    const [keyId] = await made({ plaintext, name: 'told' });
    const entries = await entriesAbout(service, keyId ?? '');
    expect(entries).toEqual([
      { action: 'key.create', before: null, after: expect.objectContaining({ apiId, start: 'live', name: 'told' }) },
    ]);
    expect(JSON.stringify(entries)).not.toContain(plaintext);
    expect(JSON.stringify(entries)).not.toContain(sha256(plaintext));
  });
});

test('of two calls with the same key at the same time one imports it, and the other is a 409', async () => {
  const plaintext = newSecret();
  const answers = await Promise.all([1, 2, 3, 4].map(() => importKeys([{ apiId, plaintext }])));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409]);
  expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(1);
});
