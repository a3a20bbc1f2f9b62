import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { Value } from 'typebox/value';

import { ERRORS } from '../../../src/core/errors.ts';
import { forwardAuth } from '../../../src/http/routes/keys.forwardAuth.ts';
import { liveness, readiness } from '../../../src/http/routes/health.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { VERSION } from '../../../src/version.ts';
import { TestService, type Answer, type CallOptions } from '../../support/service.ts';
import {
  type Document,
  inlined,
  operationsOf,
  responsesOf,
  type Schema,
  followed,
  type Parameter,
} from './document.ts';
import { ENDPOINTS, OPEN } from './endpoints.ts';
import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { openApi } from '../../../src/http/docs/openApi.ts';
import { componentOf } from '../../../src/model/schema/described.ts';
import { ANSWER_HEADERS } from '../../../src/http/shapes/schema/answerHeaders.ts';

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

/** The words and examples of /openapi.json: the whole document is walked. */
const DOCUMENT = JSON.parse(JSON.stringify(openApi(null))) as Document;

const OPERATIONS = operationsOf(DOCUMENT);

interface Field {
  readonly where: string;
  readonly schema: Schema;
}

/** Every field inside of a schema, without those behind a reference. Components are walked once each. */
function* fieldsIn(schema: Schema, where: string): Generator<Field> {
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    yield { where: `${where}.${name}`, schema: inner };
    yield* fieldsIn(inner, `${where}.${name}`);
  }
  for (const choice of schema.anyOf ?? []) yield* fieldsIn(choice, where);
  if (schema.items !== undefined) yield* fieldsIn(schema.items, `${where}[]`);
}

function* allFields(): Generator<Field> {
  for (const [name, schema] of Object.entries(DOCUMENT.components.schemas)) yield* fieldsIn(schema, name);
  for (const operation of OPERATIONS) {
    const { path, method, requestBody } = operation;
    const media = [
      ...Object.values(requestBody?.content ?? {}),
      ...Object.values(responsesOf(DOCUMENT, operation)).flatMap(({ content }) => Object.values(content)),
    ];
    for (const { schema } of media) yield* fieldsIn(schema, `${method} ${path}`);
  }
}

const FIELDS = [...allFields()];

const PARAMETERS = OPERATIONS.flatMap(({ operationId, parameters = [] }) =>
  parameters.map((parameter): [string, Parameter] => [`${operationId}?${parameter.name}`, parameter]),
);

/** A text of at least two words that begins and ends like a sentence. `null` and codes may begin it. */
const SENTENCE = /^(?:[A-Z`]|null|true|false)\S* .*[.?]$/s;

const faultsOf = (where: string, description: string | undefined, examples: readonly unknown[], schema: Schema) => [
  ...(SENTENCE.test(description ?? '') ? [] : [`${where} has no description that is a sentence: ${description}`]),
  ...(examples.length > 0 ? [] : [`${where} has no example`]),
  ...examples
    .filter((example) => !Value.Check(inlined(DOCUMENT, schema), example))
    .map((example) => `${where} does not accept its example ${JSON.stringify(example)}`),
];

/** Every text for people, without what has the names of the wire in it: code, calls, settings and addresses. */
function* textsIn(value: unknown): Generator<string> {
  for (const [name, inner] of Object.entries(value ?? {})) {
    if ((name === 'description' || name === 'summary') && typeof inner === 'string')
      yield inner.replaceAll(/`[^`]*`|\b[a-z]+\.[a-z]\w+|KEYSTILE_\w+|\]\(\S*\)/g, '');
    else if (typeof inner === 'object') yield* textsIn(inner);
  }
}

describe('the words', () => {
  test('are customer and credits: other words for them stand only in names of the wire', () => {
    const texts = [...textsIn(document)];
    expect(texts.length).toBeGreaterThan(500);
    expect(texts.filter((text) => /\b(?:identit(?:y|ies)|owners?|counters?)\b/i.test(text))).toEqual([]);
  });

  test('the document says which names of the wire mean a customer, and that `remaining` is credits', () => {
    const tag = document.tags.find(({ name }) => name === 'identities');
    expect(tag?.['x-displayName']).toBe('Customers');
    for (const text of [document.info.description, tag?.description]) {
      expect(text).toContain('a customer is an `identity`: `identityId` is its id here, and `externalId`');
      expect(text).toMatch(/`remaining` (?:of a key or customer )?says how many (?:credits )?are left/);
    }
  });
});

