import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type Answer, TestService } from '../../support/service.ts';

let service: TestService;
const namespaces = { mine: '', other: '' };

const numbers = { identifier: 'user_1', limit: 5, duration: 60_000 };

/** Each with its namespace, and the right that it needs there. */
const METHODS: readonly (readonly [string, string, (name: string) => Record<string, unknown>])[] = [
  ['limit', 'limit', (namespace) => ({ ...numbers, namespace })],
  ['multiLimit', 'limit', (namespace) => ({ limits: [{ ...numbers, namespace }] })],
  ['setOverride', 'set_override', (namespaceName) => ({ ...numbers, namespaceName })],
  ['getOverride', 'read_override', (namespaceName) => ({ identifier: 'user_1', namespaceName })],
  ['listOverrides', 'read_override', (namespaceName) => ({ namespaceName })],
  ['deleteOverride', 'delete_override', (namespaceName) => ({ identifier: 'gone', namespaceName })],
];

beforeAll(async () => {
  service = await TestService.start();
  for (const name of ['mine', 'other'] as const) {
    await service.ok('/v1/ratelimits.limit', { ...numbers, identifier: 'nobody', namespace: name });
    for (const identifier of ['user_1', 'gone']) {
      await service.ok('/v1/ratelimits.setOverride', { ...numbers, identifier, namespaceName: name, limit: 5 });
    }
    namespaces[name] = (await service.storage.records.findNamespace(name))?.id ?? '';
  }
});

afterAll(async () => {
  await service.close();
});

const rootKey = async (...rights: string[]): Promise<string> =>
  (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

const call = async (method: string, body: object, rights: readonly string[]): Promise<Answer> =>
  service.call(`/v1/ratelimits.${method}`, body, { rootKey: await rootKey(...rights) });

const withoutName = (text: string, name: string) =>
  text.replaceAll(name, 'NAME').replace(/"requestId":"[^"]+"/, '"requestId":""');

describe.each(METHODS)('%s', (method, action, bodyFor) => {
  test('without the right on any namespace it is a 403 that names it', async () => {
    for (const name of ['mine', 'nowhere']) {
      const { status, body } = await call(method, bodyFor(name), ['api.*.create_api', 'ratelimit.*.read_namespace']);
      expect([status, body.error.code, body.error.message]).toEqual([
        403,
        'INSUFFICIENT_PERMISSIONS',
        `This root key lacks the right ratelimit.*.${action}.`,
      ]);
    }
  });

  test('a right on one namespace is good there, and another one looks as if it did not exist', async () => {
    const rights = [`ratelimit.${namespaces.mine}.${action}`];
    expect((await call(method, bodyFor('mine'), rights)).status).toBe(200);
    const hidden = await call(method, bodyFor('other'), rights);
    const absent = await call(method, bodyFor('nowhere'), rights);
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    expect(withoutName(hidden.text, 'other')).toBe(withoutName(absent.text, 'nowhere'));
    expect(hidden.body.error.message).toBe('There is no namespace "other", or this root key may not see it.');
  });

  test('a right on all namespaces does not make one: 404, and there is none afterwards', async () => {
    expect((await call(method, bodyFor('nowhere'), [`ratelimit.*.${action}`])).status).toBe(404);
    expect(await service.storage.records.findNamespace('nowhere')).toBeNull();
  });

  test('the right to make namespaces alone is not enough, nor with the right on another one', async () => {
    const create = 'ratelimit.*.create_namespace';
    expect((await call(method, bodyFor('nowhere'), [create])).status).toBe(403);
    const rights = [create, `ratelimit.${namespaces.mine}.${action}`];
    expect((await call(method, bodyFor('nowhere'), rights)).status).toBe(404);
    expect(await service.storage.records.findNamespace('nowhere')).toBeNull();
  });
});

describe('making a namespace', () => {
  test.each(['limit', 'multiLimit'])('%s does it with both rights on all', async (method) => {
    const [, action = '', bodyFor = () => ({})] = METHODS.find(([name]) => name === method) ?? [];
    const rights = ['ratelimit.*.create_namespace', `ratelimit.*.${action}`];
    expect((await call(method, bodyFor(`new_${method}`), rights)).status).toBe(200);
    expect(await service.storage.records.findNamespace(`new_${method}`)).not.toBeNull();
  });

  test('setOverride does not, with any right: a mistyped name would be a namespace that nobody uses', async () => {
    const body = { ...numbers, namespaceName: 'mistyped' };
    expect((await call('setOverride', body, ['*'])).status).toBe(404);
    expect(await service.storage.records.findNamespace('mistyped')).toBeNull();
  });
});

describe('multiLimit over two namespaces', () => {
  test('one that may not be used: 404, nothing is taken in the other, and none is made', async () => {
    const rights = [`ratelimit.${namespaces.mine}.limit`];
    const limits = [
      { ...numbers, namespace: 'mine', identifier: 'user_2' },
      { ...numbers, namespace: 'other' },
      { ...numbers, namespace: 'nowhere' },
    ];
    expect((await call('multiLimit', { limits }, rights)).status).toBe(404);
    expect(await service.storage.records.findNamespace('nowhere')).toBeNull();
    const peek = { ...numbers, namespace: 'mine', identifier: 'user_2', cost: 0 };
    expect((await call('limit', peek, rights)).body).toMatchObject({ remaining: 5 });
  });
});
