import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { rootKeyCalls, type Made } from './rootKeyCalls.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const { make, as, refused, works, listed } = rootKeyCalls(() => ({ service }));

describe('rootKeys.rotateRootKey', () => {
  const rotate = (rootKeyId: string, overlapMs: number): Promise<Made> =>
    service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs });

  test('keeps id and rights; the old secret works up to the end of the overlap and not a millisecond longer', async () => {
    const { rootKeyId, key } = await make(['api.*.read_api'], { name: 'turned' });
    expect(await works(key)).toBe(true);
    const rotated = await rotate(rootKeyId, 5000);
    expect(rotated).toEqual({ rootKeyId, key: expect.stringMatching(/^root_/) });
    expect(rotated.key).not.toBe(key);
    for (const [afterMs, isValid] of [
      [0, true],
      [1, true],
      [4998, true],
      [1, false],
      [1, false],
    ] as const) {
      service.clock.advance(afterMs);
      expect([await works(key), await works(rotated.key)]).toEqual([isValid, true]);
    }
    expect(await listed(rootKeyId)).toMatchObject({
      name: 'turned',
      permissions: ['api.*.read_api'],
      start: rotated.key.slice(0, 9),
    });
  });

  test('without overlap the old secret is unknown at once', async () => {
    const { rootKeyId, key } = await make(['api.*.read_api']);
    expect(await works(key)).toBe(true);
    await rotate(rootKeyId, 0);
    const answer = await service.call('/v1/apis.listApis', {}, as(key));
    expect([answer.status, answer.body.error.message]).toEqual([
      401,
      'This root key is unknown. Check that it is complete, and that it is one of this service.',
    ]);
  });

  test('several secrets overlap, each up to its own end, also after a restart', async () => {
    const { rootKeyId, key: first } = await make(['api.*.read_api']);
    const { key: second } = await rotate(rootKeyId, 3000);
    service.clock.advance(1000);
    const { key: third } = await rotate(rootKeyId, 1000);
    await service.restart();
    const all = async () => [await works(first), await works(second), await works(third)];
    expect(await all()).toEqual([true, true, true]);
    service.clock.advance(999);
    expect(await all()).toEqual([true, true, true]);
    service.clock.advance(1);
    expect(await all()).toEqual([true, false, true]);
    service.clock.advance(1000);
    expect(await all()).toEqual([false, false, true]);
  });

  test('revoking ends every secret, also in the overlap', async () => {
    const { rootKeyId, key } = await make(['api.*.read_api']);
    const { key: second } = await rotate(rootKeyId, 60_000);
    expect([await works(key), await works(second)]).toEqual([true, true]);
    await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId });
    expect([await works(key), await works(second)]).toEqual([false, false]);
  });

  test('a root key can rotate itself', async () => {
    const { rootKeyId, key } = await make(['root.*.create_root_key']);
    const answer = await service.call('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 }, as(key));
    expect(answer.status).toBe(200);
    expect([await works(key), await works(answer.body.key)]).toEqual([false, true]);
  });

  test('one that has more rights than the caller is refused: its secret would hand them out', async () => {
    const { key } = await make(['root.*.create_root_key', 'api.*.read_api']);
    const { rootKeyId } = await make(['api.*.read_api', 'api.*.delete_key']);
    expect(await refused('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 }, key)).toEqual({
      status: 403,
      code: 'INSUFFICIENT_PERMISSIONS',
      message: `This root key lacks the right api.*.delete_key, so it cannot rotate ${rootKeyId}.`,
    });
    const { rootKeyId: less } = await make(['api.api_1.read_api']);
    const answer = await service.call('/v1/rootKeys.rotateRootKey', { rootKeyId: less, overlapMs: 0 }, as(key));
    expect(answer.status).toBe(200);
  });

  test('keeps the expiry: no secret of it works at that instant, whatever the overlap', async () => {
    const expires = service.clock.nowMs() + 1000;
    const { rootKeyId, key } = await make(['api.*.read_api'], { expires });
    const { key: second } = await rotate(rootKeyId, 60_000);
    expect((await listed(rootKeyId)).expires).toBe(expires);
    service.clock.advance(999);
    expect([await works(key), await works(second)]).toEqual([true, true]);
    service.clock.advance(1);
    expect([await works(key), await works(second)]).toEqual([false, false]);
  });

  test('one that lives longer than the caller is refused: its secret would outlive it', async () => {
    const end = service.clock.nowMs() + 10_000;
    const { key, rootKeyId: own } = await make(['root.*.create_root_key'], { expires: end });
    for (const expires of [undefined, end + 1]) {
      const { rootKeyId } = await make(['root.*.create_root_key'], { expires });
      expect(await refused('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 }, key)).toEqual({
        status: 403,
        code: 'INSUFFICIENT_PERMISSIONS',
        message: `This root key is valid until ${end} (unix milliseconds), so it cannot rotate ${rootKeyId}, which is valid for longer.`,
      });
    }
    const { rootKeyId: shorter } = await make(['root.*.create_root_key'], { expires: end });
    const rotated = await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId: shorter, overlapMs: 0 }, as(key));
    expect(await works(rotated.key)).toBe(true);
    expect((await service.call('/v1/rootKeys.rotateRootKey', { rootKeyId: own, overlapMs: 0 }, as(key))).status).toBe(
      200,
    );
  });

  test('a revoked or expired one is a 412', async () => {
    const revoked = await make(['api.*.read_api']);
    await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId: revoked.rootKeyId });
    const expired = await make(['api.*.read_api'], { expires: service.clock.nowMs() + 1 });
    service.clock.advance(1);
    for (const [{ rootKeyId }, how] of [
      [revoked, 'was revoked'],
      [expired, 'has expired'],
    ] as const) {
      expect(await refused('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 })).toEqual({
        status: 412,
        code: 'PRECONDITION_FAILED',
        message: `The root key ${rootKeyId} ${how}; create another one.`,
      });
    }
  });

  test('ten former secrets are valid at one time at the most; one without overlap is always possible', async () => {
    const { rootKeyId } = await make(['api.*.read_api']);
    for (let i = 0; i < 10; i++) await rotate(rootKeyId, 1000);
    const answer = await refused('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 1000 });
    expect([answer.status, answer.message]).toEqual([
      412,
      `The root key ${rootKeyId} has 10 former secrets that are still valid; wait until one expires, or use overlapMs 0.`,
    ]);
    await rotate(rootKeyId, 0);
    service.clock.advance(1000);
    await rotate(rootKeyId, 1000);
  });

  test('of rotations at the same time each gives a secret, and the last of them is the present one', async () => {
    const { rootKeyId } = await make(['api.*.read_api']);
    const made = await Promise.all([1, 2, 3].map(() => rotate(rootKeyId, 0)));
    const valid = await Promise.all(made.map(({ key }) => works(key)));
    expect(valid.filter(Boolean).length).toBe(1);
  });

  test.each<[string, object]>([
    ['no overlapMs', { overlapMs: undefined }],
    ['a negative one', { overlapMs: -1 }],
    ['one of more than 30 days', { overlapMs: 30 * 24 * 3_600_000 + 1 }],
    ['no id', { rootKeyId: undefined }],
  ])('%s is a 400', async (_name, fields) => {
    const body = { rootKeyId: 'rk_none', overlapMs: 0, ...fields };
    expect(await refused('/v1/rootKeys.rotateRootKey', body)).toMatchObject({ status: 400 });
  });

  test('one that does not exist is a 404, and a missing right a 403', async () => {
    const body = { rootKeyId: 'rk_none', overlapMs: 0 };
    expect(await refused('/v1/rootKeys.rotateRootKey', body)).toMatchObject({ status: 404 });
    const { key } = await make(['root.*.read_root_key']);
    expect(await refused('/v1/rootKeys.rotateRootKey', body, key)).toMatchObject({ status: 403 });
  });
});
