import { afterAll, beforeAll, beforeEach, describe, expect, test, afterEach } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { sha256, tablesOf } from './imported.ts';

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

const importKeys = (items: unknown) => service.call('/v1/migrations.createKeys', items);

const made = async (...items: Record<string, unknown>[]): Promise<string[]> => {
  const { status, body } = await importKeys(items.map((item) => ({ apiId, ...item })));
  expect([status, body.error]).toEqual([200, undefined]);
  expect(Object.keys(body)).toEqual(['keyIds']);
  expect(body.keyIds.length).toBe(items.length);
  return body.keyIds as string[];
};

let counter = 0;

const newSecret = (): string => `live_secret-made-elsewhere-${++counter}`;

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
});

test('of two calls with the same key at the same time one imports it, and the other is a 409', async () => {
  const plaintext = newSecret();
  const answers = await Promise.all([1, 2, 3, 4].map(() => importKeys([{ apiId, plaintext }])));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409]);
  expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(1);
});

/** Sends what must be refused, and must leave nothing behind. */
async function refused(items: unknown) {
  const before = tablesOf(service);
  const answer = await importKeys(items);
  expect(tablesOf(service)).toEqual(before);
  const { code, message, issues } = answer.body.error;
  return { status: answer.status, code, message, issues };
}

