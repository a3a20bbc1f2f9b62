import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';

import { MAX_IMPORT_BODY_BYTES, MAX_VERIFY_BATCH_BODY_BYTES, MAX_VERIFY_BODY_BYTES } from '../../../src/core/bounds.ts';
import type { Actor } from '../../../src/engine/admin/change/requireRight.ts';
import { toImportedKeys } from '../../../src/http/shapes/keys/importFields.ts';
import { toPermissionQuery } from '../../../src/http/verify/verifyRequest.ts';
import { queryToBody } from '../../../src/http/request/body.ts';
import { listKeys } from '../../../src/http/routes/apis.listKeys.ts';
import { createRootKey } from '../../../src/http/routes/rootKeys.createRootKey.ts';
import { collidingTexts } from '../../support/collidingTexts.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

/** 100 entries of unknown fields: each name has as many characters as fill the bytes. */
function manyFields(nameLength: number, entryOf: (fields: object) => object, count = 633): object[] {
  const names = Array.from({ length: count }, (_, i) => `x${i}_`.padEnd(nameLength, 'y'));
  const fields = Object.fromEntries(names.map((name) => [name, 1]));
  return Array.from({ length: 100 }, () => entryOf(fields));
}

/** A list that counts how far it was read. */
function counted<T>(items: readonly T[]): { list: readonly T[]; read: () => number } {
  const read = new Set<string>();
  const list = new Proxy(items, {
    get(target, property, receiver) {
      if (typeof property === 'string' && /^\d+$/.test(property)) read.add(property);
      return Reflect.get(target, property, receiver) as unknown;
    },
  });
  return { list, read: () => read.size };
}

describe('a body that is wrong in very many places', () => {
  const shown = (length: number, i: number): string => `x${i}_`.padEnd(length, 'y').slice(0, 64);

  test('keys.verifyKeys: the first 10 are told', async () => {
    const raw = JSON.stringify({ keys: manyFields(7, (fields) => ({ key: 'k', ...fields }), 210) });
    expect([raw.length <= MAX_VERIFY_BATCH_BODY_BYTES, raw.length > MAX_VERIFY_BATCH_BODY_BYTES * 0.9]).toEqual([
      true,
      true,
    ]);
    const answer = await service.call('/v1/keys.verifyKeys', undefined, { raw, rootKey: null });
    expect([answer.status, answer.body.error.issues]).toEqual([
      400,
      Array.from({ length: 10 }, (_, i) => ({
        path: `keys[0].${shown(7, i)}`,
        message: `unknown field \`${shown(7, i)}\``,
      })),
    ]);
  });

  test('migrations.createKeys: the first 10 are told, and a long name is cut', async () => {
    const raw = JSON.stringify(
      manyFields(61, (fields) => ({ apiId: 'a', plaintext: 'a secret that is long enough', ...fields })),
    );
    expect([raw.length <= MAX_IMPORT_BODY_BYTES, raw.length > MAX_IMPORT_BODY_BYTES * 0.98]).toEqual([true, true]);
    const answer = await service.call('/v1/migrations.createKeys', undefined, { raw });
    expect([answer.status, answer.body.error.issues.length]).toEqual([400, 10]);
    expect(answer.body.error.issues[9]).toEqual({
      path: `[0].${shown(61, 9)}`,
      message: `unknown field \`${shown(61, 9)}\``,
    });
    const long = JSON.stringify([{ apiId: 'a', ['z'.repeat(4_000_000)]: 1 }]);
    const cut = await service.call('/v1/migrations.createKeys', undefined, { raw: long });
    expect(cut.body.error.issues).toEqual([
      { path: `[0].${'z'.repeat(64)}`, message: `unknown field \`${'z'.repeat(64)}\`` },
    ]);
  });
});

test('a body of more values than a request can use is a 400', async () => {
  const raw = `[${'[],'.repeat(200_000)}0]`;
  const answer = await service.call('/v1/migrations.createKeys', undefined, { raw });
  expect([answer.status, answer.body.error.message]).toEqual([
    400,
    'The body has more than 200000 values. Send it in smaller parts.',
  ]);
});

