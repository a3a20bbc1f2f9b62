import { describe, test } from 'node:test';

import { protect } from '@keystile/sdk/fetch';

import { expectAll, startFake } from './keystileForTests.mjs';
import { serveFetch } from './serveFetch.mjs';

describe('a fetch-style handler', async () => {
  const { keystile, keys } = await startFake();
  const answer = (_request, verdict) => Response.json({ left: verdict.remaining ?? null });
  const routes = {
    '/hello': protect({ keystile }, answer),
    '/docs': protect({ keystile, permissions: 'doc.read' }, answer),
    '/render': protect({ keystile, cost: 2 }, answer),
  };
  await expectAll(test, await serveFetch((request) => routes[new URL(request.url).pathname](request)), keys);
});
