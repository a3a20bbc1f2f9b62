import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type ErrorCode, ERRORS } from '../../../src/core/errors.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { type Answer, TestService } from '../../support/service.ts';
import { storedIn } from './stored.ts';
import { realRequest, type Records, recordsFor } from './records.ts';
import type { Node } from './wrongValues.ts';

/** The same thing twice, and lists with nothing in them: made from the route table. */

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

/** Sends what may be refused; then it is refused in a way that is documented, and leaves nothing behind. */
async function sent(route: Route, body: unknown): Promise<Answer> {
  const before = storedIn(service.folder);
  const answer = await service.call(route.path, body);
  if (answer.status === (route.status ?? 200)) return answer;
  const code = answer.body.error?.code as ErrorCode;
  expect([...route.errors, 'BAD_REQUEST']).toContain(code);
  expect([code, answer.status]).toEqual([code, ERRORS[code].status]);
  expect(storedIn(service.folder)).toEqual(before);
  return answer;
}

describe.each(ROUTES.map((route) => [route.path, route] as const))('%s', (path, route) => {
  test('sent twice: it is done again, or refused as documented', async () => {
    const body: unknown = realRequest(route, await recordsFor(service, route));
    expect((await sent(route, body)).status).toBe(route.status ?? 200);
    const again = await sent(route, body);
    const isUnique = route.errors.includes('CONFLICT') && /\.create/.test(path);
    if (isUnique) expect([again.status, again.body.error?.code]).toEqual([409, 'CONFLICT']);
  });

  test('sent twice at the same time: never in a way that is not documented', async () => {
    const body: unknown = realRequest(route, await recordsFor(service, route));
    const answers = await Promise.all([service.call(path, body), service.call(path, body)]);
    const statuses = [route.status ?? 200, 400, ...route.errors.map((code) => ERRORS[code].status)];
    for (const { status } of answers) expect(statuses).toContain(status);
    expect(answers.map(({ status }) => status)).toContain(route.status ?? 200);
    const isUnique = route.errors.includes('CONFLICT') && /\.create/.test(path);
    if (isUnique) expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  const { properties = {} } = route.request as Node;
  const lists = Object.entries(properties).filter(([, node]) => listIn(node) !== undefined);
  let ofLists: Promise<Records> | null = null;
  /** A request with records that all tests of lists share: no list of theirs takes a record away from another. */
  const withLists = async () =>
    realRequest(route, await (ofLists ??= recordsFor(service, route))) as Record<string, unknown>;

  test.each(lists)('%s with the same item twice is taken, or refused as documented', async (name) => {
    const body = await withLists();
    const [item = '203.0.113.7'] = (body[name] as unknown[] | undefined) ?? [];
    await sent(route, { ...body, [name]: [item, item] });
  });

  test.each(lists)('%s as an empty list is taken, or refused by its path', async (name, node) => {
    const body = await withLists();
    const answer = await sent(route, { ...body, [name]: [] });
    if ((listIn(node)?.minItems ?? 0) > 0) expect(answer.status).toBe(400);
    if (answer.status === 400) expect(answer.body.error.issues[0].path).toStartWith(name);
  });
});

const LISTS = ROUTES.filter(({ example }) => Array.isArray(example.request));

test.each(LISTS.map((route) => [route.path, route] as const))(
  '%s with the same item twice in its list is refused as documented',
  async (_path, route) => {
    const body = realRequest(route, await recordsFor(service, route)) as unknown[];
    expect((await sent(route, [body[0], body[0]])).status).toBeGreaterThanOrEqual(400);
  },
);

/** The list that a field takes, alone or beside something else. */
function listIn(node: Node): Node | undefined {
  return [node, ...(node.anyOf ?? [])].find(({ type }) => type === 'array');
}
