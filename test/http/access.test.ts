import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { API_ACTIONS } from '../../src/core/rights.ts';
import { ROUTES } from '../../src/http/routeTable.ts';
import { TestService } from '../harness/service.ts';
import { storedIn } from './stored.ts';

let service: TestService;
/** An api that a limited root key has all rights on, and one that it has none on. */
let mine = { apiId: '', keyId: '', key: '' };
let other = { apiId: '', keyId: '', key: '' };
const rootKeys = { revoked: '', expired: '', limited: '' };

const make = async (rights: readonly string[], expiresAtMs: number | null = null) =>
  service.engine.rootKeys.create({ name: null, rights, expiresAtMs });

beforeAll(async () => {
  service = await TestService.start();
  mine = await service.createKey({ remaining: 5 });
  other = await service.createKey({ remaining: 5 });
  const revoked = await make(['*']);
  await service.engine.rootKeys.revoke(revoked.rootKey.id);
  rootKeys.revoked = revoked.secret;
  rootKeys.expired = (await make(['*'], service.clock.nowMs() + 1)).secret;
  service.clock.advance(1);
  rootKeys.limited = (await make(API_ACTIONS.map((action) => `api.${mine.apiId}.${action}`))).secret;
});

afterAll(async () => {
  await service.close();
});

/** The example of a route, aimed at these objects. */
function aimedAt(example: object, target: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(example).map(([name, value]) => [name, target[name] ?? value]));
}

