import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { ENDPOINTS } from '../docs/endpoints.ts';
import { storedIn } from './stored.ts';
import { makeRecords, realRequest, type Records } from './records.ts';
import { type Node, wrongValues } from './wrongValues.ts';

let service: TestService;
let records: Records;

beforeAll(async () => {
  // More calls than one root key may make in a second, and the clock stands still.
  service = await TestService.start({ settings: { KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND: '1000000' } });
  records = await makeRecords(service);
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
