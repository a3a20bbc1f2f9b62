import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { type Operation, OPERATIONS, rightTo } from '../../../src/core/rights.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { TestService } from '../../support/service.ts';
import { storedIn } from '../errors/stored.ts';
import {
  ABSENT,
  allRightsOn,
  makeRecords,
  realRequest,
  rightOn,
  rightsOfFields,
  type Records,
  recordsNamedBy,
  withoutIds,
} from '../errors/records.ts';

let service: TestService;
/** What a limited root key has all rights on, and what it has none on. */
let mine: Records;
let other: Records;
const rootKeys = { revoked: '', expired: '', limited: '' };

const make = async (rights: readonly string[], expiresAtMs: number | null = null) =>
  service.engine.rootKeys.create({ name: null, rights, expiresAtMs });

beforeAll(async () => {
  service = await TestService.start();
  mine = await makeRecords(service);
  other = await makeRecords(service);
  const revoked = await make(['*']);
  await service.engine.rootKeys.revoke(revoked.rootKey.id);
  rootKeys.revoked = revoked.secret;
  rootKeys.expired = (await make(['*'], service.clock.nowMs() + 1)).secret;
  service.clock.advance(1);
  rootKeys.limited = (await make(allRightsOn(mine))).secret;
});

afterAll(async () => {
  await service.close();
});

/** Without those that differ because the ids do: the text of the body is compared by itself. */
const headersOf = (headers: Headers): [string, string][] =>
  [...headers].filter(([name]) => name !== 'keystile-request-id' && name !== 'content-length');

/** The operation of a right as the documentation shows it. */
const operationOf = (right: string): Operation => right.replace(/\.[^.]+\./, '.') as Operation;

/** Rights that only some requests of a route need: what such a request names, which is not there and is not made. */
const NEEDED_FOR: Partial<Record<Operation, Partial<Records>>> = {
  'ratelimit.create_namespace': { namespaceName: 'a.new.namespace' },
};
/** Where each of the rights is enough; the first one is named when all of them are lacking. */
const ONE_OF = ['/v1/analytics.getVerifications'];

/** Records that belong to what a right can be on. */
const OWNED: readonly (keyof Records)[] = [
  'apiId',
  'keyId',
  'deletedKeyId',
  'key',
  'identityId',
  'namespaceId',
  'namespaceName',
  'migrationId',
];
const isAimed = (route: Route): boolean =>
  route.rights.some((right) => right.includes('<')) && recordsNamedBy(route).some((name) => OWNED.includes(name));

const ALL = ROUTES.map((route) => [route.path, route] as const);
const AIMED = ALL.filter(([, route]) => isAimed(route));