const without = (text: string, ...ids: string[]): string =>
  ids.reduce((shown, id) => shown.replaceAll(id, 'ID'), text.replace(/"requestId":"[^"]+"/, '"requestId":"ID"'));

const headersOf = (headers: Headers): [string, string][] =>
  [...headers].filter(([name]) => name !== 'keystile-request-id');

const actionsOf = (rights: readonly string[]): string[] => rights.map((right) => right.split('.').at(-1) ?? '');

const ALL = ROUTES.map((route) => [route.path, route] as const);
const AIMED = ALL.filter(([, { example }]) => 'apiId' in example.request || 'keyId' in example.request);

describe.each(ALL)('%s', (path, { example, rights }) => {
  test.each([
    ['missing', () => null, 'A root key is needed: send it as "Authorization: Bearer root_...".'],
    ['wrong', () => 'root_wrong', 'This root key is unknown.'],
    ['revoked', () => rootKeys.revoked, 'This root key was revoked.'],
    ['expired', () => rootKeys.expired, 'This root key has expired.'],
    ['an API key', () => mine.key, 'This is an API key, not a root key.'],
    ['of 513 characters', () => 'a'.repeat(513), 'A root key is needed: send it as "Authorization: Bearer root_...".'],
  ])('a root key that is %s is a 401, whatever is asked', async (_name, rootKey, message) => {
    const before = storedIn(service.folder);
    for (const body of [aimedAt(example.request, mine), {}]) {
      const answer = await service.call(path, body, { rootKey: rootKey() });
      expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([
        401,
        'UNAUTHORIZED',
        message,
      ]);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="keystile"');
    }
    expect(storedIn(service.folder)).toEqual(before);
  });

  test.each([['Basic cm9vdA=='], ['Bearer'], ['Bearer '], ['Bearer a b'], ['Token x'], ['root_x']])(
    'the header "Authorization: %s" is a 401',
    async (authorization) => {
      const headers = { authorization };
      const answer = await service.call(path, aimedAt(example.request, mine), { rootKey: null, headers });
      expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
    },
  );

  test('the scheme of the Authorization header may be written in any case', async () => {
    const headers = { authorization: `bearer ${rootKeys.revoked}` };
    const answer = await service.call(path, aimedAt(example.request, mine), { rootKey: null, headers });
    expect(answer.body.error.message).toBe('This root key was revoked.');
  });

  test('a root key with every right but the one that is needed is a 403 that names it', async () => {
    expect(rights.length).toBeGreaterThan(0);
    for (const needed of actionsOf(rights)) {
      const held = API_ACTIONS.filter((action) => action !== needed).map((action) => `api.*.${action}`);
      const rootKey = (await make(held)).secret;
      const before = storedIn(service.folder);
      const answer = await service.call(path, aimedAt(example.request, mine), { rootKey });
      expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([
        403,
        'INSUFFICIENT_PERMISSIONS',
        `This root key lacks the right api.*.${needed}.`,
      ]);
      expect(storedIn(service.folder)).toEqual(before);
    }
  });

  test('a root key with the rights that the documentation names, and no others, may do it', async () => {
    const made = await service.createKey({ remaining: 5 });
    const rootKey = (await make(rights.map((right) => right.replace('<apiId>', made.apiId)))).secret;
    const answer = await service.call(path, aimedAt(example.request, { ...made, cursor: '' }), { rootKey });
    expect([answer.status, answer.text.includes('error')]).toEqual([200, false]);
  });
});

describe.each(AIMED)('%s by a root key that is limited to another api', (path, { example }) => {
  const absentIds = { apiId: 'api_1Jm8ZtXg3kPp5FhJ9sQw2R', keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S' };

  test('answers the same 404 as for what does not exist, byte for byte apart from the id', async () => {
    const before = storedIn(service.folder);
    const ask = (target: Record<string, string>) =>
      service.call(path, aimedAt(example.request, target), { rootKey: rootKeys.limited });
    const [hidden, absent] = [await ask(other), await ask(absentIds)];
    expect(hidden.status).toBe(404);
    expect(absent.status).toBe(404);
    expect(without(hidden.text, other.apiId, other.keyId)).toBe(without(absent.text, absentIds.apiId, absentIds.keyId));
    expect(headersOf(hidden.headers)).toEqual(headersOf(absent.headers));
    expect(storedIn(service.folder)).toEqual(before);
  });

  test('answers the same 404 for a stored key that cannot be read', async () => {
    await service.stop();
    const db = new Database(join(service.folder, 'keystile.db'));
    const set = db.query('UPDATE keys SET meta = ? WHERE id = ?');
    set.run('[]', other.keyId);
    await service.open();
    const ask = (target: Record<string, string>) =>
      service.call(path, aimedAt(example.request, target), { rootKey: rootKeys.limited });
    try {
      expect([(await ask(other)).status, (await ask(absentIds)).status]).toEqual([404, 404]);
    } finally {
      set.run(null, other.keyId);
      db.close();
    }
  });
});

describe('a root key that is limited to one api', () => {
  test('lists that api alone, and counts it alone', async () => {
    const listed = await service.ok('/v1/apis.listApis', {}, { rootKey: rootKeys.limited });
    expect([listed.apis.map(({ id }: { id: string }) => id), listed.total]).toEqual([[mine.apiId], 1]);
  });

  test('makes no api: that needs the right on all of them', async () => {
    const rights = [`api.${mine.apiId}.create_api`];
    const answer = await service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: (await make(rights)).secret });
    expect([answer.status, answer.body.error.message]).toEqual([
      403,
      'This root key lacks the right api.*.create_api.',
    ]);
  });

  test('does everything with the keys of its own', async () => {
    const options = { rootKey: rootKeys.limited };
    const made = await service.ok('/v1/keys.createKey', { apiId: mine.apiId, remaining: 1 }, options);
    for (const [path, more] of [
      ['/v1/keys.getKey', {}],
      ['/v1/keys.updateKey', { name: 'n' }],
      ['/v1/keys.updateRemaining', { op: 'increment', value: 1 }],
      ['/v1/keys.deleteKey', {}],
    ] as const) {
      expect((await service.call(path, { keyId: made.keyId, ...more }, options)).status).toBe(200);
    }
  });
});

test('a revoked root key is refused from the moment of the answer, also where it was used before', async () => {
  const { rootKey, secret } = await make(['*']);
  expect((await service.call('/v1/apis.listApis', {}, { rootKey: secret })).status).toBe(200);
  await service.engine.rootKeys.revoke(rootKey.id);
  expect((await service.call('/v1/apis.listApis', {}, { rootKey: secret })).status).toBe(401);
  await service.restart();
  expect((await service.call('/v1/apis.listApis', {}, { rootKey: secret })).status).toBe(401);
});

test('a root key works strictly before its expiry, and not at it', async () => {
  const { secret } = await make(['*'], service.clock.nowMs() + 1);
  expect((await service.call('/v1/apis.listApis', {}, { rootKey: secret })).status).toBe(200);
  service.clock.advance(1);
  expect((await service.call('/v1/apis.listApis', {}, { rootKey: secret })).status).toBe(401);
});
