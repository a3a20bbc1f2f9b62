import { deepStrictEqual } from 'node:assert';
import { describe, test } from 'node:test';

import { NO_CREDITS, NO_KEY, NO_PERMISSION, refusal, startExample } from './example.mjs';

describe('examples/fastapi', async () => {
  const { ask, newKey } = await startExample('fastapi');

  test('each route takes its cost, and a key without enough credits is 429', async () => {
    const key = await newKey({ remaining: 6, permissions: ['reports.read'] });
    deepStrictEqual((await ask('/report', key)).body, { report: 'a costly one', credits_left: 1 });
    deepStrictEqual(refusal(await ask('/report', key)), NO_CREDITS);
    deepStrictEqual((await ask('/search', key)).body, { results: [], credits_left: 0 });
  });

  test('a key without the permission is 403', async () => {
    deepStrictEqual(refusal(await ask('/report', await newKey())), NO_PERMISSION);
  });

  test('a request without a key is 401', async () => {
    deepStrictEqual(refusal(await ask('/search')), NO_KEY);
  });
});
