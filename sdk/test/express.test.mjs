import { after, describe, test } from 'node:test';

import { protect } from '@keystile/sdk/express';
import express from 'express';
import express4 from 'express4';

import { expectAll, startFake } from './keystileForTests.mjs';

for (const [version, framework] of Object.entries({ 4: express4, 5: express })) {
  describe(`Express ${version}`, async () => {
    const { fake, keystile, keys } = await startFake();
    const app = framework();
    const answer = (request, response) => response.json({ left: request.keystile.remaining ?? null });
    app.get('/hello', protect({ keystile }), answer);
    app.get('/docs', protect({ keystile, permissions: 'doc.read' }), answer);
    app.get('/render', protect({ keystile, cost: 2 }), answer);
    const server = app.listen(0);
    await new Promise((listening) => server.once('listening', listening));
    const url = `http://127.0.0.1:${server.address().port}`;
    after(() => server.close());
    await expectAll(test, url, keys);
    test('a service that cannot be reached is 503', async (t) => {
      fake.isReachable = false;
      const response = await fetch(`${url}/hello`, { headers: { authorization: `Bearer ${keys.plain}` } });
      fake.isReachable = true;
      t.assert.deepStrictEqual([response.status, response.headers.get('retry-after')], [503, '1']);
    });
  });
}
