import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { OPERATIONS, rightTo } from '../../../src/core/rights.ts';
import { operationsOf } from '../../../src/http/routes/route.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const rootKeyWith = async (rights: readonly string[]): Promise<string> =>
  (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;

/** Whoever looks at it answers 400. */
const NO_JSON = '{"';

describe.each(ROUTES.map((route) => [route.path, route] as const))('%s', (path, route) => {
  const operations = operationsOf(route);
  const ask = async (rights: readonly string[]) =>
    service.call(path, undefined, { raw: NO_JSON, rootKey: await rootKeyWith(rights) });

  test('is refused before the body is looked at to a root key that has all rights but those that it needs', async () => {
    expect(operations.length).toBeGreaterThan(0);
    const others = OPERATIONS.filter((operation) => !operations.includes(operation));
    const answer = await ask(others.map((operation) => rightTo(operation, '*')));
    const lacked = rightTo(operations[0] as (typeof operations)[0], '*');
    expect([answer.status, answer.body.error.message]).toEqual([403, `This root key lacks the right ${lacked}.`]);
  });

  test('looks at the body of every root key that could be allowed something, on any record', async () => {
    for (const operation of operations) {
      const right = rightTo(operation, '*');
      const narrow = rightTo(operation, 'of_one_record');
      for (const rights of [[right], ['*'], [narrow]]) {
        const made = await ask(rights).catch(() => null);
        // Some rights exist for all records alone.
        if (made !== null) expect([rights, made.status]).toEqual([rights, 400]);
      }
    }
  });
});
