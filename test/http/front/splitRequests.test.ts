import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { BUDGET_BYTES, ConnectionSetup } from './fakeConnection.ts';

/** Parts of requests, whole and broken, put together in any order. */
const LINES = [
  'GET / HTTP/1.1\r\n',
  'POST /any HTTP/1.1\r\n',
  'POST /v1/keys.verifyKey HTTP/1.1\r\n',
  'GET /any HTTP/1.0\r\n',
  'Host: a\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 99999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  '\r\n',
  '12345',
  '5\r\n12345\r\n',
  '0\r\n\r\n',
  '0\r\nX: y\r\n\r\n',
  '5;a=b\r\n',
  '\n',
  '\0',
];
const WHOLE = [
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /any HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345',
  'POST /v1/keys.verifyKey HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345',
  'POST /any HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n3\r\nabc\r\n0\r\n\r\n',
];

/** What is asked and answered when the bytes come in these pieces, and the client then ends its side. */
async function outcome(pieces: readonly string[]): Promise<object> {
  const setup = new ConnectionSetup(() => new Response('x'));
  for (const piece of pieces) {
    if (piece !== '') setup.send(piece);
    await setup.settle();
  }
  setup.connection.ended();
  await setup.settle();
  const { asked, bodies, responses, socket, memory } = setup;
  expect([memory.left, setup.connection.isInFlight]).toEqual([BUDGET_BYTES, false]);
  expect(socket.look().at(-1)).toBe('end');
  return { asked, bodies, responses, written: socket.written };
}

function cut(text: string, places: readonly number[]): string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, i) => text.slice(start, ends[i] ?? text.length));
}

test('the same bytes mean the same, in whatever pieces they come; nothing is left in memory, and the connection ends', async () => {
  const part = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...WHOLE) },
    { weight: 3, arbitrary: fc.constantFrom(...LINES) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 12 }), fc.array(fc.nat(2000)), async (parts, places) => {
      const text = parts.join('');
      expect(await outcome(cut(text, places))).toEqual(await outcome([text]));
    }),
    { numRuns: 300 },
  );
});
