import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { forwardAuth } from '../../../src/http/routes/keys.forwardAuth.ts';
import { liveness, readiness } from '../../../src/http/routes/health.ts';
import { TestService } from '../../support/service.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { Node } from '../errors/wrongValues.ts';

let service: TestService;
/** The text of each section, by its id, in the order of the page. */
let sections: Map<string, string>;

beforeAll(async () => {
  service = await TestService.start();
  const { text } = await service.call('/docs', undefined, { method: 'GET', rootKey: null });
  sections = new Map(text.split('<h2 id="').map((part): [string, string] => [part.slice(0, part.indexOf('"')), part]));
});

afterAll(async () => {
  await service.close();
});

const idOf = (path: string): string => path.replace('/v1/', '');
const section = (id: string): string => sections.get(id) ?? '';
/** The rows of the table of fields, each as its name and its type. */
const rows = (id: string): [string, string][] =>
  [...section(id).matchAll(/<tr><td><code>([^<]+)<\/code><\/td><td>([^<]*)<\/td>/g)].map(([, name = '', type = '']) => [
    name,
    type.replaceAll('&quot;', '"'),
  ]);

describe.each(ENDPOINTS.map((endpoint) => [idOf(endpoint.path), endpoint] as const))('%s', (id, { request }) => {
  test('has a row with a type for each of its fields, and for no other', () => {
    const { items, properties = items?.properties ?? {} } = request as Node;
    expect(rows(id).map(([name]) => name)).toEqual(Object.keys(properties));
    for (const [name, type] of rows(id)) expect([name, type]).not.toEqual([name, expect.stringMatching(/^$|\bany\b/)]);
  });

  test('shows an answer', () => {
    expect(section(id)).toContain('<p>Answer</p><pre>');
  });
});

test('a list as body says how long it may be', () => {
  expect(section('migrations.createKeys')).toContain('<p>A list of 1 to 100 of these:</p><table>');
  expect(section('keys.createKey')).not.toContain('A list of');
});

test('words of a choice are named', () => {
  const types = Object.fromEntries(rows('analytics.getVerifications'));
  expect(types['order']).toBe('"asc" or "desc"');
  expect(types['orderBy']).toStartWith('"time" or "valid" or ');
  expect(types['groupBy']).toBe('"hour" or "day" or "month" or "key" or "identity" or "tag" or "tags", or a list');
  expect(Object.fromEntries(rows('keys.getVerifications'))['granularity']).toBe('"day" or "hour"');
});

test('where one right is enough it says or, elsewhere and', () => {
  const needs = (id: string) => /<p>Needs: (.*?)<\/p>/.exec(section(id))?.[1]?.replaceAll(/<\/?code>/g, '');
  expect(needs('analytics.getVerifications')).toBe('api.&lt;apiId&gt;.read_analytics or api.&lt;apiId&gt;.read_api');
  expect(needs('apis.listKeys')).toBe('api.&lt;apiId&gt;.read_key and api.&lt;apiId&gt;.read_api');
  expect(needs('keys.verifyKey')).toBeUndefined();
});

test('createKey and updateKey name the rights that roles and permissions need', () => {
  const named = (id: string): string[] =>
    [...section(id).matchAll(/<code>(rbac\.[^<]+)<\/code>/g)].map(([, name = '']) => name);
  const right = (operation: string) => `rbac.*.${operation}`;
  const given = ['add_role_to_key', 'add_permission_to_key', 'create_role', 'create_permission'];
  expect(named('keys.createKey').sort()).toEqual(given.map(right).sort());
  const taken = ['remove_role_from_key', 'remove_permission_from_key'];
  expect(named('keys.updateKey').sort()).toEqual([...given, ...taken].map(right).sort());
});

test('the groups stand together, keys first, and verifyKey first of them', () => {
  const ids = [...sections.keys()].slice(1);
  expect(ids.slice(0, 4)).toEqual(['keys.verifyKey', 'keys.verifyKeys', 'keys.forwardAuth', 'keys.createKey']);
  const groups = ids.map((id) => (id.includes('.') ? id.split('.')[0] : 'health'));
  const changes = groups.filter((group, i) => group !== groups[i - 1]);
  const order = 'keys apis identities permissions ratelimits analytics migrations rootKeys audit health';
  expect(changes.join(' ')).toBe(order);
  const paths = [...ENDPOINTS.map(({ path }) => path), forwardAuth.path, liveness.path, readiness.path];
  expect(ids.toSorted()).toEqual(paths.map(idOf).sort());
  const links = [...(sections.values().next().value ?? '').matchAll(/href="#([^"]+)"/g)].map(([, id]) => id ?? '');
  expect(links).toEqual(ids);
});
