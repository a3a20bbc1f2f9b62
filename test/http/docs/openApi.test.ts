import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { Value } from 'typebox/value';

import { ERRORS } from '../../../src/core/errors.ts';
import { forwardAuth } from '../../../src/http/routes/keys.forwardAuth.ts';
import { liveness, readiness } from '../../../src/http/routes/health.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { VERSION } from '../../../src/version.ts';
import { TestService } from '../../support/service.ts';
import { type Document, inlined, operationsOf, responsesOf, type Schema } from './document.ts';
import { ENDPOINTS, OPEN } from './endpoints.ts';

let service: TestService;
let document: Document;

beforeAll(async () => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  document = (await service.call('/openapi.json', undefined, { method: 'GET' })).body as Document;
});

afterAll(async () => {
  await service.close();
});

const PATHS = [...ENDPOINTS.map(({ path }) => path), forwardAuth.path, liveness.path, readiness.path];

const operations = () => operationsOf(document);

const fits = (schema: Schema, value: unknown): [boolean, unknown] => {
  const whole = inlined(document, schema);
  return [Value.Check(whole, value), Value.Errors(whole, value)[0]?.message];
};

describe('/openapi.json', () => {
  test('is OpenAPI 3.1 of this version', () => {
    expect([document.openapi, document.info.title, document.info.version]).toEqual(['3.1.0', 'Keystile', VERSION]);
    expect(document.info).toMatchObject({ license: { identifier: 'Apache-2.0' } });
    expect(document.info.description).toStartWith('API keys with exact credits');
    expect(document.servers).toEqual([{ url: 'http://127.0.0.1:7878', description: expect.stringMatching(/\.$/) }]);
  });

  test('names the public URL as its server where one is configured', async () => {
    const known = await TestService.start({ settings: { KEYSTILE_PUBLIC_URL: 'https://keys.example.com/' } });
    try {
      const { body } = await known.call('/openapi.json', undefined, { method: 'GET' });
      expect((body as Document).servers).toEqual([
        { url: 'https://keys.example.com', description: 'This installation.' },
      ]);
      const { body: error } = await known.call('/v1/keys.getKey', {});
      expect(error.error.docs).toBe('https://keys.example.com/docs/errors#BAD_REQUEST');
    } finally {
      await known.close();
    }
  });

  test('has every endpoint, with the methods that it takes, and no other', () => {
    expect(Object.keys(document.paths).sort()).toEqual([...PATHS].sort());
    for (const { path, method } of ROUTES) {
      expect(Object.keys(document.paths[path] ?? {})).toEqual(method === 'GET' ? ['get', 'post'] : ['post']);
    }
  });

  test('gives every operation an id of its own', () => {
    const ids = operations().map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('every reference resolves, and every component is referenced', () => {
    const references = new Set(JSON.stringify(document).match(/(?<="\$ref":")[^"]+/g));
    const { schemas, responses, headers } = document.components;
    const known = [
      ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
      ...Object.keys(responses).map((name) => `#/components/responses/${name}`),
      ...Object.keys(headers).map((name) => `#/components/headers/${name}`),
    ];
    expect([...references].sort()).toEqual(known.sort());
  });

  test('every example fits its own schema, and every request and answer has one', () => {
    for (const operation of operations()) {
      const { path, requestBody, parameters = [] } = operation;
      const media = [
        ...Object.values(requestBody?.content ?? {}),
        ...Object.values(responsesOf(document, operation)).flatMap(({ content }) => Object.values(content)),
      ];
      for (const { schema, example, examples = {} } of media) {
        const values = [
          ...(example === undefined ? [] : [example]),
          ...Object.values(examples).map(({ value }) => value),
        ];
        expect([path, values.length > 0]).toEqual([path, true]);
        for (const value of values) expect([path, ...fits(schema, value)]).toEqual([path, true, undefined]);
      }
      for (const { name, schema, example } of parameters) {
        expect([path, name, ...fits(schema, example)]).toEqual([path, name, true, undefined]);
      }
    }
  });

  test('every documented status is that of its codes', () => {
    for (const operation of operations()) {
      for (const [status, { content }] of Object.entries(responsesOf(document, operation))) {
        const codes = Object.keys(content['application/json']?.examples ?? {}) as (keyof typeof ERRORS)[];
        expect(codes.map((code) => String(ERRORS[code].status))).toEqual(codes.map(() => status));
      }
    }
  });

  test('management needs a root key, verifying may need one, and health needs none', () => {
    for (const { path, security } of operations()) {
      const isManaged = ROUTES.some((route) => route.path === path);
      const isOpen = OPEN.some((route) => route.path === path);
      const needed = isManaged ? [{ rootKey: [] }] : isOpen ? [{}, { rootKey: [] }] : [];
      expect([path, security]).toEqual([path, needed]);
    }
    for (const { path } of OPEN) {
      expect(document.paths[path]?.['post']?.description).toContain('unless KEYSTILE_VERIFY_AUTH is `required`');
    }
  });
});

describe('what a reader of the document learns', () => {
  const described = (id: string): string =>
    operations().find(({ operationId }) => operationId === id)?.description ?? '';

  test('where one right is enough it says or, elsewhere and', () => {
    const needs = (id: string) => /The root key needs (.*)\.$/.exec(described(id))?.[1]?.replaceAll('`', '');
    expect(needs('analytics.getVerifications')).toBe('api.<apiId>.read_analytics or api.<apiId>.read_api');
    expect(needs('apis.listKeys')).toBe(
      'api.<apiId>.read_key and api.<apiId>.read_api; with planId, also plan.<planId>.read_plan',
    );
    expect(needs('keys.verifyKey')).toBeUndefined();
    for (const { path } of ROUTES) expect([path, needs(path.replace('/v1/', ''))]).toEqual([path, expect.any(String)]);
  });

  test('createKey and updateKey name the rights that roles and permissions need', () => {
    const named = (id: string) => [...described(id).matchAll(/`(rbac\.[^`]+)`/g)].map(([, name = '']) => name).sort();
    const right = (operation: string) => `rbac.*.${operation}`;
    const given = ['add_role_to_key', 'add_permission_to_key', 'create_role', 'create_permission'];
    expect(named('keys.createKey')).toEqual(given.map(right).sort());
    const taken = ['remove_role_from_key', 'remove_permission_from_key'];
    expect(named('keys.updateKey')).toEqual([...given, ...taken].map(right).sort());
  });

  test('a list as body says how long it may be, and the words of a choice are named', () => {
    const body = (id: string): Schema => {
      const { requestBody } = operations().find(({ path, method }) => path === `/v1/${id}` && method === 'post') ?? {};
      return inlined(document, requestBody?.content['application/json']?.schema ?? {});
    };
    expect(body('migrations.createKeys')).toMatchObject({ type: 'array', minItems: 1, maxItems: 100 });
    const { order, orderBy, groupBy } = body('analytics.getVerifications').properties ?? {};
    expect(order?.enum).toEqual(['asc', 'desc']);
    expect(orderBy?.enum?.slice(0, 2)).toEqual(['time', 'valid']);
    expect(groupBy?.anyOf?.[0]?.enum).toEqual(['minute', 'hour', 'day', 'month', 'key', 'identity', 'tag', 'tags']);
    expect(body('keys.getVerifications').properties?.['granularity']?.enum).toEqual(['day', 'hour']);
  });

  test('the groups stand together, keys first, and verifyKey first of them', () => {
    const ids = Object.keys(document.paths).map((path) => path.replace('/v1/', ''));
    expect(ids.slice(0, 4)).toEqual(['keys.verifyKey', 'keys.verifyKeys', 'keys.forwardAuth', 'keys.createKey']);
    const groups = ids.map((id) => (id.includes('.') ? (id.split('.')[0] ?? '') : 'health'));
    const changes = groups.filter((group, i) => group !== groups[i - 1]);
    expect(changes).toEqual(document.tags.map(({ name }) => name));
    expect(changes.join(' ')).toBe(
      'keys apis identities plans credits reservations permissions ratelimits analytics usage migrations rootKeys portal sessions audit events webhooks service health',
    );
  });
});

test('the document is written once, plain and indented: 12,000 requests for it at once cost no more than their bytes', async () => {
  const own = await TestService.start();
  using spy = spyOn(JSON, 'stringify');
  const written = () =>
    spy.mock.calls.filter(([value]) => (value as { openapi?: string } | null)?.openapi !== undefined);
  for (let i = 0; i < 3; i++) {
    for (const path of ['/openapi.json', '/openapi.json?pretty']) {
      expect((await own.call(path, undefined, { method: 'GET' })).status).toBe(200);
    }
  }
  expect(written().length).toBe(2);
  await own.close();
});
