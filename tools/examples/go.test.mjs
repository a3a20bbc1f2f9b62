import { deepStrictEqual, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';

import { fromProjectRoot } from '../launch/project.mjs';
import { NO_CREDITS, NO_KEY, NO_PERMISSION, refusal, startExample } from './example.mjs';

describe('examples/go', async () => {
  const { ask, newKey } = await startExample('go');

  test('a key passes until its credits are used up, and the handler knows its owner', async () => {
    const key = await newKey({ remaining: 3, permissions: ['orders.read'], externalId: 'user_1' });
    const { status, body } = await ask('/orders', key);
    deepStrictEqual([status, body], [200, 'orders of user_1\n']);
    deepStrictEqual(refusal(await ask('/orders', key)), NO_CREDITS);
  });

  test('it is formatted as Go programs are', () => {
    const { stdout } = spawnSync('gofmt', ['-l', fromProjectRoot('examples/go')], { encoding: 'utf8' });
    strictEqual(stdout, '');
  });

  test('a key without the permission is 403', async () => {
    deepStrictEqual(refusal(await ask('/orders', await newKey())), NO_PERMISSION);
  });

  test('a request without a key is 401', async () => {
    deepStrictEqual(refusal(await ask('/orders')), NO_KEY);
  });
});
