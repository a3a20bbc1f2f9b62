import { afterAll, beforeAll, expect, test } from 'bun:test';

import { exchange } from '../front/connection.ts';
import { answersIn, chunk, request, sendAndEnd, type Served, serve } from '../front/wire.ts';
import { FORWARD } from './forwardSetup.ts';

const CLOSE = 'Connection: close';

let served: Served;
let key = '';
let other = '';

beforeAll(async () => {
  served = await serve();
  ({ key } = await served.service.createKey({ remaining: 1_000_000 }));
  ({ key: other } = await served.service.createKey({ remaining: 1_000_000 }));
});

afterAll(() => served.close());

const port = () => served.server.port;
const bearer = () => `Authorization: Bearer ${key}`;
const ask = (start: string, lines: readonly string[], body = '') =>
  exchange(port(), request(start, ['Host: localhost', CLOSE, ...lines], body));

test('two headers Authorization, or two X-API-Key, are a 401, whether they are equal or not', async () => {
  for (const lines of [
    [bearer(), `Authorization: Bearer ${other}`],
    [bearer(), bearer()],
    [bearer(), 'authorization: Basic YTpi'],
    ['Authorization: Basic YTpi', bearer()],
    [`X-API-Key: ${key}`, `x-api-key: ${other}`],
    [`X-API-Key: ${key}`, `X-API-Key: ${key}`],
  ]) {
    const { status, headers } = await ask(`GET ${FORWARD} HTTP/1.1`, lines);
    expect([lines, status, headers['keystile-code']]).toEqual([lines, 401, 'UNAUTHORIZED']);
  }
});

test('HTTP/1.0, with and without Host', async () => {
  for (const host of [[], ['Host: localhost']]) {
    const { status, headers } = await exchange(port(), request(`GET ${FORWARD} HTTP/1.0`, [...host, bearer()]));
    expect([status, headers['keystile-code']]).toEqual([200, 'VALID']);
  }
});

test('Expect: 100-continue with a short body is answered with 100 and then with the verdict', async () => {
  const lines = ['Host: localhost', CLOSE, bearer(), 'Content-Length: 2', 'Expect: 100-continue'];
  const received = await sendAndEnd(port(), request(`POST ${FORWARD} HTTP/1.1`, lines, '{}'));
  expect(answersIn(received).map(({ status }) => status)).toEqual([100, 200]);
});

test('header injection: line ends and control characters in a header never reach a verdict', async () => {
  for (const line of [`X-API-Key: ${key}\rX: y`, `X-API-Key: ${key}\u0000`, `X-API-Key : ${key}`, ` ${bearer()}`]) {
    const received = await sendAndEnd(port(), request(`GET ${FORWARD} HTTP/1.1`, ['Host: localhost', CLOSE, line]));
    expect([line, answersIn(received).map(({ status }) => status)]).toEqual([line, [400]]);
  }
});

test('a route that looks like it is another one', async () => {
  for (const [path, status] of [
    [`${FORWARD}/`, 404],
    [`${FORWARD}/orders?cost=0`, 404],
    ['/v1/keys.forwardauth', 404],
    [`/${FORWARD}`, 200],
  ] as const) {
    expect([path, (await ask(`GET ${path} HTTP/1.1`, [bearer()])).status]).toEqual([path, status]);
  }
});

test('HEAD has the headers of GET and no body, and the next request on the connection is answered', async () => {
  const head = request(`HEAD ${FORWARD} HTTP/1.1`, ['Host: localhost', bearer()]);
  const answers = answersIn(await sendAndEnd(port(), head + head), true);
  expect(answers.map(({ status, headers }) => [status, headers['keystile-code']])).toEqual([
    [200, 'VALID'],
    [200, 'VALID'],
  ]);
});

test('a body with a length and one in chunks are skipped, and the connection goes on', async () => {
  const { key: own } = await served.service.createKey({ remaining: 4 });
  const lines = ['Host: localhost', `X-API-Key: ${own}`];
  const inner = request(`GET ${FORWARD}?cost=0 HTTP/1.1`, lines);
  const sent = [
    request(`POST ${FORWARD} HTTP/1.1`, [...lines, `Content-Length: ${inner.length}`], inner),
    request(`GET ${FORWARD} HTTP/1.1`, [...lines, `Content-Length: ${inner.length}`], inner),
    request(`PUT ${FORWARD} HTTP/1.1`, [...lines, 'Transfer-Encoding: chunked'], `${chunk(inner)}0\r\n\r\n`),
    request(`GET ${FORWARD} HTTP/1.1`, [...lines, CLOSE]),
  ];
  const answers = answersIn(await sendAndEnd(port(), sent.join('')));
  expect(answers.map(({ headers }) => headers['keystile-remaining'])).toEqual(['3', '2', '1', '0']);
});

test('a body that is announced and too long is not waited for', async () => {
  const lines = ['Host: localhost', bearer(), 'Content-Length: 100000000', 'Expect: 100-continue'];
  const { status, headers } = await exchange(port(), request(`POST ${FORWARD} HTTP/1.1`, lines));
  // The front says no "100 Continue": it would ask for a body that nobody reads.
  expect([status, headers['keystile-code'], headers['connection']]).toEqual([200, 'VALID', 'close']);
});
