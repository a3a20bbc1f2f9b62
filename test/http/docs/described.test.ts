import { describe, expect, test } from 'bun:test';
import { Value } from 'typebox/value';

import { ERRORS } from '../../../src/core/errors.ts';
import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { openApi } from '../../../src/http/docs/openApi.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { componentOf } from '../../../src/model/schema/described.ts';
import {
  type Document,
  followed,
  inlined,
  operationsOf,
  type Parameter,
  responsesOf,
  type Schema,
} from './document.ts';
import { ENDPOINTS } from './endpoints.ts';

/** The words and examples of /openapi.json: the whole document is walked. */

const document = JSON.parse(JSON.stringify(openApi(null))) as Document;
const operations = operationsOf(document);

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
  for (const [name, schema] of Object.entries(document.components.schemas)) yield* fieldsIn(schema, name);
  for (const operation of operations) {
    const { path, method, requestBody } = operation;
    const media = [
      ...Object.values(requestBody?.content ?? {}),
      ...Object.values(responsesOf(document, operation)).flatMap(({ content }) => Object.values(content)),
    ];
    for (const { schema } of media) yield* fieldsIn(schema, `${method} ${path}`);
  }
}

const FIELDS = [...allFields()];
const PARAMETERS = operations.flatMap(({ operationId, parameters = [] }) =>
  parameters.map((parameter): [string, Parameter] => [`${operationId}?${parameter.name}`, parameter]),
);

/** A text of at least two words that begins and ends like a sentence. `null` and codes may begin it. */
const SENTENCE = /^(?:[A-Z`]|null|true|false)\S* .*[.?]$/s;

const faultsOf = (where: string, description: string | undefined, examples: readonly unknown[], schema: Schema) => [
  ...(SENTENCE.test(description ?? '') ? [] : [`${where} has no description that is a sentence: ${description}`]),
  ...(examples.length > 0 ? [] : [`${where} has no example`]),
  ...examples
    .filter((example) => !Value.Check(inlined(document, schema), example))
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
      const { description, examples = [] } = followed(document, schema);
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
    const headers = Object.entries(document.components.headers);
    expect(headers.length).toBeGreaterThan(10);
    const faults = headers.flatMap(([name, { description, example, schema }]) =>
      faultsOf(name, description, example === undefined ? [] : [example], schema),
    );
    expect(faults).toEqual([]);
  });

  test('that a validator reads is in the document, and no other', () => {
    const namesOf = ({ properties, items }: Schema): string[] => Object.keys(properties ?? items?.properties ?? {});
    for (const { path, request } of ENDPOINTS) {
      const { schema = {} } = document.paths[path]?.['post']?.requestBody?.content['application/json'] ?? {};
      expect([path, namesOf(inlined(document, schema) as Schema)]).toEqual([path, namesOf(request as Schema)]);
    }
  });
});

describe('every component', () => {
  test('has a description, and an example that fits unless it is the body of one call alone', () => {
    const faults = Object.entries(document.components.schemas).flatMap(([name, schema]) => {
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
    const named = Object.keys(document.components.schemas);
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
    const { VerdictCode, ErrorCode } = document.components.schemas;
    expect(VerdictCode).toMatchObject({ type: 'string', enum: [...VERDICT_CODES] });
    expect(ErrorCode).toMatchObject({ type: 'string', enum: Object.keys(ERRORS) });
    for (const code of VERDICT_CODES) expect(VerdictCode?.description).toContain(`\`${code}\``);
    for (const code of Object.keys(ERRORS)) expect(ErrorCode?.description).toContain(`\`${code}\``);
  });
});

/** The example of the request or answer that is this component. */
function inMedia(name: string): unknown {
  const media = operations.flatMap((operation) => [
    ...Object.values(operation.requestBody?.content ?? {}),
    ...Object.values(responsesOf(document, operation)).flatMap(({ content }) => Object.values(content)),
  ]);
  return media.find(({ schema }) => schema.$ref === `#/components/schemas/${name}`)?.example;
}

describe('every operation', () => {
  test('has a summary of one sentence, an id, one tag that is described, and its security', () => {
    const tags = document.tags.map(({ name }) => name);
    for (const { operationId, summary = '', description = 'It is.', tags: own = [], security } of operations) {
      expect([operationId, summary]).toEqual([operationId, expect.stringMatching(SENTENCE)]);
      expect([operationId, summary]).toEqual([operationId, expect.not.stringMatching(/[.?] /)]);
      expect([operationId, description]).toEqual([operationId, expect.stringMatching(SENTENCE)]);
      expect([operationId, own.length, tags]).toEqual([operationId, 1, expect.arrayContaining([...own])]);
      expect([operationId, Array.isArray(security)]).toEqual([operationId, true]);
    }
    const used = new Set(operations.flatMap(({ tags: own = [] }) => own));
    expect([...used].sort()).toEqual(tags.toSorted());
    for (const { name, description } of document.tags) {
      expect([name, description]).toEqual([name, expect.stringMatching(SENTENCE)]);
    }
  });

  test('has a summary and an id of its own, also where GET and POST do the same', () => {
    for (const name of ['operationId', 'summary'] as const) {
      const texts = operations.map((operation) => operation[name]);
      expect(new Set(texts).size).toBe(texts.length);
    }
  });

  test('names security schemes that are described', () => {
    const used = new Set(operations.flatMap(({ security = [] }) => security.flatMap((each) => Object.keys(each))));
    expect([...used]).toEqual(Object.keys(document.components.securitySchemes));
    for (const { description } of Object.values(document.components.securitySchemes)) {
      expect(description).toMatch(SENTENCE);
    }
  });
});