describe('texts that fall into one place of the tables of the runtime', () => {
  test('as names: there may be 700 of them', async () => {
    const fields = (count: number) => Object.fromEntries(collidingTexts(count).map((name) => [name, 1]));
    const send = (count: number) => service.call('/v1/keys.verifyKeys', { keys: [fields(count)] }, { rootKey: null });
    // One of them is `keys`.
    expect((await send(699)).body.error.issues.length).toBe(10);
    expect((await send(700)).body.error.message).toBe(
      'The body has more than 700 different member names. Send it in smaller parts.',
    );
  });

  test.each([
    ['/v1/keys.verifyKeys', null],
    ['/v1/migrations.createKeys', undefined],
    ['/v1/ratelimits.multiLimit', undefined],
    ['/v1/apis.createApi', undefined],
  ])('as texts, to %s: JSON.parse never reads them', async (path, rootKey) => {
    const parse = spyOn(JSON, 'parse');
    try {
      const raw = JSON.stringify({ keys: collidingTexts(2_000) });
      expect(raw.length).toBeGreaterThan(MAX_VERIFY_BODY_BYTES);
      const answer = await service.call(path, undefined, { raw, ...(rootKey === null ? { rootKey } : {}) });
      expect(answer.status).toBe(400);
      expect(parse).toHaveBeenCalledTimes(0);
    } finally {
      parse.mockRestore();
    }
  });
});

describe('what is told in words is looked for no further', () => {
  test('than the 10th problem of a permission query', () => {
    const { list, read } = counted(Array<number>(1_000).fill(1));
    expect(() => toPermissionQuery({ and: list })).toThrow('authorization.permissions.and[9] must be');
    expect(read()).toBe(10);
  });

  test('than the first part of a permission query that is too much: 100 are read, with all that hold others', () => {
    const { list, read } = counted(Array<string>(1_000).fill('a'));
    expect(toPermissionQuery({ or: list.slice(0, 99) })).toEqual({ or: Array<string>(99).fill('a') });
    const nested = { and: [{ or: list.slice(0, 49) }, null, { or: [...list.slice(0, 46), null] }] };
    expect(toPermissionQuery(nested)).toMatchObject({ and: [{ or: {} }, { or: {} }] });
    const before = read();
    expect(() => toPermissionQuery({ or: list })).toThrow(
      'authorization.permissions must have at most 100 parts, at all depths together',
    );
    expect(() => toPermissionQuery({ and: [...nested.and, 'a'] })).toThrow('must have at most 100 parts');
    expect([before, read()]).toEqual([99, 100]);
  });

  test('than the 10th problem of imported keys', async () => {
    const { list, read } = counted(Array.from({ length: 100 }, () => ({ apiId: 'a' })));
    const reading = toImportedKeys(service.engine, { id: 'rk' }, { items: list, list: 'keys' });
    const error: unknown = await reading.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining('keys[9]: give either plaintext or hash') });
    expect(read()).toBe(10);
  });

  test('than the 10th text that is no right', async () => {
    const { list, read } = counted(Array.from({ length: 1_000 }, () => 'api.*.creat_key'));
    const making = createRootKey.handle(service.engine, {} as Actor, { name: 'x', permissions: list });
    const error: unknown = await making.catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringContaining(
        'permissions[9]: unknown right "api.*.creat_key"; did you mean "api.*.create_key"?',
      ),
    });
    expect(read()).toBe(11);
  });
});

test('parameters of a query are read once, however many names there are', () => {
  const getAll = spyOn(URLSearchParams.prototype, 'getAll');
  try {
    const params = new URLSearchParams(`apiId=a&limit=5&limit=6&${'x&y&'.repeat(500)}`);
    expect(queryToBody(listKeys.request, params)).toEqual({
      apiId: 'a',
      limit: ['5', '6'],
      x: Array<string>(500).fill(''),
      y: Array<string>(500).fill(''),
    });
    expect(getAll).toHaveBeenCalledTimes(0);
  } finally {
    getAll.mockRestore();
  }
});
