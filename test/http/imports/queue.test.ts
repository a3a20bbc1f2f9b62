import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';
import { sha256, tablesOf } from './imported.ts';

let service: TestService;

let apiId = '';

async function start(settings: Record<string, string> = {}): Promise<void> {
  service = await TestService.start({ settings });
  apiId = await service.createApi();
}

afterEach(async () => {
  await service.close();
});

const MIGRATION = 'from elsewhere';

const enqueue = (keys: unknown, fields: object = {}, rootKey?: string) => {
  // What comes in another millisecond comes later.
  service.clock.advance(1);
  return service.call(
    '/v1/migrations.enqueueKeys',
    { migrationId: MIGRATION, apiId, keys, ...fields },
    rootKey === undefined ? {} : { rootKey },
  );
};

const progress = (migrationId = MIGRATION) => service.ok('/v1/migrations.getProgress', { migrationId });

/** What the background does once a second. */
const workOff = (): Promise<void> => service.engine.importQueue.run();

const secretsOf = (count: number, name = 'key'): string[] =>
  Array.from({ length: count }, (_, i) => `secret-made-elsewhere-${name}-${i}`);

const plain = (plaintext: string) => ({ plaintext });

const hashed = (secret: string) => ({ hash: { value: sha256(secret), variant: 'sha256_base64' } });

