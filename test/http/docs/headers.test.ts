import { afterAll, beforeAll, expect, test } from 'bun:test';

import { ANSWER_HEADERS } from '../../../src/http/shapes/schema/answerHeaders.ts';
import { type Answer, type CallOptions, TestService } from '../../support/service.ts';
import { type Document, responsesOf } from './document.ts';

let service: TestService;
let document: Document;
/** The headers that some answer has had, in lower case. */
const sent = new Set<string>();

beforeAll(async () => {
  service = await TestService.start();
  document = (await service.call('/openapi.json', undefined, { method: 'GET' })).body as Document;
});

afterAll(() => service.close());

/** What HTTP itself is about. */
const OF_HTTP = ['connection', 'content-length', 'content-type', 'date'];

/** Sends a request and compares the headers of its answer with those that the document has for its status. */
async function ask(of: TestService, path: string, body: object | undefined, options: CallOptions): Promise<Answer> {
  const answer = await of.call(path, body, options);
  const methods = document.paths[path.split('?')[0] ?? ''] ?? {};
  const operation = methods[(options.method ?? 'POST').toLowerCase()] ?? Object.values(methods)[0];
  const { headers = {} } = responsesOf(document, operation)[String(answer.status)] ?? {};
  const known = Object.keys(headers).map((name) => name.toLowerCase());
  const names = [...answer.headers.keys()].filter((name) => !OF_HTTP.includes(name));
  for (const name of names) sent.add(name);
  expect([path, answer.status, names.filter((name) => !known.includes(name))]).toEqual([path, answer.status, []]);
  return answer;
}

const WINDOW = { limit: 1, duration: 60_000, async: false };
const VERIFY = '/v1/keys.verifyKey';
const FORWARD = '/v1/keys.forwardAuth';

test('every header of a verdict is in the document', async () => {
  const { key } = await service.createKey({ ratelimit: WINDOW });
  const { key: credits } = await service.createKey({ remaining: 5 });
  const codes: string[] = [];
  for (const body of [
    { key },
    { key },
    { key: credits, idempotencyKey: 'once-1234567890' },
    { key: credits, idempotencyKey: 'once-1234567890' },
  ])
    codes.push((await ask(service, VERIFY, body, {})).body.code);
  expect(codes).toEqual(['VALID', 'RATE_LIMITED', 'VALID', 'VALID']);
  await ask(service, '/v1/keys.verifyKeys', { keys: [{ key }] }, {});
});

test('every header of an error is in the document, for each status', async () => {
  const statuses = [
    await ask(service, '/v1/keys.getKey', {}, {}),
    await ask(service, '/v1/keys.getKey', { keyId: 'key_1' }, { rootKey: null }),
    await ask(service, '/v1/keys.getKey', { keyId: 'key_1' }, {}),
    await ask(service, VERIFY, undefined, { method: 'PUT' }),
    await ask(service, VERIFY, { key: 'x'.repeat(70_000) }, {}),
    await ask(service, VERIFY, { key: 'x' }, { headers: { 'content-type': 'text/plain' } }),
    await ask(service, '/v1/apis.createApi', { name: 'documented' }, {}),
    await ask(service, '/v1/liveness', undefined, { method: 'GET' }),
    await ask(service, '/v1/readiness', undefined, { method: 'GET' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([400, 401, 404, 405, 413, 415, 200, 200, 200]);
});

test('every header for a gateway is in the document, for each status', async () => {
  const { key: limited } = await service.createKey({ ratelimit: WINDOW, externalId: 'ada', remaining: 9 });
  const { key: spent } = await service.createKey({ remaining: 0, externalId: 'ada' });
  const { key: expired } = await service.createKey({ expires: service.clock.nowMs() + 1 });
  service.clock.advance(1);
  const statuses: number[] = [];
  for (const [key, query] of [
    [limited, ''],
    [limited, ''],
    [limited, '?deny=403'],
    [spent, ''],
    [spent, '?permission=a'],
    [expired, ''],
    [null, ''],
    [limited, '?unknown=1'],
  ] as const)
    statuses.push((await ask(service, FORWARD + query, undefined, { method: 'GET', rootKey: key })).status);
  expect(statuses).toEqual([200, 429, 403, 429, 403, 401, 401, 400]);
});

test('a service that cannot write has the documented headers too', async () => {
  const full = await TestService.start();
  const { key } = await full.createKey({ remaining: 1_000_000 });
  await full.fillDisk();
  // The last page may have space for a few more.
  while ((await full.call(VERIFY, { key })).status === 200);
  const verified = await ask(full, VERIFY, { key }, {});
  const forwarded = await ask(full, FORWARD, undefined, { method: 'GET', rootKey: key });
  expect([verified.status, forwarded.status]).toEqual([503, 503]);
  await full.close();
});

test('every header of the table was sent here: the comparisons above have seen it', () => {
  expect([...sent].sort()).toEqual(Object.keys(ANSWER_HEADERS).sort());
});

test('no cache may keep an answer for a gateway', async () => {
  const { key } = await service.createKey({ remaining: 1 });
  for (const status of [200, 429]) {
    const answer = await service.call(FORWARD, undefined, {
      method: 'GET',
      headers: { 'x-api-key': key },
      rootKey: null,
    });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'no-store']);
  }
  const { status, headers } = await service.call(FORWARD, undefined, { method: 'GET', rootKey: null });
  expect([status, headers.get('cache-control')]).toEqual([401, 'no-store']);
});
