import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService, type Answer } from '../../support/service.ts';
import { ENDPOINTS, OPEN } from '../docs/endpoints.ts';
import { storedIn } from './stored.ts';
import { makeRecords, realRequest, type Records } from './records.ts';
import { type Node, wrongValues } from './wrongValues.ts';
import { liveness, readiness } from '../../../src/http/routes/health.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';

let service: TestService;
let records: Records;
let apiId = '';

beforeAll(async () => {
  service = await TestService.start();
  records = await makeRecords(service);
  ({ apiId } = records);
});

afterAll(async () => {
  await service.close();
});

/** Sends a body that must be refused and must leave nothing behind. */
async function refused(path: string, raw: string) {
  const before = storedIn(service.folder);
  const answer = await service.call(path, undefined, { raw, headers: { 'content-type': 'application/json' } });
  expect([raw.slice(0, 200), answer.status, answer.body.error?.code]).toEqual([raw.slice(0, 200), 400, 'BAD_REQUEST']);
  expect(storedIn(service.folder)).toEqual(before);
  return answer.body.error as { message: string; issues?: { path: string; message: string }[] };
}

describe.each(ENDPOINTS.map((endpoint) => [endpoint.path, endpoint] as const))('%s', (path, endpoint) => {
  const schema = endpoint.request as Node;
  /** Of a list each item is held against the same schema: its first one is what is made wrong. */
  const isList = schema.type === 'array';
  const { properties = {}, required = [] } = isList ? (schema.items ?? {}) : schema;
  const at = (name: string): string => (isList ? `[0].${name}` : name);
  const asBody = (object: string): string => (isList ? `[${object}]` : object);

  const realObject = (): Record<string, unknown> => {
    const body: unknown = realRequest(endpoint, records);
    return (Array.isArray(body) ? body[0] : body) as Record<string, unknown>;
  };

  const withMember = (name: string, json: string): string => {
    const { [name]: _old, ...rest } = realObject();
    const text = JSON.stringify(rest);
    return asBody(`${text.slice(0, -1)}${text === '{}' ? '' : ','}${JSON.stringify(name)}:${json}}`);
  };

  test.each(Object.entries(properties))('every wrong value of %s is refused by its path', async (name, node) => {
    const cases = wrongValues(node, at(name));
    expect(cases.length).toBeGreaterThan(0);
    for (const { path: where, json } of cases) {
      const { message, issues } = await refused(path, withMember(name, json));
      expect([json, issues?.map((issue) => issue.path)]).toEqual([json, [where]]);
      expect(message).toBe(issues?.map((issue) => issue.message).join('; ') ?? '');
      expect(message).not.toBe('');
    }
  });

  test('an unknown field is named, with the nearest known one', async () => {
    for (const name of Object.keys(properties)) {
      const { issues } = await refused(path, withMember(`${name}x`, '1'));
      const message = `unknown field \`${name}x\`, did you mean \`${name}\`?`;
      expect(issues).toEqual([{ path: at(`${name}x`), message }]);
    }
    const { issues } = await refused(path, withMember('zzzzzzzzzzzz', '1'));
    expect(issues).toEqual([{ path: at('zzzzzzzzzzzz'), message: 'unknown field `zzzzzzzzzzzz`' }]);
  });

  test('__proto__, constructor and prototype are unknown fields like others', async () => {
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const { issues } = await refused(path, withMember(name, '{"apiId":"x"}'));
      expect(issues?.map((issue) => issue.path)).toEqual([at(name)]);
    }
  });

  test('a missing field is named; all problems are told at once', async () => {
    for (const name of required) {
      const { [name]: _left, ...rest } = realObject();
      const { issues } = await refused(path, asBody(JSON.stringify(rest)));
      expect(issues).toEqual([{ path: at(name), message: `${at(name)} is missing` }]);
    }
    const { issues } = await refused(path, asBody('{"a1":1,"b2":2}'));
    expect(issues?.map((issue) => issue.path)).toEqual([...required, 'a1', 'b2'].map(at));
  });

  test('a list as body is neither empty nor longer than it may be', async () => {
    if (!isList) return;
    const { minItems = 0, maxItems = 0 } = schema;
    for (const length of [minItems - 1, maxItems + 1]) {
      const { message } = await refused(path, JSON.stringify(Array.from({ length }, realObject)));
      expect(message).toBe(
        `The body must be a list of ${minItems} to ${maxItems} items, got a list of ${length} items`,
      );
    }
  });

  test.each([
    isList ? ['an object', '{}'] : ['a list', '[]'],
    ['text', '"x"'],
    ['a number', '5'],
    ['null', 'null'],
    ['true', 'true'],
  ])('a body that is %s is refused', async (_name, raw) => {
    const { message } = await refused(path, raw ?? '');
    expect(message).toStartWith(`The body must be ${isList ? 'a list of 1 to 100 items' : 'an object'}, got `);
  });

  test.each([
    ['empty', '', 'The body is empty. Send a JSON object.'],
    ['only blanks', ' \n', 'The body is empty. Send a JSON object.'],
    ['cut off', '{"name":', 'The body is not valid JSON.'],
    ['with a comma too many', '{"name":"x",}', 'The body is not valid JSON.'],
    ['with single quotes', "{'name':'x'}", 'The body is not valid JSON.'],
    ['with NaN', '{"name":NaN}', 'The body is not valid JSON.'],
    ['two values', '{} {}', 'The body is not valid JSON.'],
    ['an unfinished string', '{"name":"', 'The body is not valid JSON.'],
    ['a member that stands twice', '{"name":"a","name":"b"}', 'The member "name" appears twice in one object.'],
    ['twice in two spellings', '{"name":"a","n\\u0061me":"b"}', 'The member "name" appears twice in one object.'],
    ['twice deep inside', '{"meta":{"a":[{"b":1,"b":1}]}}', 'The member "b" appears twice in one object.'],
    ['33 levels of objects', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, 'The body is nested more than 32 levels deep.'],
    ['33 levels of lists', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, 'The body is nested more than 32 levels deep.'],
    ['6,000 open brackets', '['.repeat(6000), 'The body is nested more than 32 levels deep.'],
  ])('a body %s is refused in words', async (_name, raw, message) => {
    expect((await refused(path, raw)).message).toBe(message);
  });
});

