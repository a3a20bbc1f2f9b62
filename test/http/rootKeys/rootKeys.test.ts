import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { tablesOf } from '../imports/imported.ts';

interface Made {
  readonly rootKeyId: string;
  readonly key: string;
}

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const make = (permissions: readonly string[], fields: object = {}): Promise<Made> =>
  service.ok('/v1/rootKeys.createRootKey', { name: 'made', permissions, ...fields });

const as = (rootKey: string) => ({ rootKey });

/** Sends what must be refused, and must leave nothing behind. */
async function refused(path: string, body: object, rootKey = service.rootKey) {
  const before = tablesOf(service);
  const answer = await service.call(path, body, { rootKey });
  expect(tablesOf(service)).toEqual(before);
  const { code, message, issues } = answer.body.error;
  return { status: answer.status, code, message, ...(issues === undefined ? {} : { issues }) };
}

const works = async (rootKey: string): Promise<boolean> =>
  (await service.call('/v1/apis.listApis', {}, { rootKey })).status !== 401;

const listed = async (id: string) =>
  (await service.ok('/v1/rootKeys.listRootKeys', {})).rootKeys.find((each: { id: string }) => each.id === id);

describe('rootKeys.createRootKey', () => {
  test('makes a root key that may do what it was given and nothing else; the secret is shown this once', async () => {
    const made = await make(['api.*.read_api'], { name: 'reader' });
    expect(made).toEqual({ rootKeyId: expect.stringMatching(/^rk_/), key: expect.stringMatching(/^root_/) });
    expect((await service.call('/v1/apis.listApis', {}, as(made.key))).status).toBe(200);
    const other = await service.call('/v1/apis.createApi', { name: 'abc' }, as(made.key));
    expect([other.status, other.body.error.message]).toEqual([403, 'This root key lacks the right api.*.create_api.']);
    expect(await listed(made.rootKeyId)).toEqual({
      id: made.rootKeyId,
      start: made.key.slice(0, 9),
      name: 'reader',
      permissions: ['api.*.read_api'],
      createdAt: service.clock.nowMs(),
    });
  });

  test('with expires ends at that instant', async () => {
    const expires = service.clock.nowMs() + 1000;
    const { key, rootKeyId } = await make(['api.*.read_api'], { expires });
    expect((await listed(rootKeyId)).expires).toBe(expires);
    service.clock.advance(999);
    expect(await works(key)).toBe(true);
    service.clock.advance(1);
    expect(await works(key)).toBe(false);
  });

  test('a right that is given twice is held once', async () => {
    const { rootKeyId } = await make(['api.*.read_api', 'api.*.read_key', 'api.*.read_api']);
    expect((await listed(rootKeyId)).permissions).toEqual(['api.*.read_api', 'api.*.read_key']);
  });

  test('hands out no right that the caller does not have, and names it', async () => {
    const { key } = await make(['root.*.create_root_key', 'api.*.read_api', 'api.api_1.create_key']);
    const ask = (permissions: string[]) => refused('/v1/rootKeys.createRootKey', { name: 'x', permissions }, key);
    for (const right of ['*', 'api.*.create_key', 'api.api_2.create_key', 'api.*.delete_api', 'root.*.read_audit']) {
      expect(await ask(['api.*.read_api', right])).toEqual({
        status: 403,
        code: 'INSUFFICIENT_PERMISSIONS',
        message: `This root key lacks the right ${right}, so it cannot grant it.`,
      });
    }
    const granted = ['root.*.create_root_key', 'api.*.read_api', 'api.api_7.read_api', 'api.api_1.create_key'];
    const answer = await service.call('/v1/rootKeys.createRootKey', { name: 'x', permissions: granted }, as(key));
    expect(answer.status).toBe(200);
    expect((await listed(answer.body.rootKeyId)).permissions).toEqual(granted);
  });

  test('a root key that expires makes none that lives longer: a child ends with its parent at the latest', async () => {
    const end = service.clock.nowMs() + 10_000;
    const { key } = await make(['root.*.create_root_key', 'api.*.read_api'], { expires: end });
    const body = { name: 'x', permissions: ['api.*.read_api'] };
    for (const expires of [undefined, end + 1, Number.MAX_SAFE_INTEGER]) {
      expect(await refused('/v1/rootKeys.createRootKey', { ...body, expires }, key)).toEqual({
        status: 403,
        code: 'INSUFFICIENT_PERMISSIONS',
        message: `This root key is valid until ${end} (unix milliseconds), so it cannot create one that is valid for longer; set expires to this time or earlier.`,
      });
    }
    for (const expires of [end, end - 1]) {
      const child = await service.ok('/v1/rootKeys.createRootKey', { ...body, expires }, as(key));
      expect((await listed(child.rootKeyId)).expires).toBe(expires);
    }
  });

  test('a secret that was replaced makes none that outlives its overlap, and neither does its new one by it', async () => {
    const { rootKeyId, key: former } = await make(['root.*.create_root_key']);
    const end = service.clock.nowMs() + 5000;
    const { key: present } = await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 5000 });
    const body = { name: 'x', permissions: ['root.*.create_root_key'] };
    for (const expires of [undefined, end + 1]) {
      expect(await refused('/v1/rootKeys.createRootKey', { ...body, expires }, former)).toMatchObject({ status: 403 });
    }
    expect(await refused('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 }, former)).toMatchObject({
      status: 403,
      message: `This root key is valid until ${end} (unix milliseconds), so it cannot rotate ${rootKeyId}, which is valid for longer.`,
    });
    await service.ok('/v1/rootKeys.createRootKey', { ...body, expires: end }, as(former));
    await service.ok('/v1/rootKeys.createRootKey', body, as(present));
  });

  test('needs the right to make root keys, on all of them', async () => {
    for (const right of ['api.*.create_api', 'root.*.read_root_key', 'root.rk_1.create_root_key']) {
      const { key } = await make([right]);
      const answer = await refused('/v1/rootKeys.createRootKey', { name: 'x', permissions: [right] }, key);
      expect([answer.status, answer.message]).toEqual([403, 'This root key lacks the right root.*.create_root_key.']);
    }
  });

  test.each<[string, object, string, string]>([
    ['no permissions', { permissions: undefined }, 'permissions', 'permissions is missing'],
    ['an empty list of them', { permissions: [] }, 'permissions', 'permissions must be a list of 1 to 1000 items'],
    ['no name', { name: undefined }, 'name', 'name is missing'],
    ['an empty name', { name: '' }, 'name', 'name must be a string of 1 to 256 characters'],
    ['an end that has passed', { expires: 1 }, 'expires', 'expires must be in the future, in unix milliseconds'],
    [
      'what is no right',
      { permissions: ['api.*.read_api', 'everything'] },
      'permissions[1]',
      'permissions[1]: unknown right "everything"; rights look like "api.*.create_key"',
    ],
    [
      'a right with a typo',
      { permissions: ['api.*.creat_key'] },
      'permissions[0]',
      'permissions[0]: unknown right "api.*.creat_key"; did you mean "api.*.create_key"?',
    ],
    [
      'a right of the wrong kind',
      { permissions: ['api.*.create_role'] },
      'permissions[0]',
      'permissions[0]: unknown right "api.*.create_role"; ',
    ],
    ['an unknown field', { rights: ['*'] }, 'rights', 'unknown field `rights`'],
  ])('%s is refused', async (_name, fields, path, message) => {
    const body = { name: 'x', permissions: ['api.*.read_api'], ...fields };
    const answer = await refused('/v1/rootKeys.createRootKey', body);
    expect([answer.status, answer.issues?.map((issue: { path: string }) => issue.path)]).toEqual([400, [path]]);
    expect(answer.message).toStartWith(message);
  });

  test('this very instant is the past', async () => {
    const body = { name: 'x', permissions: ['*'], expires: service.clock.nowMs() };
    expect(await refused('/v1/rootKeys.createRootKey', body)).toMatchObject({ status: 400 });
  });
});