describe('migrations.enqueueKeys', () => {
  test('answers 202 with nothing to say; the keys are made behind it, and the progress tells how far it is', async () => {
    await start();
    const [a = '', b = ''] = secretsOf(2);
    const answer = await enqueue([plain(a), hashed(b)]);
    expect([answer.status, answer.body]).toEqual([202, {}]);
    expect(await progress()).toEqual({ migrationId: MIGRATION, queued: 2, done: 0, failed: 0, errors: [] });
    expect(await service.verify(a)).toMatchObject({ code: 'NOT_FOUND' });
    await workOff();
    expect(await progress()).toEqual({ migrationId: MIGRATION, queued: 2, done: 2, failed: 0, errors: [] });
    expect(await service.verify(a)).toMatchObject({ valid: true });
    expect(await service.verify(b)).toMatchObject({ valid: true });
  });

  test('calls under one id are one migration: places go on from call to call', async () => {
    await start();
    const secrets = secretsOf(250);
    for (let i = 0; i < 250; i += 100) {
      expect((await enqueue(secrets.slice(i, i + 100).map(plain))).status).toBe(202);
    }
    await enqueue([plain(secrets[7] ?? ''), plain('another one of this migration')]);
    await workOff();
    expect(await progress()).toEqual({
      migrationId: MIGRATION,
      queued: 252,
      done: 251,
      failed: 1,
      errors: [{ index: 250, message: 'This key exists already.' }],
    });
    expect((await service.ok('/v1/apis.listKeys', { apiId, limit: 1 })).total).toBe(251);
  });

  test('a key that cannot be made is told with its reason, and the others are made', async () => {
    await start();
    await service.createKey({ apiId });
    const [a = '', b = '', c = '', d = ''] = secretsOf(4);
    await enqueue([
      plain(a),
      { ...plain(b), externalId: 'user_of_the_failed_alone', roles: ['no.such.role'] },
      hashed(a),
      { ...plain(c), externalId: 'user_of_the_made' },
      { ...plain(d), permissions: ['no.such.permission'] },
    ]);
    await workOff();
    expect(await progress()).toEqual({
      migrationId: MIGRATION,
      queued: 5,
      done: 2,
      failed: 3,
      errors: [
        { index: 1, message: 'There is no role "no.such.role".' },
        { index: 2, message: 'This key appears earlier in the list.' },
        { index: 4, message: 'There is no permission "no.such.permission".' },
      ],
    });
    expect(await service.verify(c)).toMatchObject({ valid: true, ownerId: 'user_of_the_made' });
    for (const secret of [b, d]) expect(await service.verify(secret)).toMatchObject({ code: 'NOT_FOUND' });
    const left = await service.call('/v1/identities.getIdentity', { externalId: 'user_of_the_failed_alone' });
    expect(left.status).toBe(404);
  });

  test('what was answered with 202 is there after a restart, and is done then', async () => {
    await start();
    await enqueue(secretsOf(3).map(plain));
    await service.restart();
    await workOff();
    expect(await progress()).toMatchObject({ queued: 3, done: 3, failed: 0 });
  });

  test('each key is made once, however many work on it at the same time', async () => {
    await start();
    const secrets = secretsOf(100);
    for (let i = 0; i < 20; i++) await enqueue(secrets.slice(i * 5, i * 5 + 5).map(plain));
    await Promise.all([workOff(), workOff(), workOff()]);
    await workOff();
    expect(await progress()).toEqual({ migrationId: MIGRATION, queued: 100, done: 100, failed: 0, errors: [] });
    expect((await service.ok('/v1/apis.listKeys', { apiId, limit: 1 })).total).toBe(100);
  });

  test('an api that is deleted meanwhile makes its keys fail, and holds up no other migration', async () => {
    await start();
    await enqueue(secretsOf(2).map(plain));
    const other = await service.createApi();
    const [kept = ''] = secretsOf(1, 'other');
    await enqueue([plain(kept)], { migrationId: 'another', apiId: other });
    await service.ok('/v1/apis.deleteApi', { apiId });
    await workOff();
    const message = `There is no api "${apiId}", or this root key may not see it.`;
    expect(await progress()).toMatchObject({ done: 0, failed: 2, errors: [{ index: 0, message }, { message }] });
    expect(await service.verify(kept)).toMatchObject({ valid: true });
  });

  test('a stored batch that cannot be read fails as a whole, and holds up no other', async () => {
    await start();
    await enqueue(secretsOf(2).map(plain));
    const db = new Database(join(service.folder, 'keystile.db'));
    db.run("UPDATE import_batches SET keys = '{broken'");
    db.close();
    await enqueue(secretsOf(1, 'next').map(plain));
    await workOff();
    expect(await progress()).toEqual({
      migrationId: MIGRATION,
      queued: 3,
      done: 1,
      failed: 2,
      errors: [0, 1].map((index) => ({
        index,
        message: 'The stored import of this key cannot be read; enqueue the key again.',
      })),
    });
  });

  test('keys over the quota fail and say so; those that fit are made', async () => {
    await start({ KEYSTILE_MAX_KEYS: '3' });
    await service.createKey({ apiId });
    await enqueue(secretsOf(4).map(plain));
    await workOff();
    const message = 'This installation is limited to 3 keys (KEYSTILE_MAX_KEYS); 1 more would exceed the quota.';
    expect(await progress()).toMatchObject({
      done: 2,
      failed: 2,
      errors: [
        { index: 2, message },
        { index: 3, message },
      ],
    });
  });

  test('the audit log tells of the call and of each key, all with who asked', async () => {
    await start();
    const [secret = ''] = secretsOf(1);
    const answer = await enqueue([plain(secret)]);
    service.clock.advance(5000);
    await workOff();
    const { keyId } = await service.verify(secret);
    expect(await entriesAbout(service, MIGRATION)).toEqual([
      { action: 'migration.enqueue', before: null, after: { apiId, keys: 1 } },
    ]);
    const { entries } = await service.ok('/v1/audit.listEntries', { target: keyId });
    expect(entries).toEqual([
      expect.objectContaining({
        action: 'key.create',
        time: service.clock.nowMs(),
        origin: '203.0.113.7',
        requestId: answer.headers.get('keystile-request-id'),
      }),
    ]);
  });

  test('no plaintext waits on disk', async () => {
    await start();
    const [secret = ''] = secretsOf(1);
    await enqueue([{ ...plain(secret), name: 'findable' }]);
    await service.stop();
    const files = readdirSync(service.folder).map((name) => readFileSync(join(service.folder, name), 'latin1'));
    expect(files.some((text) => text.includes('findable'))).toBe(true);
    expect(files.filter((text) => text.includes(secret))).toEqual([]);
    await service.open();
  });
});

const LONG = 'a-secret-of-16-and-more';

