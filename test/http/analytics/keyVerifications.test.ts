import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { Answer } from '../../support/service.ts';
import { AnalyticsApiSetup, DAY_MS, type Fields, HOUR_MS, NOW } from './analyticsSetup.ts';

let setup: AnalyticsApiSetup;
const started = reuseService();
beforeEach(async () => {
  setup = await AnalyticsApiSetup.on(started());
});

const NONE = {
  success: 0,
  rateLimited: 0,
  usageExceeded: 0,
  forbidden: 0,
  disabled: 0,
  expired: 0,
  insufficientPermissions: 0,
  credits: 0,
};

const call = (fields: Fields, rootKey?: string): Promise<Answer> =>
  setup.service.call('/v1/keys.getVerifications', fields, rootKey === undefined ? {} : { rootKey });

async function ask(fields: Fields): Promise<Fields[]> {
  const { status, body } = await call(fields);
  expect([status, Object.keys(body)]).toEqual([200, ['verifications']]);
  return body.verifications as Fields[];
}

const totals = async (fields: Fields) => (await ask(fields)).map(({ success }) => success);

const rootKeyWith = async (...rights: readonly string[]): Promise<string> =>
  (await setup.service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

describe('verifications of a key', () => {
  test('by outcome, for each of the last 30 days, with nothing left out', async () => {
    const { key, keyId } = await setup.createKey({
      remaining: 2,
      ratelimit: { limit: 4, duration: DAY_MS, async: false },
    });
    await setup.verifyTimes(key, 3);
    await setup.verifyTimes(key, 1, { apiId: 'api_another' });
    await setup.verifyTimes(key, 1, { authorization: { permissions: 'documents.read' } });
    await setup.service.ok('/v1/keys.updateKey', { keyId, remaining: 2 });
    await setup.verifyTimes(key, 3);
    await setup.service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    await setup.verifyTimes(key, 1);
    await setup.service.ok('/v1/keys.updateKey', { keyId, enabled: true, expires: 1 });
    await setup.verifyTimes(key, 1);
    const rows = await ask({ keyId });
    expect(rows.map(({ time }) => time)).toEqual(
      Array.from({ length: 30 }, (_, i) => Date.parse('2026-02-14T00:00:00Z') + i * DAY_MS),
    );
    expect(rows.slice(0, -1).map(({ time: _time, ...counts }) => counts)).toEqual(
      Array.from({ length: 29 }, () => NONE),
    );
    expect(rows.at(-1)).toEqual({
      time: Date.parse('2026-03-15T00:00:00Z'),
      success: 4,
      rateLimited: 1,
      usageExceeded: 1,
      forbidden: 1,
      disabled: 1,
      expired: 1,
      insufficientPermissions: 1,
      credits: 4,
    });
  });

  test('of that key alone, with all its tags, by the day or the hour', async () => {
    const [one, other] = [await setup.createKey({ name: 'one' }), await setup.createKey()];
    setup.service.clock.set('2026-03-14T23:30:00Z');
    await setup.verifyTimes(one.key, 2, { tags: ['a'] });
    setup.service.clock.set(NOW);
    await setup.verifyTimes(one.key, 3);
    await setup.verifyTimes(other.key, 7);
    const start = Date.parse('2026-03-14T22:00:00Z');
    expect(await totals({ keyId: one.keyId, start })).toEqual([2, 3]);
    expect(await totals({ keyId: one.keyId, start, granularity: 'day', end: null })).toEqual([2, 3]);
    expect(await totals({ keyId: one.keyId, start, end: start + 3 * HOUR_MS, granularity: 'hour' })).toEqual([0, 2, 0]);
    expect((await ask({ keyId: one.keyId, granularity: 'hour' })).length).toBe(24);
  });

  test('as far back as they are kept, when they are asked for from the beginning of time', async () => {
    const { key, keyId } = await setup.createKey();
    setup.service.clock.set('2026-03-15T12:30:00Z');
    await setup.service.verify(key);
    for (const [granularity, first, count] of [
      ['hour', '2026-01-14T13:00:00.000Z', 60 * 24],
      ['day', '2024-01-06T00:00:00.000Z', 800],
    ] as const) {
      const rows = await ask({ keyId, start: 0, granularity });
      expect([rows[0]?.['time'], rows.length, rows.at(-1)?.['success']]).toEqual([Date.parse(first), count, 1]);
    }
  });

  test('are those of all its secrets: a rotated key keeps its history', async () => {
    const { key, keyId } = await setup.createKey();
    await setup.verifyTimes(key, 2);
    const rotated = await setup.service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 });
    await setup.verifyTimes(key, 3);
    await setup.verifyTimes(rotated.key, 4);
    expect((await totals({ keyId })).at(-1)).toBe(9);
  });

  test('the same as query parameters', async () => {
    const { key, keyId } = await setup.createKey();
    await setup.service.verify(key);
    const path = `/v1/keys.getVerifications?keyId=${keyId}&start=${Date.parse(NOW)}&granularity=hour`;
    const answer = await setup.service.call(path, undefined, { method: 'GET' });
    expect(answer.body).toEqual({ verifications: [{ ...NONE, time: Date.parse(NOW), success: 1 }] });
  });
});

