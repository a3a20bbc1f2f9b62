import { deepStrictEqual } from 'node:assert';
import { describe, test } from 'node:test';

import { NO_CREDITS, NO_KEY, refusal, startExample } from './example.mjs';

describe('examples/fastify', async () => {
  const { ask, newKey, program } = await startExample('fastify');

  test('a key passes until its credits are used up', async () => {
    const key = await newKey({ remaining: 1 });
    deepStrictEqual((await ask('/search', key)).body, { results: [], creditsLeft: 0 });
    deepStrictEqual(refusal(await ask('/search', key)), NO_CREDITS);
  });

  test('a request without a key is 401, and another route is open', async () => {
    deepStrictEqual(refusal(await ask('/search')), NO_KEY);
    deepStrictEqual((await ask('/health')).body, { isUp: true });
  });

  test('every verdict is in the log', async () => {
    await program.until(() => verdictsIn(program.output).length === 4);
    deepStrictEqual(verdictsIn(program.output), ['VALID', 'VALID', 'USAGE_EXCEEDED', 'NOT_FOUND']);
  });
});

function verdictsIn(log) {
  const lines = log.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  return lines.map((line) => JSON.parse(line)).flatMap(({ msg, code }) => (msg === 'verdict' ? [code] : []));
}
