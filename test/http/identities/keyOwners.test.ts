import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { sha256, tablesOf } from '../imports/imported.ts';

/** Who may make a key belong to an identity: it then reads the metadata of the identity and spends what it has. */

const REFUSAL = 'This root key lacks the right identity.*.create_identity.';

let service: TestService;
/** The api of the caller, and a customer of another one. */
let apiId = '';
let identityId = '';
let externalId = '';
let count = 0;

beforeAll(async () => {
  service = await TestService.start();
});

beforeEach(async () => {
  externalId = `customer-${++count}`;
  const fields = { externalId, meta: { plan: 'secret' }, remaining: 10 };
  identityId = (await service.ok('/v1/identities.createIdentity', fields)).identityId as string;
  await service.createKey({ externalId });
  apiId = await service.createApi();
});

afterAll(async () => {
  await service.close();
});

const newSecret = (): string => `live_secret-made-elsewhere-${++count}`;
const rootKeyWith = async (rights: readonly string[], expiresAtMs: number | null = null) =>
  service.engine.rootKeys.create({ name: null, rights, expiresAtMs });
const make = () => `api.${apiId}.create_key`;
const change = () => `api.${apiId}.update_key`;

/** Every way to name an owner, for a key of this api. */
const WAYS: readonly (readonly [string, (owner: string) => Promise<readonly [path: string, body: unknown]>])[] = [
  ['keys.createKey', async (owner) => ['/v1/keys.createKey', { apiId, externalId: owner }]],
  [
    'keys.updateKey',
    async (owner) => {
      const { keyId } = await service.createKey({ apiId });
      return ['/v1/keys.updateKey', { keyId, ownerId: owner }];
    },
  ],
  [
    'migrations.createKeys',
    async (owner) => ['/v1/migrations.createKeys', [{ apiId, plaintext: newSecret(), externalId: owner }]],
  ],
  [
    'migrations.enqueueKeys',
    async (owner) => [
      '/v1/migrations.enqueueKeys',
      { migrationId: `m-${apiId}`, apiId, keys: [{ plaintext: newSecret(), ownerId: owner }] },
    ],
  ],
];

describe.each(WAYS)('%s', (_name, way) => {
  const ask = async (owner: string, ...rights: string[]) => {
    const { secret: rootKey } = await rootKeyWith([make(), change(), ...rights]);
    const [path, body] = await way(owner);
    const before = tablesOf(service);
    const answer = await service.call(path, body, { rootKey });
    const text = answer.text.replace(/"requestId":"[^"]+"/, '');
    if (answer.status > 299) expect(tablesOf(service)).toEqual(before);
    return { status: answer.status, message: answer.body?.error?.message as string | undefined, text };
  };

  test('in one api names no owner: the same 403 for one that is there and one that is not, and none is made', async () => {
    const [there, absent] = [await ask(externalId), await ask('nobody-at-all')];
    expect([there.status, there.message]).toEqual([403, REFUSAL]);
    expect(absent).toEqual(there);
  });

  test('a right to read, or on another identity, is none to name this one', async () => {
    const { identityId: other } = await service.ok('/v1/identities.createIdentity', { externalId: `o-${++count}` });
    for (const right of [
      'identity.*.read_identity',
      'identity.*.delete_identity',
      `identity.${other}.update_identity`,
    ]) {
      const [there, absent] = [await ask(externalId, right), await ask('nobody-at-all', right)];
      expect([right, there.status, there.message]).toEqual([right, 403, REFUSAL]);
      expect(absent).toEqual(there);
    }
  });

  test('the right that the refusal names is enough, for one that is there and for a new one', async () => {
    for (const owner of [externalId, `new-${++count}`]) {
      expect((await ask(owner, 'identity.*.create_identity')).status).toBeLessThan(300);
    }
  });

  test('the right to change the identity is enough for that one alone', async () => {
    const right = `identity.${identityId}.update_identity`;
    expect((await ask(externalId, right)).status).toBeLessThan(300);
    expect(await ask('nobody-at-all', right)).toMatchObject({ status: 403, message: REFUSAL });
  });

  test('with the right on every api both are done, as ever', async () => {
    const rights = ['api.*.create_key', 'api.*.update_key'];
    for (const owner of [externalId, `new-${++count}`]) expect((await ask(owner, ...rights)).status).toBeLessThan(300);
  });
});

describe('keys.updateKey in one api', () => {
  const update = async (keyId: string, fields: object) => {
    const { secret: rootKey } = await rootKeyWith([change()]);
    return (await service.call('/v1/keys.updateKey', { keyId, ...fields }, { rootKey })).status;
  };

  test('may say again whom the key belongs to, and take the owner away; not give it back', async () => {
    const { keyId } = await service.createKey({ apiId, externalId });
    expect(await update(keyId, { externalId, name: 'renamed' })).toBe(200);
    expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({ ownerId: externalId, name: 'renamed' });
    expect(await update(keyId, { externalId: null })).toBe(200);
    expect(await update(keyId, { externalId })).toBe(403);
  });
});

