import { after, describe, test } from 'node:test';

import { keystile as plugin, protect } from '@keystile/sdk/fastify';
import Fastify from 'fastify';

import { expectAll, startFake } from './keystileForTests.mjs';

describe('Fastify', async () => {
  const { keystile, keys } = await startFake();
  const app = Fastify();
  await app.register(plugin);
  const answer = async (request) => ({ left: request.keystile.remaining ?? null });
  app.get('/hello', { preHandler: protect({ keystile }) }, answer);
  app.get('/docs', { preHandler: protect({ keystile, permissions: 'doc.read' }) }, answer);
  app.get('/render', { preHandler: protect({ keystile, cost: 2 }) }, answer);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  after(() => app.close());
  await expectAll(test, url, keys);
});
