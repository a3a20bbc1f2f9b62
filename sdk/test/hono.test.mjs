import { describe, test } from 'node:test';

import { protect } from '@keystile/sdk/hono';
import { Hono } from 'hono';

import { expectAll, startFake } from './keystileForTests.mjs';
import { serveFetch } from './serveFetch.mjs';

describe('Hono', async () => {
  const { keystile, keys } = await startFake();
  const app = new Hono();
  const answer = (context) => context.json({ left: context.get('keystile').remaining ?? null });
  app.get('/hello', protect({ keystile }), answer);
  app.get('/docs', protect({ keystile, permissions: 'doc.read' }), answer);
  app.get('/render', protect({ keystile, cost: 2 }), answer);
  await expectAll(test, await serveFetch((request) => app.fetch(request)), keys);
});