test('more than 10 problems are cut to 10', async () => {
  const fields = Array.from({ length: 30 }, (_, i) => `"unknown${i}":1`);
  expect((await refused('/v1/apis.createApi', `{${fields.join(',')}}`)).issues?.length).toBe(10);
});

/** Where much may be sent in one call. */
const LARGE = ['/v1/migrations.createKeys', '/v1/migrations.enqueueKeys', '/v1/ratelimits.multiLimit'];
const SMALL: readonly string[] = ['/v1/keys.verifyKey', '/v1/reservations.create'];
const maxBytesOf = (path: string): number => {
  if (path === '/v1/keys.verifyKeys') return 256 * 1024;
  if (path === '/v1/keys.createKeys') return 1024 * 1024;
  return LARGE.includes(path) ? 4 * 1024 * 1024 : SMALL.includes(path) ? 8 * 1024 : 64 * 1024;
};

const GETS = ROUTES.filter(({ method }) => method === 'GET');

describe.each(ENDPOINTS.map(({ path }) => [path] as const))('%s', (path) => {
  test.each([['text/plain'], ['application/x-www-form-urlencoded'], ['application/jsonx'], ['text/json'], ['']])(
    'a body of type %p is a 415 that says which header to add',
    async (type) => {
      const before = storedIn(service.folder);
      const answer = await service.call(path, undefined, { raw: '{}', headers: { 'content-type': type } });
      expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'The body must be JSON: add the header "Content-Type: application/json".',
      ]);
      expect(storedIn(service.folder)).toEqual(before);
    },
  );

  test.each([['application/json; charset=utf-8'], ['APPLICATION/JSON'], ['application/vnd.api+json']])(
    'a body of type %p is read',
    async (type) => {
      const answer = await service.call(path, undefined, { raw: '{"x":1}', headers: { 'content-type': type } });
      expect(answer.status).toBe(400);
    },
  );

  const maxBytes = maxBytesOf(path);
  const body = (bytes: number): string => `{"x":"${'a'.repeat(bytes - 8)}"}`;

  test.each([
    ['declared', (raw: string) => service.call(path, undefined, { raw })],
    ['not declared', (raw: string) => sendChunks(path, raw)],
  ])('a body of %s length may have so many bytes and not one more', async (_name, send) => {
    const before = storedIn(service.folder);
    const over = await send(body(maxBytes + 1));
    expect([over.status, over.body.error.code, over.headers.get('connection')]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      'close',
    ]);
    expect(over.body.error.message).toBe(`The body is too large. This route accepts at most ${maxBytes} bytes.`);
    expect((await send(body(maxBytes))).status).toBe(400);
    expect(storedIn(service.folder)).toEqual(before);
  });
});