const rootKeyWith = async (...rights: string[]): Promise<string> =>
  (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

async function refused(body: { keys?: unknown; fields?: object; rootKey?: string }) {
  const before = tablesOf(service);
  const answer = await enqueue(body.keys ?? [plain(LONG)], body.fields, body.rootKey);
  expect(tablesOf(service)).toEqual(before);
  return { status: answer.status, ...answer.body.error };
}

describe('migrations.enqueueKeys refuses and stores nothing', () => {
  test('a migrationId that another api uses, with a 409 that does not tell of it', async () => {
    await start();
    await enqueue([plain('a key of the first')]);
    const other = await service.createApi();
    expect(await refused({ fields: { apiId: other } })).toMatchObject({
      status: 409,
      code: 'CONFLICT',
      message: `The migrationId "${MIGRATION}" is in use; choose another one.`,
    });
  });

  test('more than a million keys that wait, with a 429', async () => {
    await start();
    await enqueue([plain('a key of the first')]);
    const db = new Database(join(service.folder, 'keystile.db'));
    db.run('UPDATE imports SET queued = 1000000');
    expect(await refused({})).toMatchObject({
      status: 429,
      code: 'RATE_LIMITED',
      message: '1000000 keys of this migration are waiting already; send more when some of them are done.',
    });
    db.run('UPDATE imports SET done = 1');
    db.close();
    expect((await enqueue([plain(LONG)])).status).toBe(202);
  });

  test('an api that is hidden or does not exist with a 404, and a missing right with a 403', async () => {
    await start();
    const other = await service.createApi();
    const rootKey = await rootKeyWith(`api.${other}.create_key`);
    expect(await refused({ rootKey })).toMatchObject({ status: 404 });
    expect(await refused({ fields: { apiId: 'api_none' } })).toMatchObject({ status: 404 });
    const reader = await rootKeyWith('api.*.read_key');
    expect(await refused({ rootKey: reader })).toMatchObject({
      status: 403,
      message: 'This root key lacks the right api.*.create_key.',
    });
    const maker = await rootKeyWith('api.*.create_key');
    for (const [field, right] of [
      ['roles', 'rbac.*.add_role_to_key'],
      ['permissions', 'rbac.*.add_permission_to_key'],
    ] as const) {
      const answer = await refused({ rootKey: maker, keys: [{ plaintext: LONG, [field]: ['x'] }] });
      expect([answer.status, answer.message]).toEqual([403, `This root key lacks the right ${right}.`]);
    }
  });

  test('bad keys, by the path of each', async () => {
    await start();
    const answer = await refused({ keys: [plain(LONG), {}, { plaintext: LONG, ratelimit: { limit: 1 } }] });
    expect([answer.status, answer.issues]).toEqual([
      400,
      [
        { path: 'keys[1]', message: 'keys[1]: give either plaintext or hash' },
        { path: 'keys[2].ratelimit.duration', message: 'keys[2]: ratelimit.duration is missing' },
      ],
    ]);
    expect(await refused({ keys: [{ plaintext: LONG, remaining: -1 }] })).toMatchObject({
      issues: [{ path: 'keys[0].remaining' }],
    });
    expect(await refused({ keys: [{ plaintext: LONG, apiId }] })).toMatchObject({
      issues: [{ path: 'keys[0].apiId' }],
    });
    expect(await refused({ keys: [] })).toMatchObject({ status: 400, issues: [{ path: 'keys' }] });
    expect(await refused({ keys: Array.from({ length: 101 }, () => plain(LONG)) })).toMatchObject({ status: 400 });
  });
});

describe('migrations.getProgress', () => {
  test('is the same 404 for a migration that is not there and for one of an api that is hidden', async () => {
    await start();
    await enqueue([plain('a key of this migration')]);
    const rootKey = await rootKeyWith(`api.${await service.createApi()}.create_key`);
    const ask = async (migrationId: string, by?: string) => {
      const options = by === undefined ? {} : { rootKey: by };
      const { status, body } = await service.call('/v1/migrations.getProgress', { migrationId }, options);
      return [status, body.error.message];
    };
    const message = 'There is no migration with this id, or this root key may not see it.';
    expect(await ask(MIGRATION, rootKey)).toEqual([404, message]);
    expect(await ask('none', rootKey)).toEqual([404, message]);
    expect(await ask('none')).toEqual([404, message]);
    const reader = await rootKeyWith('api.*.read_api');
    expect(await ask(MIGRATION, reader)).toEqual([403, 'This root key lacks the right api.*.create_key.']);
  });

  test('keeps the first 1,000 errors and counts all', async () => {
    await start();
    const [secret = ''] = secretsOf(1);
    await enqueue([plain(secret)]);
    for (let i = 0; i < 11; i++) await enqueue(Array.from({ length: 100 }, () => plain(secret)));
    await workOff();
    const { queued, done, failed, errors } = await progress();
    expect([queued, done, failed, errors.length]).toEqual([1101, 1, 1100, 1000]);
    expect(errors[999]).toEqual({ index: 1000, message: 'This key exists already.' });
  });
});
