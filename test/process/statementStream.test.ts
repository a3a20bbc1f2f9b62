import { expect, setDefaultTimeout, test } from 'bun:test';

import { TempFolder } from './process.ts';
import { ROOT_KEY, Server } from './server.ts';

setDefaultTimeout(30_000);

const KEYS = 2_000;

test('statements of many are streamed as CSV; a client that leaves ends its own stream and nothing else', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'streamed' })) as { apiId: string };
  const keys = Array.from({ length: KEYS / 2 }, () => ({ remaining: 1 }));
  for (let i = 0; i < 2; i++) await server.ok('/v1/keys.createKeys', { apiId, keys });
  const ask = (): Promise<Response> =>
    fetch(`${server.url}/v1/usage.getStatement?all=true&per=day&format=csv`, {
      headers: { authorization: `Bearer ${ROOT_KEY}` },
    });
  const leaving = (await ask()).body?.getReader();
  expect((await leaving?.read())?.done).toBe(false);
  await leaving?.cancel();
  const answer = await ask();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
  expect(answer.headers.get('content-length')).toBeNull();
  const lines = (await answer.text()).split('\r\n');
  expect([lines.length, lines.at(-1), new Set(lines).size]).toEqual([KEYS + 2, '', KEYS + 2]);
});