describe('every field', () => {
  test('of every request and answer has a description and an example that fits', () => {
    expect(FIELDS.length).toBeGreaterThan(300);
    const faults = FIELDS.flatMap(({ where, schema }) => {
      const { description, examples = [] } = followed(DOCUMENT, schema);
      return faultsOf(where, description, examples, schema);
    });
    expect(faults).toEqual([]);
  });

  test('of every query has a description and an example that fits', () => {
    expect(PARAMETERS.length).toBeGreaterThan(30);
    const faults = PARAMETERS.flatMap(([where, { description, example, schema }]) =>
      faultsOf(where, description, example === undefined ? [] : [example], schema),
    );
    expect(faults).toEqual([]);
  });

  test('that is a header of an answer has a description and an example that fits', () => {
    const headers = Object.entries(DOCUMENT.components.headers);
    expect(headers.length).toBeGreaterThan(10);
    const faults = headers.flatMap(([name, { description, example, schema }]) =>
      faultsOf(name, description, example === undefined ? [] : [example], schema),
    );
    expect(faults).toEqual([]);
  });

  test('that a validator reads is in the document, and no other', () => {
    const namesOf = ({ properties, items }: Schema): string[] => Object.keys(properties ?? items?.properties ?? {});
    for (const { path, request } of ENDPOINTS) {
      const { schema = {} } = DOCUMENT.paths[path]?.['post']?.requestBody?.content['application/json'] ?? {};
      expect([path, namesOf(inlined(DOCUMENT, schema) as Schema)]).toEqual([path, namesOf(request as Schema)]);
    }
  });
});

describe('every component', () => {
  test('has a description, and an example that fits unless it is the body of one call alone', () => {
    const faults = Object.entries(DOCUMENT.components.schemas).flatMap(([name, schema]) => {
      const isOfOneCall = /(?:Answer|Request)$/.test(name) && schema.examples === undefined;
      return faultsOf(name, schema.description, schema.examples ?? (isOfOneCall ? [inMedia(name)] : []), schema);
    });
    expect(faults).toEqual([]);
  });

  test('is the schema that validates, in each place where it is used', () => {
    let uses = 0;
    const bare = (schema: object): object =>
      JSON.parse(
        JSON.stringify(schema, (name, value) => (name === 'title' ? undefined : (value as unknown))),
      ) as object;
    const visit = (schema: object): void => {
      const component = componentOf(schema);
      if (component !== null) {
        uses++;
        const {
          description: _own,
          examples: _ownExamples,
          deprecated: _former,
          ...validating
        } = schema as Schema & {
          deprecated?: boolean;
        };
        const { description: _words, examples: _examples, ...named } = component as Schema;
        expect(bare(validating)).toEqual(bare(named));
      }
      const { properties = {}, items, anyOf = [] } = schema as Schema;
      for (const inner of [...Object.values(properties), ...anyOf, ...(items === undefined ? [] : [items])])
        visit(inner);
    };
    for (const { request } of ENDPOINTS) visit(request);
    for (const { response } of ROUTES) visit(response);
    expect(uses).toBeGreaterThan(50);
  });

  test('that a program would name has its name', () => {
    const named = Object.keys(DOCUMENT.components.schemas);
    const expected =
      'Key Api Identity Verdict Ratelimit NamedRatelimit Refill Role Permission RootKey AuditEntry Override';
    const others =
      'VerifyRequest LimitRequest LimitResult Error Issue ErrorCode VerdictCode Meta NewSecret KeyToImport';
    expect(named).toEqual(expect.arrayContaining([...expected.split(' '), ...others.split(' ')]));
  });

  test('of an object stands for it everywhere: no object with fields occurs twice', () => {
    const seen = new Map<string, string>();
    const twice: string[] = [];
    for (const { where, schema } of FIELDS) {
      for (const each of [schema, schema.items ?? {}, ...(schema.anyOf ?? [])]) {
        if (each.properties === undefined) continue;
        const text = JSON.stringify(each.properties);
        const earlier = seen.get(text);
        if (earlier !== undefined) twice.push(`${where} is the same as ${earlier}`);
        seen.set(text, where);
      }
    }
    expect(twice).toEqual([]);
  });

  test('of codes lists all of them', () => {
    const { VerdictCode, ErrorCode } = DOCUMENT.components.schemas;
    expect(VerdictCode).toMatchObject({ type: 'string', enum: [...VERDICT_CODES] });
    expect(ErrorCode).toMatchObject({ type: 'string', enum: Object.keys(ERRORS) });
    for (const code of VERDICT_CODES) expect(VerdictCode?.description).toContain(`\`${code}\``);
    for (const code of Object.keys(ERRORS)) expect(ErrorCode?.description).toContain(`\`${code}\``);
  });
});