describe('an import that waits', () => {
  const enqueue = async (rootKey: string, fields: object = {}): Promise<string> => {
    const plaintext = newSecret();
    const keys = [{ plaintext, ...fields }];
    const answer = await service.call('/v1/migrations.enqueueKeys', { migrationId: apiId, apiId, keys }, { rootKey });
    expect(answer.status).toBe(202);
    return plaintext;
  };
  const progress = () => service.ok('/v1/migrations.getProgress', { migrationId: apiId });
  const workOff = () => service.engine.importQueue.run();
  const ENDED =
    'The root key that enqueued this key was revoked or has expired since; enqueue it again with another one.';

  test('makes its keys with the rights that its root key has then', async () => {
    const { secret: rootKey } = await rootKeyWith([make(), 'identity.*.create_identity']);
    const plaintext = await enqueue(rootKey, { externalId });
    await workOff();
    expect(await service.verify(plaintext)).toMatchObject({ valid: true, ownerId: externalId });
  });

  test('of a root key that was revoked makes none, and tells why; others go on', async () => {
    const { rootKey, secret } = await rootKeyWith([make(), 'identity.*.create_identity']);
    const lost = await enqueue(secret, { externalId });
    const kept = await enqueue(service.rootKey);
    await service.engine.rootKeys.revoke(rootKey.id);
    await workOff();
    expect(await progress()).toMatchObject({ done: 1, failed: 1, errors: [{ index: 0, message: ENDED }] });
    expect((await service.verify(lost)).code).toBe('NOT_FOUND');
    expect((await service.verify(kept)).code).toBe('VALID');
  });

  test('of a root key that has expired since makes none; one that has not yet does', async () => {
    const { secret } = await rootKeyWith([make()], service.clock.nowMs() + 2);
    const kept = await enqueue(secret);
    service.clock.advance(1);
    await workOff();
    const lost = await enqueue(secret);
    service.clock.advance(1);
    await workOff();
    expect(await progress()).toMatchObject({ done: 1, failed: 1, errors: [{ index: 1, message: ENDED }] });
    expect([(await service.verify(kept)).code, (await service.verify(lost)).code]).toEqual(['VALID', 'NOT_FOUND']);
  });

  test('for one identity fails for another one that has its name by then', async () => {
    const { secret } = await rootKeyWith([make(), `identity.${identityId}.update_identity`]);
    const plaintext = await enqueue(secret, { externalId });
    await service.ok('/v1/identities.deleteIdentity', { identityId, keys: 'detach' });
    await service.ok('/v1/identities.createIdentity', { externalId, meta: { other: true } });
    await workOff();
    expect(await progress()).toMatchObject({ done: 0, failed: 1, errors: [{ index: 0, message: REFUSAL }] });
    expect((await service.verify(plaintext)).code).toBe('NOT_FOUND');
  });
});

describe('an import refuses the secret of something else, as a key that exists already', () => {
  const imported = async (secret: string) => {
    const outcomes: unknown[] = [];
    for (const item of [{ plaintext: secret }, { hash: { value: sha256(secret), variant: 'sha256_base64' } }]) {
      const before = tablesOf(service);
      const answer = await service.call('/v1/migrations.createKeys', [{ apiId, ...item }]);
      expect(tablesOf(service)).toEqual(before);
      outcomes.push([answer.status, answer.body.error?.message]);
      const body = { migrationId: apiId, apiId, keys: [item] };
      expect((await service.call('/v1/migrations.enqueueKeys', body)).status).toBe(202);
    }
    await service.engine.importQueue.run();
    const { errors } = await service.ok('/v1/migrations.getProgress', { migrationId: apiId });
    return { outcomes, queued: errors.map(({ message }: { message: string }) => message) };
  };
  const MESSAGE = 'This key exists already.';
  const CONFLICT = { outcomes: [409, 409].map((status) => [status, `[0]: ${MESSAGE}`]), queued: [MESSAGE, MESSAGE] };

  test('of a root key, also of a revoked or expired one', async () => {
    const revoked = await rootKeyWith(['*']);
    await service.engine.rootKeys.revoke(revoked.rootKey.id);
    const expired = await rootKeyWith(['*'], service.clock.nowMs() + 1);
    service.clock.advance(1);
    for (const secret of [service.rootKey, revoked.secret, expired.secret]) {
      apiId = await service.createApi();
      expect(await imported(secret)).toEqual(CONFLICT);
    }
  });

  test.each([
    ['a root key', async () => (await rootKeyWith(['*'])).rootKey.id, '/v1/rootKeys.rotateRootKey', 'rootKeyId'],
    ['a key', async () => (await service.createKey()).keyId, '/v1/keys.rotateKey', 'keyId'],
  ] as const)('that was rotated out of %s, as long as it is valid', async (_name, made, path, field) => {
    const id = await made();
    const rotate = async (): Promise<string> =>
      (await service.ok(path, { [field]: id, overlapMs: 1000 })).key as string;
    const former = await rotate();
    await rotate();
    service.clock.advance(999);
    expect(await imported(former)).toEqual(CONFLICT);
  });
});
