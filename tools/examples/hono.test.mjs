import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { describe, test } from 'node:test';

import { NO_KEY, OVER_LIMIT, refusal, startExample } from './example.mjs';

describe('examples/hono', async () => {
  const { ask, newKey } = await startExample('hono');

  /** The count of the limit that an answer shows. */
  const left = ({ headers }) => headers.get('ratelimit')?.split(';t=')[0];

  test('a key without limits is refused after the reports that the route allows', async () => {
    const key = await newKey();
    const answers = [];
    // A day may end in between, and the reports of the next one count from 3 again.
    while (answers.at(-1)?.status !== 429 && answers.length < 7) answers.push(await ask('/reports/short', key));
    const [refused, ...passed] = answers.toReversed();
    deepStrictEqual(passed.slice(0, 3).map(left), ['"reports";r=0', '"reports";r=1', '"reports";r=2']);
    strictEqual(passed[0].body.report, 'one page');
    deepStrictEqual(refusal(refused), OVER_LIMIT);
    match(refused.headers.get('retry-after'), /^\d+$/);
    strictEqual(refused.headers.get('ratelimit-policy'), '"reports";q=3;w=86400, "pages";q=100;w=86400');
  });

  test('another key has its own count', async () => {
    strictEqual((await ask('/reports/long', await newKey())).body.report, 'twenty pages');
  });

  test('a request without a key is 401', async () => {
    deepStrictEqual(refusal(await ask('/reports/short')), NO_KEY);
  });
});
