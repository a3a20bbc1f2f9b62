import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';
import { sha256 } from './imported.ts';
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