describe('rootKeys.listRootKeys', () => {
  test('shows every root key, also the revoked ones, and never a secret or a digest', async () => {
    const { rootKeyId, key } = await make(['api.*.read_api']);
    await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId });
    const answer = await service.call('/v1/rootKeys.listRootKeys', undefined, { method: 'GET' });
    const ids = answer.body.rootKeys.map(({ id }: { id: string }) => id);
    expect(ids).toEqual((await service.storage.records.listRootKeys()).map(({ id }) => id));
    expect(await listed(rootKeyId)).toMatchObject({ revokedAt: service.clock.nowMs() });
    for (const hidden of [key, service.rootKey, ...[key, service.rootKey].map(service.engine.system.digestSecret)]) {
      expect(answer.text).not.toContain(hidden);
    }
  });

  test('needs the right; one on a single root key shows that alone', async () => {
    const { rootKeyId } = await make(['api.*.read_api']);
    const { key: limited } = await make([`root.${rootKeyId}.read_root_key`]);
    const { rootKeys } = await service.ok('/v1/rootKeys.listRootKeys', {}, as(limited));
    expect(rootKeys.map(({ id }: { id: string }) => id)).toEqual([rootKeyId]);
    const { key: none } = await make(['root.*.read_audit']);
    expect(await refused('/v1/rootKeys.listRootKeys', {}, none)).toMatchObject({
      status: 403,
      message: 'This root key lacks the right root.*.read_root_key.',
    });
  });
});

describe('rootKeys.revokeRootKey', () => {
  test('from the answer on the root key is refused; a second time changes nothing', async () => {
    const { rootKeyId, key } = await make(['api.*.read_api']);
    expect(await works(key)).toBe(true);
    expect(await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId })).toEqual({});
    const answer = await service.call('/v1/apis.listApis', {}, as(key));
    expect([answer.status, answer.body.error.message]).toEqual([401, 'This root key was revoked. Use another one.']);
    const before = tablesOf(service);
    expect(await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId })).toEqual({});
    expect(tablesOf(service)).toEqual(before);
  });

  test('at the same time from several places is done once, and refused to no one', async () => {
    const { rootKeyId } = await make(['api.*.read_api']);
    const answers = await Promise.all([1, 2, 3].map(() => service.call('/v1/rootKeys.revokeRootKey', { rootKeyId })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { entries } = await service.ok('/v1/audit.listEntries', { target: rootKeyId, action: 'rootKey.revoke' });
    expect(entries.length).toBe(1);
  });

  test('one that does not exist, or that the caller has no right on, is the same 404', async () => {
    const { rootKeyId } = await make(['api.*.read_api']);
    const { key } = await make(['root.rk_1.revoke_root_key']);
    for (const [id, rootKey] of [
      ['rk_none', service.rootKey],
      [rootKeyId, key],
      ['rk_none', key],
    ] as const) {
      expect(await refused('/v1/rootKeys.revokeRootKey', { rootKeyId: id }, rootKey)).toEqual({
        status: 404,
        code: 'NOT_FOUND',
        message: `There is no root key "${id}", or this root key may not see it.`,
      });
    }
    const { key: none } = await make(['root.*.create_root_key']);
    expect(await refused('/v1/rootKeys.revokeRootKey', { rootKeyId }, none)).toMatchObject({
      status: 403,
      message: 'This root key lacks the right root.*.revoke_root_key.',
    });
  });
});

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