describe.each(ALL)('%s', (path, route) => {
  test.each([
    ['missing', () => null, 'The root key is missing: send it as "Authorization: Bearer root_...".'],
    [
      'wrong',
      () => 'root_wrong',
      'This root key is unknown. Check that it is complete, and that it is one of this service.',
    ],
    ['revoked', () => rootKeys.revoked, 'This root key was revoked. Use another one.'],
    ['expired', () => rootKeys.expired, 'This root key has expired. Use another one.'],
    [
      'an API key',
      () => mine.key,
      'This root key is unknown. Check that it is complete, and that it is one of this service.',
    ],
    [
      'of 513 characters',
      () => 'a'.repeat(513),
      'The root key is missing: send it as "Authorization: Bearer root_...".',
    ],
  ])('a root key that is %s is a 401, whatever is asked', async (_name, rootKey, message) => {
    const before = storedIn(service.folder);
    for (const body of [realRequest(route, mine), {}, []]) {
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
      const answer = await service.call(path, realRequest(route, mine), { rootKey: null, headers });
      expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
    },
  );

  test('the scheme of the Authorization header may be written in any case', async () => {
    const headers = { authorization: `bearer ${rootKeys.revoked}` };
    const answer = await service.call(path, realRequest(route, mine), { rootKey: null, headers });
    expect(answer.body.error.message).toBe('This root key was revoked. Use another one.');
  });

  test('a root key with every right but the one that is needed is a 403 that names it', async () => {
    expect(route.rights.length).toBeGreaterThan(0);
    const operations = route.rights.map(operationOf);
    for (const needed of ONE_OF.includes(path) ? operations.slice(0, 1) : operations) {
      const lacking = ONE_OF.includes(path) ? operations : [needed];
      const held = OPERATIONS.filter((operation) => !lacking.includes(operation)).map((operation) =>
        rightTo(operation, '*'),
      );
      const rootKey = (await make(held)).secret;
      const before = storedIn(service.folder);
      const answer = await service.call(path, realRequest(route, { ...mine, ...NEEDED_FOR[needed] }), { rootKey });
      const { code, message } = answer.body.error;
      if (needed in NEEDED_FOR) expect([needed, answer.status, code]).toEqual([needed, 404, 'NOT_FOUND']);
      else {
        expect([needed, answer.status, code]).toEqual([needed, 403, 'INSUFFICIENT_PERMISSIONS']);
        expect(message).toBe(`This root key lacks the right ${rightTo(needed, '*')}.`);
      }
      expect(storedIn(service.folder)).toEqual(before);
    }
  });

  test('a root key with no right at all is a 403, also for what does not exist', async () => {
    const unrelated = route.rights.some((right) => right.endsWith('verify_key')) ? UNRELATED[1] : UNRELATED[0];
    const rootKey = (await make([unrelated])).secret;
    const before = storedIn(service.folder);
    for (const records of [mine, ABSENT]) {
      const answer = await service.call(path, realRequest(route, records), { rootKey });
      expect([answer.status, answer.body.error?.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
    }
    expect(storedIn(service.folder)).toEqual(before);
  });

  test('a root key with the rights that the documentation names, and no others, may do it', async () => {
    const named = [...route.rights, ...rightsOfFields(route)];
    const sets = ONE_OF.includes(path) ? named.map((right) => [right]) : [named];
    for (const rights of sets) {
      const records = await makeRecords(service);
      const rootKey = (await make(rights.map((right) => rightOn(right, records)))).secret;
      const answer = await service.call(path, realRequest(route, records), { rootKey });
      expect([answer.text.includes('"error"') ? answer.text : '', answer.status]).toEqual(['', route.status ?? 200]);
    }
  });
});

/** Rights that most routes do not need, and one for those that need the first. */
const UNRELATED = ['api.api_1.verify_key', 'ratelimit.ns_1.limit'] as const;

describe.each(AIMED)('%s by a root key that is limited to other records', (path, route) => {
  const ask = (records: Records) => service.call(path, realRequest(route, records), { rootKey: rootKeys.limited });

  test('answers the same as for what does not exist, byte for byte apart from the id: 404', async () => {
    const before = storedIn(service.folder);
    const [hidden, absent] = [await ask(other), await ask(ABSENT)];
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    expect(withoutIds(hidden.text, other)).toBe(withoutIds(absent.text, ABSENT));
    expect(headersOf(hidden.headers)).toEqual(headersOf(absent.headers));
    expect(storedIn(service.folder)).toEqual(before);
  });
});

describe('a root key that is limited to other records, when the keys of these cannot be read', () => {
  const setMeta = async (meta: string | null): Promise<void> => {
    await service.stop();
    const db = new Database(join(service.folder, 'keystile.db'));
    expect(db.query('UPDATE keys SET meta = ? WHERE api_id = ?').run(meta, other.apiId).changes).toBeGreaterThan(0);
    db.close();
    await service.open();
  };

  beforeAll(() => setMeta('[]'));
  afterAll(() => setMeta(null));

  test.each(AIMED)('%s answers 404, as for what does not exist', async (path, route) => {
    for (const records of [other, ABSENT]) {
      const answer = await service.call(path, realRequest(route, records), { rootKey: rootKeys.limited });
      expect(answer.status).toBe(404);
    }
  });
});

test('routes are held against the records of others: of each kind there are some', () => {
  const groups = new Set(AIMED.map(([path]) => path.replace(/^\/v1\/(\w+)\..*$/, '$1')));
  for (const group of ['apis', 'keys', 'identities', 'ratelimits', 'migrations']) expect([...groups]).toContain(group);
});

describe('a root key that is limited to one api', () => {
  test('lists that api alone, and counts it alone', async () => {
    const listed = await service.ok('/v1/apis.listApis', {}, { rootKey: rootKeys.limited });
    expect([listed.apis.map(({ id }: { id: string }) => id), listed.total]).toEqual([[mine.apiId], 1]);
  });

  test('makes no api: that needs the right on all of them', async () => {
    const answer = await service.call('/v1/apis.createApi', { name: 'abc' }, { rootKey: rootKeys.limited });
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
      ['/v1/keys.restoreKey', {}],
      ['/v1/keys.rotateKey', { overlapMs: 0 }],
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