describe('migrations.createKeys refuses and stores nothing', () => {
  test('a key that exists already, with a 409 that tells which', async () => {
    const [known, fresh] = [newSecret(), newSecret()];
    await made({ plaintext: known });
    const issues = [{ path: '[1]', message: 'This key exists already.' }];
    for (const again of [{ plaintext: known }, { hash: { value: sha256(known), variant: 'sha256_base64' } }]) {
      const answer = await refused([
        { apiId, plaintext: fresh },
        { apiId, ...again },
      ]);
      expect(answer).toEqual({ status: 409, code: 'CONFLICT', message: '[1]: This key exists already.', issues });
    }
    expect(await service.verify(fresh)).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('a key that was made here, a softly deleted one, and a secret that was replaced and is still valid', async () => {
    const { key, keyId } = await service.createKey({ apiId });
    expect(await refused([{ apiId, plaintext: key }])).toMatchObject({ status: 409 });
    const { key: second } = await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 });
    expect(await refused([{ apiId, plaintext: key }])).toMatchObject({ status: 409 });
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect(await refused([{ apiId, plaintext: second }])).toMatchObject({ status: 409 });
  });

  test('a digest of another kind or in another form, and says what it must be', async () => {
    const inHex = Buffer.from(sha256(newSecret()), 'base64').toString('hex');
    const hex = await refused([{ apiId, hash: { value: inHex, variant: 'sha256_base64' } }]);
    expect(hex.message).toEndWith('44 characters; these are hexadecimal digits: send the same bytes in base64');
    expect(hex.message).not.toContain(inHex);
    const bcrypt = await refused([{ apiId, hash: { value: '$2b$10$abcdefghijklmnopqrstuv', variant: 'bcrypt' } }]);
    expect(bcrypt.message).toContain('got "bcrypt"');
  });

  test('a key that stands twice in the list', async () => {
    const plaintext = newSecret();
    const twice = { hash: { value: sha256(plaintext), variant: 'sha256_base64' } };
    const answer = await refused([
      { apiId, plaintext },
      { apiId, ...twice },
      { apiId, plaintext: newSecret() },
      { apiId, ...twice },
    ]);
    expect([answer.status, answer.code]).toEqual([409, 'CONFLICT']);
    expect(answer.issues).toEqual([
      { path: '[1]', message: 'This key appears earlier in the list.' },
      { path: '[3]', message: 'This key appears earlier in the list.' },
    ]);
  });

  test('of many conflicts the message tells ten, and the issues all', async () => {
    const plaintext = newSecret();
    const { message, issues } = await refused(Array.from({ length: 100 }, () => ({ apiId, plaintext })));
    expect(issues.length).toBe(99);
    expect(message).toStartWith('[1]: This key appears earlier in the list. [2]: ');
    expect(message).toEndWith(' And 89 more.');
  });

  test('a role or permission that does not exist, with a 412: an import makes none', async () => {
    const role = await refused([
      { apiId, plaintext: newSecret() },
      { apiId, plaintext: newSecret(), externalId: 'user_never_made', roles: ['no.such.role'] },
    ]);
    expect(role).toEqual({
      status: 412,
      code: 'PRECONDITION_FAILED',
      message: '[1]: There is no role "no.such.role".',
      issues: [{ path: '[1]', message: 'There is no role "no.such.role".' }],
    });
    const permission = await refused([{ apiId, plaintext: newSecret(), permissions: ['no.such.permission'] }]);
    expect([permission.status, permission.message]).toEqual([412, '[0]: There is no permission "no.such.permission".']);
  });

  test('an api that does not exist, is deleted or hidden, with the same 404', async () => {
    const deleted = await service.createApi();
    await service.ok('/v1/apis.deleteApi', { apiId: deleted });
    const rights = [`api.${apiId}.create_key`];
    const { secret: rootKey } = await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
    const hidden = await service.createApi();
    for (const absent of ['api_1Jm8ZtXg3kPp5FhJ9sQw2R', deleted, hidden]) {
      const body = [
        { apiId, plaintext: newSecret() },
        { apiId: absent, plaintext: newSecret() },
      ];
      const before = tablesOf(service);
      const answer = await service.call('/v1/migrations.createKeys', body, { rootKey });
      expect(tablesOf(service)).toEqual(before);
      const message = `There is no api "${absent}", or this root key may not see it.`;
      expect([answer.status, answer.body.error.message, answer.body.error.issues]).toEqual([
        404,
        `[1]: ${message}`,
        [{ path: '[1]', message }],
      ]);
    }
    expect(await refused([{ apiId: deleted, plaintext: newSecret() }])).toMatchObject({ status: 404 });
  });

  test('a root key without the right, with a 403 that names it', async () => {
    const can = (...rights: string[]) => service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
    const ask = async (rootKey: string, item: object) => {
      const answer = await service.call('/v1/migrations.createKeys', [{ apiId, ...item }], { rootKey });
      return [answer.status, answer.body.error?.message];
    };
    const { secret: reader } = await can('api.*.read_key');
    expect(await ask(reader, { plaintext: newSecret() })).toEqual([
      403,
      'This root key lacks the right api.*.create_key.',
    ]);
    const { secret: maker } = await can(`api.${apiId}.create_key`);
    expect(await ask(maker, { plaintext: newSecret(), roles: ['imports.admin'] })).toEqual([
      403,
      'This root key lacks the right rbac.*.add_role_to_key.',
    ]);
    expect(await ask(maker, { plaintext: newSecret(), permissions: ['imports.read'] })).toEqual([
      403,
      'This root key lacks the right rbac.*.add_permission_to_key.',
    ]);
    expect(await ask(maker, { plaintext: newSecret() })).toEqual([200, undefined]);
  });

  const HALF = 'abcdefgh';
  const SECRET = 'secret-made-elsewhere-of-a-refused-key';
  const HASH = { value: sha256('anything'), variant: 'sha256_base64' };

  test.each<[string, object, string, string]>([
    ['neither plaintext nor hash', {}, '[1]', '[1]: give either plaintext or hash'],
    ['both', { plaintext: SECRET, hash: HASH }, '[1]', '[1]: give either plaintext or hash'],
    ['a plaintext that is empty', { plaintext: '' }, '[1].plaintext', '[1].plaintext must be 16 to 512 characters of'],
    ['one of 15 characters', { plaintext: 'a'.repeat(15) }, '[1].plaintext', '[1].plaintext must be 16 to 512'],
    ['one that is too long', { plaintext: 'a'.repeat(513) }, '[1].plaintext', '[1].plaintext must be 16 to 512'],
    [
      'one with other than printable ASCII',
      { plaintext: 'ein-schlüssel-aus-mehr-zeichen' },
      '[1].plaintext',
      '[1].plaintext must be 16',
    ],
    ['another variant', { hash: { ...HASH, variant: 'sha512' } }, '[1].hash.variant', '[1].hash.variant must be'],
    ['a hash in hex', { hash: { ...HASH, value: 'a'.repeat(64) } }, '[1].hash.value', '[1]: hash.value must be the 32'],
    ['of 31 bytes', { hash: { ...HASH, value: `${'A'.repeat(42)}==` } }, '[1].hash.value', '[1]: hash.value must be'],
    ['of 33 bytes', { hash: { ...HASH, value: 'A'.repeat(44) } }, '[1].hash.value', '[1]: hash.value must be the'],
    ['without padding', { hash: { ...HASH, value: 'A'.repeat(43) } }, '[1].hash.value', '[1]: hash.value must be the'],
    ['base64url', { hash: { ...HASH, value: `-${'A'.repeat(42)}=` } }, '[1].hash.value', '[1]: hash.value must be'],
    ['bits too many', { hash: { ...HASH, value: `${'A'.repeat(42)}B=` } }, '[1].hash.value', '[1]: hash.value must'],
    ['a start that is the key', { plaintext: HALF + HALF, start: HALF + HALF }, '[1].start', '[1]: start contains too'],
    [
      'more than half of it',
      { plaintext: HALF + HALF, start: `${HALF}a` },
      '[1].start',
      '[1]: start contains too much',
    ],
    [
      'the key of a hash',
      { hash: HASH, start: 'anything' },
      '[1].start',
      '[1]: start contains too much of the key; send fewer characters',
    ],
    [
      'remaining below 0',
      { plaintext: SECRET, remaining: -1 },
      '[1].remaining',
      '[1].remaining must be a whole number',
    ],
    ['a refill alone', { plaintext: SECRET, refill: { interval: 'daily', amount: 1 } }, '[1].refill', '[1]: a refill'],
    [
      'a day of a daily refill',
      { plaintext: SECRET, remaining: 1, refill: { interval: 'daily', amount: 1, refillDay: 2 } },
      '[1].refill.refillDay',
      '[1]: refill.refillDay is allowed only with interval "monthly"',
    ],
    [
      'half a limit',
      { plaintext: SECRET, ratelimit: { limit: 1 } },
      '[1].ratelimit.duration',
      '[1]: ratelimit.duration',
    ],
    ['an unknown field', { plaintext: SECRET, remainning: 1 }, '[1].remainning', 'unknown field `remainning`, did you'],
    [
      'a field of creations alone',
      { plaintext: SECRET, byteLength: 16 },
      '[1].byteLength',
      'unknown field `byteLength`',
    ],
    ['no api', { apiId: undefined, plaintext: SECRET }, '[1].apiId', '[1].apiId is missing'],
  ])('%s, by the path of the item', async (_name, item, path, message) => {
    const answer = await refused([
      { apiId, plaintext: newSecret() },
      { apiId, ...item },
    ]);
    expect([answer.status, answer.code, answer.issues.map((issue: { path: string }) => issue.path)]).toEqual([
      400,
      'BAD_REQUEST',
      [path],
    ]);
    expect(answer.issues[0].message).toStartWith(message);
  });

  test('the problems of all items are told at once', async () => {
    const { issues } = await refused([
      { apiId },
      { apiId, plaintext: SECRET, ratelimit: {} },
      { apiId, plaintext: SECRET, refill: { interval: 'daily', amount: 1 } },
    ]);
    expect(issues.map((issue: { path: string }) => issue.path)).toEqual([
      '[0]',
      '[1].ratelimit.limit',
      '[1].ratelimit.duration',
      '[2].refill',
    ]);
  });

  test.each([
    ['no item', [], 'The body must be a list of 1 to 100 items, got a list of 0 items'],
    [
      '101 items',
      Array.from({ length: 101 }, () => ({})),
      'The body must be a list of 1 to 100 items, got a list of 101',
    ],
    ['an object', {}, 'The body must be a list of 1 to 100 items, got an object'],
    ['an item that is none', ['x'], '[0] must be an object, got a string of 1 character (not shown)'],
  ])('a body with %s', async (_name, body, message) => {
    const answer = await refused(body);
    expect(answer.status).toBe(400);
    expect(answer.message).toStartWith(message);
  });
});

