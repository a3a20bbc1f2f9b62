import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { AppError } from '../../../src/core/errors.ts';
import { reuseService } from '../../support/reusedService.ts';
import { type Answer, TestService, type TestServiceOptions } from '../../support/service.ts';
import { shownError, withoutIds } from './shownError.ts';

/** The words of errors that need trouble: a full disk, a broken row, too much at once. */

let service: TestService;

let own: TestService | null = null;

const started = reuseService();
beforeEach(() => {
  service = started();
});

afterEach(async () => {
  await own?.close();
  own = null;
});

/** A service of the test's own: with other settings, or to be damaged. */
const start = async (settings: TestServiceOptions['settings'] = {}): Promise<void> => {
  own = await TestService.start({ settings });
  service = own;
};

/** Changes the database while the service is stopped. */
async function tamper(sql: string, file = 'keystile.db'): Promise<void> {
  await service.stop();
  const db = new Database(join(service.folder, file));
  db.run(sql);
  db.close();
  await service.open();
}

const verify = (key: string, fields: object = {}) =>
  service.call('/v1/keys.verifyKey', { key, ...fields }, { rootKey: null });
const createApi = () => service.call('/v1/apis.createApi', { name: 'abc' });
const firstFailed = (answers: readonly Answer[]): Answer =>
  answers.find(({ status }) => status !== 200) ?? expect.unreachable();

const adHoc = (count: number, async: boolean, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ name: `n${from + i}`, limit: 1, duration: 60_000, async }));

describe('the words of errors: trouble with the database', () => {
  test('a full disk: 503, and on again when there is space', async () => {
    const { key, apiId } = await service.createKey({ remaining: 5 });
    const large = { apiId, meta: { a: 'x'.repeat(16_000) } };
    await service.fillDisk();
    expect(shownError(await service.call('/v1/keys.createKey', large))).toMatchSnapshot();
    expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(1);
    expect((await verify('demo_unknown')).body.code).toBe('NOT_FOUND');
    await service.storage.setMaxPages(null);
    expect((await service.call('/v1/keys.createKey', large)).status).toBe(200);
    expect((await verify(key)).body.remaining).toBe(4);
    expect(service.broken).toEqual([]);
  });

  test('a full disk: analytics cannot be asked, and nothing that is counted meanwhile is lost', async () => {
    const { key, apiId } = await service.createKey();
    const ask = () => service.call('/v1/analytics.getVerifications', { apiId });
    expect((await ask()).body[0].total).toBe(0);
    await service.storage.setMaxPages(1);
    for (let i = 0; i < 20; i++) await verify(key, { tags: [`${i}`.padEnd(128, 'x'), 'y'.repeat(128)] });
    expect(shownError(await ask())).toMatchSnapshot();
    await verify(key);
    await service.storage.setMaxPages(null);
    expect((await ask()).body[0].total).toBe(21);
    expect(service.broken).toEqual([]);
  });

  test('a commit whose fate is unknown, and what is answered after it', async () => {
    await start();
    const { key } = await service.createKey({ remaining: 5 });
    await tamper('CREATE TRIGGER t BEFORE INSERT ON apis BEGIN INSERT INTO missing VALUES (1); END');
    expect(shownError(await createApi())).toMatchSnapshot();
    expect(shownError(await verify(key))).toMatchSnapshot();
    expect(shownError(await createApi())).toMatchSnapshot();
    expect((await service.call('/v1/readiness')).status).toBe(503);
    expect(service.broken.length).toBe(1);
  });

  test('a table that is gone: 500, and the log has more', async () => {
    await start();
    await tamper('DROP TABLE permissions');
    const answer = await service.call('/v1/permissions.listPermissions', {});
    expect(shownError(answer)).toMatchSnapshot();
    expect(service.logLines.filter((line) => line.includes(answer.body.error.requestId as string)).length).toBe(1);
  });

  test('last uses of keys that cannot be read: who asks for a key is told so, and verification goes on', async () => {
    await start();
    const { key, keyId } = await service.createKey({ remaining: 5 });
    await tamper('DROP TABLE key_uses', 'analytics.db');
    expect(shownError(await service.call('/v1/keys.getKey', { keyId }))).toMatchSnapshot();
    expect((await verify(key)).body.remaining).toBe(4);
  });

  test('a stored key that cannot be read fails alone, by its id', async () => {
    await start();
    const poisoned = await service.createKey({ meta: { a: 1 } });
    const healthy = await service.createKey({ apiId: poisoned.apiId });
    await tamper(`UPDATE keys SET meta = '[]' WHERE id = '${poisoned.keyId}'`);
    expect(shownError(await verify(poisoned.key))).toMatchSnapshot();
    expect(shownError(await service.call('/v1/keys.getKey', { keyId: poisoned.keyId }))).toMatchSnapshot();
    expect((await verify(healthy.key)).body.code).toBe('VALID');
  });

  test('a spend that breaks a constraint', async () => {
    await start();
    const { key } = await service.createKey({ remaining: 5 });
    for (const table of ['idempotency_0', 'idempotency_1']) {
      await tamper(`CREATE TRIGGER t_${table} BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'no'); END`);
    }
    expect(shownError(await verify(key, { idempotencyKey: 'order-0001' }))).toMatchSnapshot();
    expect((await verify(key)).body.remaining).toBe(4);
  });

  test('counters that do not fit their record', async () => {
    await start();
    const { key } = await service.createKey({ remaining: 5 });
    await tamper('DELETE FROM accounts');
    expect(shownError(await verify(key))).toMatchSnapshot();
  });

  test('a change that others come before again and again', async () => {
    await start();
    await tamper("CREATE TRIGGER t BEFORE INSERT ON apis BEGIN SELECT RAISE(ABORT, 'no'); END");
    expect(shownError(await createApi())).toMatchSnapshot();
  });
});

