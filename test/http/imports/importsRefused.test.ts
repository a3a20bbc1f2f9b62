import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { sha256, tablesOf } from './imported.ts';
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

  test('a body over 4 MiB, with a 413; one of 4 MiB is read', async () => {
    const withSize = (size: number): string => {
      const text = JSON.stringify([{ apiId, plaintext: newSecret(), name: '' }]);
      return text.replace('"name":""', `"name":"${'x'.repeat(size - text.length)}"`);
    };
    const send = (size: number) => service.call('/v1/migrations.createKeys', undefined, { raw: withSize(size) });
    expect((await send(4 * 1024 * 1024)).body.error).toMatchObject({ code: 'BAD_REQUEST' });
    expect((await send(4 * 1024 * 1024 + 1)).status).toBe(413);
  });
});