/** The example of the request or answer that is this component. */
function inMedia(name: string): unknown {
  const media = OPERATIONS.flatMap((operation) => [
    ...Object.values(operation.requestBody?.content ?? {}),
    ...Object.values(responsesOf(DOCUMENT, operation)).flatMap(({ content }) => Object.values(content)),
  ]);
  return media.find(({ schema }) => schema.$ref === `#/components/schemas/${name}`)?.example;
}

describe('every operation', () => {
  test('has a summary of one sentence, an id, one tag that is described, and its security', () => {
    const tags = DOCUMENT.tags.map(({ name }) => name);
    for (const { operationId, summary = '', description = 'It is.', tags: own = [], security } of OPERATIONS) {
      expect([operationId, summary]).toEqual([operationId, expect.stringMatching(SENTENCE)]);
      expect([operationId, summary]).toEqual([operationId, expect.not.stringMatching(/[.?] /)]);
      expect([operationId, description]).toEqual([operationId, expect.stringMatching(SENTENCE)]);
      expect([operationId, own.length, tags]).toEqual([operationId, 1, expect.arrayContaining([...own])]);
      expect([operationId, Array.isArray(security)]).toEqual([operationId, true]);
    }
    const used = new Set(OPERATIONS.flatMap(({ tags: own = [] }) => own));
    expect([...used].sort()).toEqual(tags.toSorted());
    for (const { name, description } of DOCUMENT.tags) {
      expect([name, description]).toEqual([name, expect.stringMatching(SENTENCE)]);
    }
  });

  test('has a summary and an id of its own, also where GET and POST do the same', () => {
    for (const name of ['operationId', 'summary'] as const) {
      const texts = OPERATIONS.map((operation) => operation[name]);
      expect(new Set(texts).size).toBe(texts.length);
    }
  });

  test('names security schemes that are described', () => {
    const used = new Set(OPERATIONS.flatMap(({ security = [] }) => security.flatMap((each) => Object.keys(each))));
    expect([...used]).toEqual(Object.keys(DOCUMENT.components.securitySchemes));
    for (const { description } of Object.values(DOCUMENT.components.securitySchemes)) {
      expect(description).toMatch(SENTENCE);
    }
  });
});

/** The headers that some answer has had, in lower case. */
const sent = new Set<string>();

/** What HTTP itself is about. */
const OF_HTTP = ['connection', 'content-length', 'content-type', 'date'];

/** Sends a request and compares the headers of its answer with those that the document has for its status. */
async function ask(of: TestService, path: string, body: object | undefined, options: CallOptions): Promise<Answer> {
  const answer = await of.call(path, body, options);
  const methods = document.paths[path.split('?')[0] ?? ''] ?? {};
  const operation = methods[(options.method ?? 'POST').toLowerCase()] ?? Object.values(methods)[0];
  const { headers = {} } = responsesOf(document, operation)[String(answer.status)] ?? {};
  const known = Object.keys(headers).map((name) => name.toLowerCase());
  const names = [...answer.headers.keys()].filter((name) => !OF_HTTP.includes(name));
  for (const name of names) sent.add(name);
  expect([path, answer.status, names.filter((name) => !known.includes(name))]).toEqual([path, answer.status, []]);
  return answer;
}

