import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';

import { join } from 'node:path';
import { TestService } from '../../support/service.ts';
import { tablesOf } from './imported.ts';
import { queueCalls } from './queueCalls.ts';

let service: TestService;

let apiId = '';

async function start(settings: Record<string, string> = {}): Promise<void> {
  service = await TestService.start({ settings });
  apiId = await service.createApi();
}

afterEach(async () => {
  await service.close();
});

const { MIGRATION, enqueue, progress, workOff, secretsOf, plain } = queueCalls(() => ({ service, apiId }));

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
  test('answers GET and POST alike', async () => {
    await start();
    await enqueue([plain('a key of this migration')]);
    const path = `/v1/migrations.getProgress?migrationId=${encodeURIComponent(MIGRATION)}`;
    const got = await service.call(path, undefined, { method: 'GET' });
    expect([got.status, got.body]).toEqual([200, await progress()]);
  });

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