describe('verifications of an owner', () => {
  test("of all keys that were the owner's then, in all apis, deleted ones too", async () => {
    const { service } = setup;
    const first = await setup.createKey({ externalId: 'user_1' });
    const second = await setup.createKey({ externalId: 'user_1', apiId: await service.createApi('another') });
    const stranger = await setup.createKey({ externalId: 'user_2' });
    await setup.verifyTimes(first.key, 1);
    await setup.verifyTimes(second.key, 2);
    await setup.verifyTimes(stranger.key, 4);
    await service.ok('/v1/keys.updateKey', { keyId: first.keyId, externalId: 'user_2' });
    await setup.verifyTimes(first.key, 8);
    await service.ok('/v1/keys.deleteKey', { keyId: second.keyId });
    expect((await totals({ ownerId: 'user_1' })).at(-1)).toBe(3);
    expect((await totals({ ownerId: 'user_2' })).at(-1)).toBe(12);
    expect(await totals({ ownerId: 'nobody', granularity: 'hour' })).toEqual(Array.from({ length: 24 }, () => 0));
  });

  test('only in apis whose keys the root key may read', async () => {
    const other = await setup.service.createApi('another');
    await setup.verifyTimes((await setup.createKey({ externalId: 'user_1' })).key, 1);
    await setup.verifyTimes((await setup.createKey({ externalId: 'user_1', apiId: other })).key, 2);
    const seen = async (...rights: readonly string[]) => {
      const { status, body } = await call({ ownerId: 'user_1' }, await rootKeyWith(...rights));
      return [status, body.verifications?.at(-1).success ?? body.error.message];
    };
    expect(await seen(`api.${setup.apiId}.read_key`)).toEqual([200, 1]);
    expect(await seen(`api.${setup.apiId}.read_key`, `api.${other}.read_key`)).toEqual([200, 3]);
    expect(await seen('api.*.read_key')).toEqual([200, 3]);
    expect(await seen('api.*.read_analytics')).toEqual([403, 'This root key lacks the right api.*.read_key.']);
  });
});

describe('what is refused', () => {
  test.each([
    [{}, ['keyId']],
    [{ keyId: 'key_1', ownerId: 'user_1' }, ['keyId']],
    [{ start: 2, end: 2 }, ['end', 'keyId']],
    [{ keyId: 'key_1', granularity: 'month' }, ['granularity']],
    [{ keyId: 5 }, ['keyId']],
    [{ keyId: 'key_1', from: 1 }, ['from']],
  ])('%p is a 400 that names what is wrong', async (fields, paths) => {
    const { status, body } = await call(fields);
    expect([status, body.error.issues.map(({ path }: { path: string }) => path)]).toEqual([400, paths]);
  });

  test('more than 10,000 rows are a 400', async () => {
    const { keyId } = await setup.createKey();
    const start = setup.service.clock.nowMs();
    const { status, body } = await call({ keyId, start, end: start + 10_001 * HOUR_MS, granularity: 'hour' });
    expect([status, body.error.message]).toEqual([
      400,
      'There are more than 10000 hours between start and end. Choose a shorter period.',
    ]);
  });

  test('a key that is unknown, deleted or of an api that the root key may not read is a 404, without any right a 403', async () => {
    const { keyId } = await setup.createKey();
    const other = await setup.service.createApi('another');
    expect((await call({ keyId }, await rootKeyWith(`api.${setup.apiId}.read_key`))).status).toBe(200);
    const hidden = await call({ keyId }, await rootKeyWith(`api.${other}.read_key`));
    const unknown = await call({ keyId: 'key_not_there' });
    expect([hidden.status, unknown.status]).toEqual([404, 404]);
    expect((await call({ keyId }, await rootKeyWith('api.*.read_analytics'))).status).toBe(403);
    await setup.service.ok('/v1/keys.deleteKey', { keyId });
    expect((await call({ keyId })).status).toBe(404);
  });
});