/** Sends a body in two chunks, without a length. */
function sendChunks(path: string, text: string): Promise<Answer> {
  const half = Math.floor(text.length / 2);
  return service.call(path, undefined, { chunks: [text.slice(0, half), text.slice(half)] });
}

describe('methods', () => {
  const endpoints = [
    ...ROUTES.map(({ path, method }) => [path, method === 'GET' ? ['GET', 'POST'] : ['POST']] as const),
    ...OPEN.map(({ path }) => [path, ['POST']] as const),
    [liveness.path, ['GET', 'POST']] as const,
    [readiness.path, ['GET', 'POST']] as const,
    ['/openapi.json', ['GET']] as const,
    ['/docs', ['GET']] as const,
    ['/docs/errors', ['GET']] as const,
    ['/', ['GET']] as const,
  ];

  test.each(endpoints)('%s takes %p and no other method', async (path, methods) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !methods.includes(name as never))) {
      const answer = await service.call(path, undefined, { method });
      expect([method, answer.status, answer.body.error.code]).toEqual([method, 405, 'METHOD_NOT_ALLOWED']);
      const allow = methods.join(', ').replace('GET', 'GET, HEAD');
      expect(answer.headers.get('allow')).toBe(allow);
      expect(answer.body.error.message).toBe(`${path} takes ${allow}, not ${method}.`);
    }
  });
});

describe('routes', () => {
  test.each([['/'], ['//'], ['////']])('a base URL that ends in %p finds every route', async (slashes) => {
    for (const { path } of ENDPOINTS) {
      const answer = await service.call(`${slashes}${path.slice(1)}`, { x: 1 });
      expect([path, answer.status]).toEqual([path, 400]);
    }
    const answer = await service.call(`${slashes}v1/liveness`, undefined, { method: 'GET' });
    expect([answer.status, answer.body.status]).toEqual([200, 'ok']);
  });
});

describe('query parameters', () => {
  const get = (path: string) => service.call(path, undefined, { method: 'GET' });

  /** Fields as a query: of a list each item by itself. */
  const queryOf = (fields: Record<string, unknown>): string =>
    new URLSearchParams(
      Object.entries(fields).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map((each): [string, string] => [name, String(each)]),
      ),
    ).toString();

  test.each(GETS.map((route) => [route.path, route] as const))('%s answers GET and POST alike', async (path, route) => {
    const fields = realRequest(route, records) as Record<string, unknown>;
    const [got, posted] = [await get(`${path}?${queryOf(fields)}`), await service.call(path, fields)];
    expect([got.status, got.body]).toEqual([200, posted.body]);
  });

  test.each(GETS.map((route) => [route.path, route] as const))(
    '%s refuses a wrong parameter by its name',
    async (path, route) => {
      const fields = realRequest(route, records) as Record<string, unknown>;
      for (const [name, { type }] of Object.entries((route.request as Node).properties ?? {})) {
        const wrong = { integer: '1.5', boolean: 'yes', string: '' }[type ?? ''];
        if (wrong === undefined) continue;
        const answer = await get(`${path}?${queryOf({ ...fields, [name]: wrong })}`);
        expect([name, answer.status, answer.body.error.issues[0].path]).toEqual([name, 400, name]);
        const twice = await get(`${path}?${queryOf({ ...fields, [name]: ['1', '1'] })}`);
        expect([name, twice.status, twice.body.error.issues[0].path]).toEqual([name, 400, name]);
      }
      const unknown = await get(`${path}?${queryOf({ ...fields, nonsense: 1 })}`);
      expect([unknown.status, unknown.body.error.message]).toEqual([400, 'unknown field `nonsense`']);
    },
  );

  test('true and false are words, limit is a number, pretty is no field', async () => {
    const answer = await get(`/v1/apis.listKeys?apiId=${apiId}&limit=1&decrypt=false&revalidateKeysCache=true&pretty`);
    expect([answer.status, answer.body.total]).toEqual([200, 1]);
  });
});