const WINDOW = { limit: 1, duration: 60_000, async: false };
const VERIFY = '/v1/keys.verifyKey';
const FORWARD = '/v1/keys.forwardAuth';

test('every header of a verdict is in the document', async () => {
  const { key } = await service.createKey({ ratelimit: WINDOW });
  const { key: credits } = await service.createKey({ remaining: 5 });
  const codes: string[] = [];
  for (const body of [
    { key },
    { key },
    { key: credits, idempotencyKey: 'once-1234567890' },
    { key: credits, idempotencyKey: 'once-1234567890' },
  ])
    codes.push((await ask(service, VERIFY, body, {})).body.code);
  expect(codes).toEqual(['VALID', 'RATE_LIMITED', 'VALID', 'VALID']);
  await ask(service, '/v1/keys.verifyKeys', { keys: [{ key }] }, {});
});

test('every header of an error is in the document, for each status', async () => {
  const statuses = [
    await ask(service, '/v1/keys.getKey', {}, {}),
    await ask(service, '/v1/keys.getKey', { keyId: 'key_1' }, { rootKey: null }),
    await ask(service, '/v1/keys.getKey', { keyId: 'key_1' }, {}),
    await ask(service, VERIFY, undefined, { method: 'PUT' }),
    await ask(service, VERIFY, { key: 'x'.repeat(70_000) }, {}),
    await ask(service, VERIFY, { key: 'x' }, { headers: { 'content-type': 'text/plain' } }),
    await ask(service, '/v1/apis.createApi', { name: 'documented' }, {}),
    await ask(service, '/v1/liveness', undefined, { method: 'GET' }),
    await ask(service, '/v1/readiness', undefined, { method: 'GET' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([400, 401, 404, 405, 413, 415, 200, 200, 200]);
});

test('every header for a gateway is in the document, for each status', async () => {
  const { key: limited } = await service.createKey({ ratelimit: WINDOW, externalId: 'ada', remaining: 9 });
  const { key: spent } = await service.createKey({ remaining: 0, externalId: 'ada' });
  const { key: expired } = await service.createKey({ expires: service.clock.nowMs() + 1 });
  service.clock.advance(1);
  const statuses: number[] = [];
  for (const [key, query] of [
    [limited, ''],
    [limited, ''],
    [limited, '?deny=403'],
    [spent, ''],
    [spent, '?permission=a'],
    [expired, ''],
    [null, ''],
    [limited, '?unknown=1'],
  ] as const)
    statuses.push((await ask(service, FORWARD + query, undefined, { method: 'GET', rootKey: key })).status);
  expect(statuses).toEqual([200, 429, 403, 429, 403, 401, 401, 400]);
});

test('a service that cannot write has the documented headers too', async () => {
  const full = await TestService.start();
  const { key } = await full.createKey({ remaining: 1_000_000 });
  await full.fillDisk();
  // The last page may have space for a few more.
  while ((await full.call(VERIFY, { key })).status === 200);
  const verified = await ask(full, VERIFY, { key }, {});
  const forwarded = await ask(full, FORWARD, undefined, { method: 'GET', rootKey: key });
  expect([verified.status, forwarded.status]).toEqual([503, 503]);
  await full.close();
});

test('every header of the table was sent here: the comparisons above have seen it', () => {
  expect([...sent].sort()).toEqual(Object.keys(ANSWER_HEADERS).sort());
});

test('no cache may keep an answer for a gateway', async () => {
  const { key } = await service.createKey({ remaining: 1 });
  for (const status of [200, 429]) {
    const answer = await service.call(FORWARD, undefined, {
      method: 'GET',
      headers: { 'x-api-key': key },
      rootKey: null,
    });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'no-store']);
  }
  const { status, headers } = await service.call(FORWARD, undefined, { method: 'GET', rootKey: null });
  expect([status, headers.get('cache-control')]).toEqual([401, 'no-store']);
});
