import { createServer } from 'node:http';
import { after } from 'node:test';

/** Serves a fetch-style handler on Node, and ends with the tests. */
export async function serveFetch(handler) {
  const server = createServer(async ({ url, method, headers }, response) => {
    const answer = await handler(new Request(`http://localhost${url}`, { method, headers }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(await answer.text());
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}
