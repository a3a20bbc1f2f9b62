import { expect, test } from 'bun:test';

import cases from '../../clients/cases.json';
import { Keystile } from '../../sdk/src/keystile.ts';
import { protect } from '../../sdk/src/middleware/fetch.ts';

/** What a middleware answers is the same in every client (clients/cases.json). */
test.each(cases.answers.map((each) => [each.name, each] as const))(
  '%s',
  async (_, { service, status, headers, body }) => {
    const keystile = new Keystile({
      url: 'https://keystile.test',
      retries: 0,
      batch: false,
      async fetch() {
        const retry = 'retryAfter' in service ? { 'retry-after': service.retryAfter } : {};
        return Response.json(service.body, { status: service.status, headers: { date: service.date, ...retry } });
      },
    });
    const route = protect({ keystile }, () => Response.json({}));
    const answered = await route(
      new Request('http://shop.test/search', { headers: { 'x-api-key': 'demo_secret_0001' } }),
    );
    expect(answered.status).toBe(status);
    for (const [name, value] of Object.entries(headers))
      expect([name, answered.headers.get(name)]).toEqual([name, value]);
    expect(await answered.json()).toMatchObject(body);
  },
);
