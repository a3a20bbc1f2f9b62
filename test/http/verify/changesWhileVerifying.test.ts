import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });
beforeEach(() => {
  service = started();
});

const KINDS: readonly [name: string, fields: Record<string, unknown>][] = [
  ['a plain key', {}],
  ['a key with a local limit', { ratelimit: { limit: 100_000, duration: 60_000 } }],
  ['a key with credits', { remaining: 100_000 }],
  ['a key with a strict limit', { ratelimit: { limit: 100_000, duration: 60_000, async: false } }],
];

const CHANGES: readonly [name: string, code: string, change: (keyId: string) => Promise<unknown>][] = [
  ['delete', 'NOT_FOUND', (keyId) => service.ok('/v1/keys.deleteKey', { keyId })],
  ['permanent delete', 'NOT_FOUND', (keyId) => service.ok('/v1/keys.deleteKey', { keyId, permanent: true })],
  ['disabling', 'DISABLED', (keyId) => service.ok('/v1/keys.updateKey', { keyId, enabled: false })],
  ['expiring', 'EXPIRED', (keyId) => service.ok('/v1/keys.updateKey', { keyId, expires: 0 })],
];

/** Lets 1,000 verifications race a change. Answers the codes of those that were asked after its answer. */
async function raceWith(key: string, change: () => Promise<unknown>): Promise<string[]> {
  const race = { isAnswered: false };
  const late: string[] = [];
  const verifyOnce = async (): Promise<void> => {
    const askedLate = race.isAnswered;
    const verdict = await service.verify(key);
    if (askedLate) late.push(verdict.code as string);
  };
  const changing = change().then(() => (race.isAnswered = true));
  const racing: Promise<void>[] = [];
  while (racing.length < 1000 || !race.isAnswered) {
    for (let i = 0; i < 100; i++) racing.push(verifyOnce());
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await Promise.all([changing, ...racing]);
  for (let i = 0; i < 10; i++) await verifyOnce();
  return [...new Set(late)];
}

test.each(KINDS)('verifications race a change of %s: none asked after the answer is valid', async (_name, fields) => {
  const changed: [name: string, key: string, code: string][] = [];
  for (const [name, code, change] of CHANGES) {
    const { key, keyId } = await service.createKey(fields);
    expect([name, await raceWith(key, () => change(keyId))]).toEqual([name, [code]]);
    changed.push([name, key, code]);
  }
  await service.restart();
  for (const [name, key, code] of changed) expect([name, (await service.verify(key)).code]).toEqual([name, code]);
});

describe('what a verdict tells after an update', () => {
  test('is the new state, at once', async () => {
    const { key, keyId } = await service.createKey({ name: 'old', meta: { v: 1 }, externalId: 'a', environment: 'x' });
    expect(await service.verify(key)).toMatchObject({ name: 'old', meta: { v: 1 }, ownerId: 'a' });
    await service.ok('/v1/keys.updateKey', { keyId, name: 'new', meta: { v: 2 }, externalId: 'b', environment: null });
    const verdict = await service.verify(key);
    expect(verdict).toMatchObject({ name: 'new', meta: { v: 2 }, ownerId: 'b', identity: { externalId: 'b' } });
    expect(verdict).not.toHaveProperty('environment');
    await service.ok('/v1/keys.updateKey', { keyId, name: null, meta: null, externalId: null });
    const cleared = await service.verify(key);
    expect(cleared).toEqual({
      valid: true,
      code: 'VALID',
      requestId: cleared.requestId,
      keyId,
      meta: {},
      enabled: true,
      permissions: [],
      roles: [],
    });
  });

  test('a field that the update does not name stays as it was', async () => {
    const fields = { name: 'n', meta: { a: 1 }, externalId: 'u', environment: 'e', ipAllowlist: ['203.0.113.0/24'] };
    const { key, keyId } = await service.createKey({ ...fields, remaining: 5 });
    const before = await service.ok('/v1/keys.getKey', { keyId });
    await service.ok('/v1/keys.updateKey', { keyId, enabled: true });
    const { updatedAt, ...after } = await service.ok('/v1/keys.getKey', { keyId });
    expect(updatedAt).toBe(service.clock.nowMs());
    expect(after).toEqual(before);
    expect((await service.verify(key)).code).toBe('VALID');
  });

  test('50 increments and updates of four fields at the same time: none is lost', async () => {
    const { keyId } = await service.createKey({ remaining: 0 });
    const increments = Array.from({ length: 50 }, () =>
      service.ok('/v1/keys.updateRemaining', { keyId, op: 'increment', value: 1 }),
    );
    await Promise.all([
      ...increments,
      service.ok('/v1/keys.updateKey', { keyId, name: 'n' }),
      service.ok('/v1/keys.updateKey', { keyId, environment: 'e' }),
      service.ok('/v1/keys.updateKey', { keyId, meta: { a: 1 } }),
      service.ok('/v1/keys.updateKey', { keyId, externalId: 'u' }),
    ]);
    expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({
      name: 'n',
      environment: 'e',
      meta: { a: 1 },
      ownerId: 'u',
      remaining: 50,
    });
  });
});

describe('a deleted key', () => {
  test.each([[false], [true]])('is nowhere to be seen (permanent: %p)', async (permanent) => {
    const { key, keyId, apiId } = await service.createKey({ remaining: 5 });
    await service.ok('/v1/keys.deleteKey', { keyId, permanent });
    const verdict = await service.verify(key);
    expect(verdict).toEqual({ valid: false, code: 'NOT_FOUND', requestId: verdict.requestId, meta: {} });
    expect(await service.ok('/v1/apis.listKeys', { apiId })).toEqual({ keys: [], total: 0 });
    for (const [path, more] of [
      ['/v1/keys.getKey', {}],
      ['/v1/keys.updateKey', { name: 'x' }],
      ['/v1/keys.updateRemaining', { op: 'set', value: 1 }],
      ['/v1/keys.deleteKey', {}],
    ] as const) {
      expect((await service.call(path, { keyId, ...more })).status).toBe(404);
    }
  });

  test('takes its idempotency keys with it: a retry of a charged verification is not found', async () => {
    const { key, keyId } = await service.createKey({ remaining: 5 });
    await service.verify(key, { idempotencyKey: 'order-0001' });
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect((await service.verify(key, { idempotencyKey: 'order-0001' })).code).toBe('NOT_FOUND');
  });
});
