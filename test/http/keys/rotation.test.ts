import { beforeEach, describe, expect, test } from 'bun:test';

import { MAX_LIVE_SECRETS } from '../../../src/core/bounds.ts';
import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

const rotate = (keyId: string, overlapMs: number) => service.ok('/v1/keys.rotateKey', { keyId, overlapMs });
const codeOf = async (key: string) => (await service.verify(key)).code as string;

describe('rotateKey', () => {
  test('both secrets have the id, the counters and the limits of the key, until the overlap ends', async () => {
    const { key, keyId } = await service.createKey({
      prefix: 'my_app',
      remaining: 10,
      ratelimit: { async: true, limit: 100, duration: 60_000 },
      ratelimits: [{ name: 'strict', limit: 100, duration: 60_000, async: false }],
    });
    await service.verify(key);
    const rotated = await rotate(keyId, 5_000);
    expect(rotated.keyId).toBe(keyId);
    expect(rotated.key).toStartWith('my_app_');
    const [old, fresh] = [await service.verify(key), await service.verify(rotated.key)];
    expect([old.keyId, old.remaining, fresh.keyId, fresh.remaining]).toEqual([keyId, 8, keyId, 7]);
    expect(fresh.ratelimits).toMatchObject([
      { name: 'default', remaining: 97 },
      { name: 'strict', remaining: 97 },
    ]);
    service.clock.advance(4_999);
    expect([await codeOf(key), await codeOf(rotated.key)]).toEqual(['VALID', 'VALID']);
    service.clock.advance(1);
    const { requestId: _id, ...ended } = await service.verify(key);
    expect(ended).toEqual({ valid: false, code: 'NOT_FOUND', meta: {} });
    expect(await codeOf(rotated.key)).toBe('VALID');
  });

  test('without an overlap the old secret is unknown at once', async () => {
    const { key, keyId } = await service.createKey();
    await service.verify(key);
    const rotated = await rotate(keyId, 0);
    expect([await codeOf(key), await codeOf(rotated.key)]).toEqual(['NOT_FOUND', 'VALID']);
  });

  test('without an overlap all former secrets end, also those of earlier rotations', async () => {
    const { key, keyId } = await service.createKey();
    const second = (await rotate(keyId, 60_000)).key as string;
    expect([await codeOf(key), await codeOf(second)]).toEqual(['VALID', 'VALID']);
    const third = (await rotate(keyId, 0)).key as string;
    expect([await codeOf(key), await codeOf(second), await codeOf(third)]).toEqual(['NOT_FOUND', 'NOT_FOUND', 'VALID']);
    await service.restart();
    expect([await codeOf(key), await codeOf(second), await codeOf(third)]).toEqual(['NOT_FOUND', 'NOT_FOUND', 'VALID']);
  });

  test('an imported key whose beginning is no prefix gets a secret that works', async () => {
    const apiId = await service.createApi();
    for (const start of ['é_abc', 'with space_x', `${'a'.repeat(17)}_x`, '_x', '']) {
      const item = { apiId, plaintext: crypto.randomUUID(), start };
      const { keyIds } = await service.ok('/v1/migrations.createKeys', [
        start === '' ? { ...item, start: undefined } : item,
      ]);
      const fresh = (await rotate(keyIds[0], 0)).key as string;
      expect([start, await codeOf(fresh)]).toEqual([start, 'VALID']);
    }
  });

  test('the new secret is as long as the one before, and shorter than none that was asked for', async () => {
    const { key, keyId } = await service.createKey({ byteLength: 64, prefix: 'long' });
    expect((await rotate(keyId, 0)).key).toHaveLength(key.length);
    expect((await rotate(keyId, 0)).key).toHaveLength(key.length);
  });

  test('overlaps of several rotations run side by side, each to its own end, also over a restart', async () => {
    const { key, keyId } = await service.createKey();
    const second = (await rotate(keyId, 10_000)).key as string;
    service.clock.advance(1_000);
    const third = (await rotate(keyId, 1_000)).key as string;
    await service.restart();
    expect([await codeOf(key), await codeOf(second), await codeOf(third)]).toEqual(['VALID', 'VALID', 'VALID']);
    service.clock.advance(1_000);
    expect([await codeOf(key), await codeOf(second), await codeOf(third)]).toEqual(['VALID', 'NOT_FOUND', 'VALID']);
    service.clock.advance(8_000);
    expect([await codeOf(key), await codeOf(second), await codeOf(third)]).toEqual(['NOT_FOUND', 'NOT_FOUND', 'VALID']);
  });

  test('a change or a deletion of the key is seen under both secrets by the next verification', async () => {
    const { key, keyId } = await service.createKey();
    const fresh = (await rotate(keyId, 60_000)).key as string;
    expect([await codeOf(key), await codeOf(fresh)]).toEqual(['VALID', 'VALID']);
    await service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    expect([await codeOf(key), await codeOf(fresh)]).toEqual(['DISABLED', 'DISABLED']);
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect([await codeOf(key), await codeOf(fresh)]).toEqual(['NOT_FOUND', 'NOT_FOUND']);
    await service.ok('/v1/keys.restoreKey', { keyId });
    expect([await codeOf(key), await codeOf(fresh)]).toEqual(['DISABLED', 'DISABLED']);
    await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
    expect([await codeOf(key), await codeOf(fresh)]).toEqual(['NOT_FOUND', 'NOT_FOUND']);
  });

  test('a key has a bounded number of secrets; one more is refused until one has ended, without an overlap it is not', async () => {
    const { keyId } = await service.createKey();
    for (let i = 0; i < MAX_LIVE_SECRETS; i++) await rotate(keyId, 1_000);
    const refused = await service.call('/v1/keys.rotateKey', { keyId, overlapMs: 1_000 });
    expect([refused.status, refused.body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect(await codeOf((await rotate(keyId, 0)).key)).toBe('VALID');
    service.clock.advance(1_000);
    expect(await codeOf((await rotate(keyId, 1_000)).key)).toBe('VALID');
  });

  test('credits are exact while both secrets are used at once', async () => {
    const { key, keyId } = await service.createKey({ remaining: 50 });
    const fresh = (await rotate(keyId, 60_000)).key as string;
    const verdicts = await Promise.all(
      Array.from({ length: 200 }, (_, i) => service.verify(i % 2 === 0 ? key : fresh)),
    );
    expect(
      verdicts
        .filter(({ valid }) => valid)
        .map(({ remaining }) => remaining)
        .toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  test('a retry under the other secret is the same retry', async () => {
    const { key, keyId } = await service.createKey({ remaining: 5 });
    const fresh = (await rotate(keyId, 60_000)).key as string;
    await service.verify(key, { idempotencyKey: 'retry-0001' });
    expect(await service.verify(fresh, { idempotencyKey: 'retry-0001' })).toMatchObject({ valid: true, remaining: 4 });
    expect(await service.verify(fresh)).toMatchObject({ remaining: 3 });
  });

  test('whoami knows a former secret only while it is valid', async () => {
    const { key, keyId } = await service.createKey();
    await rotate(keyId, 1_000);
    expect((await service.ok('/v1/keys.whoami', { key })).id).toBe(keyId);
    service.clock.advance(1_000);
    expect((await service.call('/v1/keys.whoami', { key })).status).toBe(404);
  });

  test('needs both rights on the api of the key', async () => {
    const { keyId, apiId } = await service.createKey();
    for (const held of ['create_key', 'update_key']) {
      const rights = [`api.${apiId}.${held}`];
      const { secret } = await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null });
      const answer = await service.call('/v1/keys.rotateKey', { keyId, overlapMs: 0 }, { rootKey: secret });
      expect([answer.status, answer.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    }
  });
});