describe('the words of errors: trouble with standalone limits', () => {
  const limit = (fields: object) =>
    service.call('/v1/ratelimits.limit', { identifier: 'user', limit: 5, duration: 60_000, ...fields });

  test('a limit that was decided, and whose resources cannot be written down', async () => {
    await limit({ async: true });
    await service.fillDisk();
    // More than a page: the entry keeps what names the resources.
    const resources = Array.from({ length: 10 }, (_, i) => ({ type: 'project', id: `p${i}`, name: 'x'.repeat(250) }));
    const twice = resources.map((resource) => ({ ...resource, meta: { filler: 'x'.repeat(500) } }));
    expect(shownError(await limit({ async: true, resources: twice }))).toMatchSnapshot();
    await service.storage.setMaxPages(null);
    expect((await limit({ async: true })).body.remaining).toBe(2);
  });

  test('a spend that breaks a constraint', async () => {
    await start();
    await limit({});
    await tamper("CREATE TRIGGER t BEFORE INSERT ON ledger_log BEGIN SELECT RAISE(ABORT, 'no'); END");
    expect(shownError(await limit({}))).toMatchSnapshot();
    await tamper('DROP TRIGGER t');
    expect((await limit({})).body.remaining).toBe(3);
  });
});

describe('the words of errors: too much at once', () => {
  test('more changes of one key than may wait', async () => {
    const { keyId } = await service.createKey();
    const changes = Array.from({ length: 1200 }, (_, i) => service.call('/v1/keys.updateKey', { keyId, name: `${i}` }));
    expect(shownError(firstFailed(await Promise.all(changes)))).toMatchSnapshot();
  });

  test('more waiting for the ledger than may', async () => {
    await start({ KEYSTILE_MAX_WAITING: '1' });
    const { key } = await service.createKey({ remaining: 50 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => verify(key)));
    expect(shownError(firstFailed(answers))).toMatchSnapshot();
  });

  test('more local limits than a node counts', async () => {
    await start({ KEYSTILE_MAX_LOCAL_COUNTERS: '1' });
    for (const status of [200, 503]) {
      const { key } = await service.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
      const answer = await verify(key);
      expect(answer.status).toBe(status);
      if (status === 503) expect(shownError(answer)).toMatchSnapshot();
    }
  });

  test('more lookups of unknown keys than may wait', async () => {
    const lookups = Array.from({ length: 10_001 }, (_, i) => service.engine.memory.keyCache.lookUp(`digest ${i}`));
    const settled = await Promise.allSettled(lookups);
    const reasons = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as AppError] : []));
    expect(reasons.map(({ code, message }) => ({ code, message }))).toMatchSnapshot();
  });

  test('more live idempotency keys than one key may have', async () => {
    const { key } = await service.createKey({ remaining: 20_000 });
    const orders = Array.from({ length: 10_001 }, (_, i) => verify(key, { idempotencyKey: `order-${10_000 + i}` }));
    const answers = await Promise.all(orders);
    expect(answers.filter(({ status }) => status === 200).length).toBe(10_000);
    expect(shownError(firstFailed(answers))).toMatchSnapshot();
    expect((await verify(key)).body.remaining).toBe(9999);
  });

  test.each([[true], [false]])('more ad-hoc limits than an owner may have (async %p)', async (async) => {
    const { key } = await service.createKey();
    const answers = [];
    for (const from of [0, 50, 100, 150]) answers.push(await verify(key, { ratelimits: adHoc(50, async, from) }));
    expect(shownError(firstFailed(answers))).toMatchSnapshot();
  });

  test('verifying without the right to', async () => {
    await start({ KEYSTILE_VERIFY_AUTH: 'required' });
    const { secret } = await service.engine.rootKeys.create({
      name: null,
      rights: ['api.*.read_key'],
      expiresAtMs: null,
    });
    expect(shownError(await service.call('/v1/keys.verifyKey', { key: 'x' }, { rootKey: secret }))).toMatchSnapshot();
  });
});

describe('the words of errors: root keys at the start and on the command line', () => {
  test.each([
    ['too short', () => service.engine.rootKeys.adopt('short')],
    [
      'revoked before',
      async () => {
        const secret = 'a-root-key-of-the-operator-0001';
        const { id } = await service.engine.rootKeys.adopt(secret);
        await service.engine.rootKeys.revoke(id);
        return service.engine.rootKeys.adopt(secret);
      },
    ],
    ['unknown to revoke', () => service.engine.rootKeys.revoke('rk_unknown')],
    ['with no such right', () => service.engine.rootKeys.create({ name: null, rights: ['api.x'], expiresAtMs: null })],
    ['expired before it begins', () => service.engine.rootKeys.create({ name: null, rights: ['*'], expiresAtMs: 1 })],
    [
      'with a name too long',
      () => service.engine.rootKeys.create({ name: 'x'.repeat(257), rights: ['*'], expiresAtMs: null }),
    ],
    ['without a right', () => service.engine.rootKeys.create({ name: null, rights: [], expiresAtMs: null })],
  ])('%s', async (_name, ask) => {
    const failure: unknown = await ask().then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(AppError);
    const { code, message } = failure as AppError;
    expect({ code, message: withoutIds(message) }).toMatchSnapshot();
  });
});