describe('with a pepper', () => {
  const PEPPER = '1:a-pepper-of-many-characters';
  const NEXT = `2:the-next-pepper-of-some-length,${PEPPER}`;
  const SECRET = 'secret-made-elsewhere-and-long-enough';

  const services: TestService[] = [];

  afterEach(async () => {
    for (const each of services.splice(0).toReversed()) await each.close();
  });

  async function start(pepper: string | null, folder?: string): Promise<TestService> {
    const settings = pepper === null ? {} : { KEYSTILE_PEPPER: pepper };
    const started = await TestService.start({ settings, ...(folder === undefined ? {} : { folder }) });
    services.push(started);
    return started;
  }

  /** The same data under another pepper. */
  async function reopen(before: TestService, pepper: string | null): Promise<TestService> {
    await before.stop();
    return start(pepper, before.folder);
  }

  const hashOf = (secret: string) => ({ hash: { value: sha256(secret), variant: 'sha256_base64' } });

  const importKey = (of: TestService, inApi: string, secret: object) =>
    of.call('/v1/migrations.createKeys', [{ apiId: inApi, ...secret }]);

  test.each([
    ['its SHA-256', hashOf(SECRET)],
    ['its plaintext', { plaintext: SECRET }],
  ])('a key that was imported by %s verifies, and its plain SHA-256 is not stored', async (_name, secret) => {
    const peppered = await start(PEPPER);
    const ownApi = await peppered.createApi();
    const { body } = await importKey(peppered, ownApi, secret);
    expect(await peppered.verify(SECRET)).toMatchObject({ valid: true, keyId: body.keyIds[0] });
    const [stored] = await peppered.storage.records.findTakenDigests([
      sha256(SECRET),
      peppered.engine.system.digestSecret(SECRET),
    ]);
    expect(stored).toBe(peppered.engine.system.digestSecret(SECRET));
    expect(stored).not.toBe(sha256(SECRET));
  });

  test('an imported key verifies under the next pepper, too', async () => {
    const first = await start(PEPPER);
    await importKey(first, await first.createApi(), hashOf(SECRET));
    const second = await reopen(first, NEXT);
    expect(await second.verify(SECRET)).toMatchObject({ valid: true });
  });

  test('a key that is stored under an older pepper, or none, exists already', async () => {
    const none = await start(null);
    const ownApi = await none.createApi();
    await importKey(none, ownApi, hashOf('stored without a pepper'));
    const first = await reopen(none, PEPPER);
    await importKey(first, ownApi, hashOf('stored under the first'));
    const second = await reopen(first, NEXT);
    for (const secret of ['stored without a pepper', 'stored under the first']) {
      for (const again of [hashOf(secret), { plaintext: secret }]) {
        expect((await importKey(second, ownApi, again)).status).toBe(409);
      }
    }
  });

  test('what was queued under the pepper before is made, and verifies', async () => {
    const first = await start(PEPPER);
    const ownApi = await first.createApi();
    await first.call('/v1/migrations.enqueueKeys', { migrationId: 'm', apiId: ownApi, keys: [{ plaintext: SECRET }] });
    const second = await reopen(first, NEXT);
    await second.engine.importQueue.run();
    expect(await second.verify(SECRET)).toMatchObject({ valid: true });
  });
});
