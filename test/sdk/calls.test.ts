import { expect, test } from 'bun:test';
import { join } from 'node:path';

import {
  Keystile,
  type KeystileError,
  type KeystileOptions,
  type Verdict,
  ratelimitHeaders,
  refusalOf,
} from '../../sdk/src/index.ts';
import { SELF_SIGNED } from '../support/selfSigned.ts';
import { answer, error, type Move, patience, ScriptedServer, VALID } from './scriptedServer.ts';
import { FakeKeystile } from '../../sdk/src/testing/index.ts';

const KEY = 'demo_secretsecretsecret';
const ROOT_KEY = 'root_secretsecretsecret';
const PATIENT: KeystileOptions = { rootKey: ROOT_KEY, retries: 0, ...patience([]) };

async function verified(moves: readonly Move[], options: KeystileOptions = {}): Promise<Verdict> {
  await using server = await ScriptedServer.start(...moves);
  return await new Keystile({ ...PATIENT, ...patience(moves), url: server.url, ...options }).verify(KEY);
}

function causeOf(verdict: Verdict): KeystileError {
  if (verdict.code !== 'UNAVAILABLE') throw new Error(`expected UNAVAILABLE, got ${verdict.code}`);
  return verdict.cause;
}

const NOT_JSON = answer(200, '<html>Welcome to nginx</html>');
const CUT_OFF = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"valid":tr';

/** Every fault: what the server does, the code of the error, and whether the request was certainly not carried out. */
const FAULTS: readonly (readonly [string, readonly Move[], string, boolean])[] = [
  ['no answer in time', ['silence'], 'TIMEOUT', false],
  ['a connection that is cut', ['cut'], 'CONNECTION_LOST', false],
  ['an answer that is cut off', [CUT_OFF], 'CONNECTION_LOST', false],
  ['an answer that is not JSON', [NOT_JSON], 'BAD_RESPONSE', false],
  ['JSON of another program', [answer(200, { hello: 'world' })], 'BAD_RESPONSE', false],
  ['a redirect', [answer(301, '', { location: 'http://127.0.0.1:1/' })], 'BAD_RESPONSE', true],
  ['a gateway that reaches nobody', [answer(502, 'Bad Gateway')], 'BAD_RESPONSE', false],
  ['a wrong root key', [error(401, 'UNAUTHORIZED')], 'UNAUTHORIZED', true],
  ['a body that is too large', [error(413, 'PAYLOAD_TOO_LARGE')], 'PAYLOAD_TOO_LARGE', true],
  ['a quota that is reached', [error(429, 'RATE_LIMITED', { 'retry-after': '3' })], 'RATE_LIMITED', true],
  ['a bug of the service', [error(500, 'INTERNAL_SERVER_ERROR')], 'INTERNAL_SERVER_ERROR', false],
  ['an overloaded service', [error(503, 'UNAVAILABLE', { 'retry-after': '1' })], 'UNAVAILABLE', true],
  ['an unknown outcome', [error(503, 'OUTCOME_UNKNOWN')], 'OUTCOME_UNKNOWN', false],
  ['an error code newer than the SDK', [error(418, 'TEAPOT')], 'UNKNOWN', true],
];

test.concurrent.each(FAULTS)('%s is a refusal with its cause', async (_name, moves, code, isCertainlyNotDone) => {
  const verdict = await verified(moves);
  expect(verdict.valid).toBe(false);
  expect(causeOf(verdict).code as string).toBe(code);
  expect(causeOf(verdict).isCertainlyNotDone).toBe(isCertainlyNotDone);
});

test.concurrent.each(FAULTS)('%s says what to do, and no secret', async (_name, moves) => {
  const cause = causeOf(await verified(moves));
  expect(cause.message).toMatch(/^[A-Z].*[.]$/);
  expect(Bun.inspect(cause, { depth: 20 })).not.toContain('secretsecret');
});

test('an address where nothing listens is certainly not done', async () => {
  const server = await ScriptedServer.start(VALID);
  const { url } = server;
  await server[Symbol.asyncDispose]();
  const cause = causeOf(await new Keystile({ ...PATIENT, url }).verify(KEY));
  expect([cause.code, cause.isCertainlyNotDone]).toEqual(['UNREACHABLE', true]);
  expect(cause.message).toBe(`Keystile cannot be reached at ${url}. Check the url, and that the service is running.`);
});

test('a host that does not exist cannot be reached', async () => {
  const cause = causeOf(await new Keystile({ ...PATIENT, url: 'https://keystile.invalid' }).verify(KEY));
  expect(cause.code).toBe('UNREACHABLE');
});

test('a certificate that nobody vouches for is a TLS error, and nothing was sent', async () => {
  const seen: string[] = [];
  const server = Bun.serve({ port: 0, tls: SELF_SIGNED, fetch: ({ url }) => (seen.push(url), new Response('{}')) });
  const cause = causeOf(await new Keystile({ ...PATIENT, url: `https://127.0.0.1:${server.port}` }).verify(KEY));
  await server.stop(true);
  expect([cause.code, cause.isCertainlyNotDone, seen]).toEqual(['TLS', true, []]);
});

test('a verdict code newer than the SDK is a refusal, also when it says valid', async () => {
  const newer = answer(200, { valid: true, code: 'GRACE_PERIOD', requestId: 'req_1', keyId: 'key_1', meta: {} });
  expect(await verified([newer])).toMatchObject({ valid: false, code: 'UNKNOWN', receivedCode: 'GRACE_PERIOD' });
});

test.each([
  [undefined, 'Keystile needs an address. Pass { url: "http://127.0.0.1:7878" } or set KEYSTILE_URL.'],
  ['', 'Keystile needs an address. Pass { url: "http://127.0.0.1:7878" } or set KEYSTILE_URL.'],
  ['keystile:7878', 'The url of Keystile must begin with http:// or https://.'],
  ['not a url', 'The url of Keystile must begin with http:// or https://.'],
  [
    'http://admin:secret@host',
    'The url of Keystile must not contain a user name or password. Pass the root key as rootKey.',
  ],
])('the url %p is refused when the client is made', (url, message) => {
  expect(() => new Keystile({ url })).toThrow(message);
});

test.each([
  [{ rootKey: 'root_secretsecret\nroot_secretsecret2' }, 'The root key must be one word.'],
  [{ timeoutMs: Number.NaN }, 'timeoutMs must be a number above 0, got NaN.'],
  [{ totalTimeoutMs: 0 }, 'totalTimeoutMs must be a number above 0, got 0.'],
  [{ retries: -1 }, 'retries must be a whole number from 0 on, got -1.'],
])('options that cannot work are refused when the client is made (%#)', (options, message) => {
  const make = (): Keystile => new Keystile({ url: 'http://127.0.0.1:1', ...options });
  expect(make).toThrow(message);
  expect(make).not.toThrow('secretsecret');
});

test('a TLS connection that breaks after the request was sent may have been carried out, whatever the runtime calls it', async () => {
  const broken = Object.assign(
    new TypeError('peer closed connection without sending TLS close_notify (cert.tls.test)'),
    {
      code: 'ERR_SSL_WRONG_VERSION_NUMBER',
    },
  );
  const keystile = new Keystile({ ...PATIENT, url: 'https://cert.tls.test', fetch: () => Promise.reject(broken) });
  const cause = causeOf(await keystile.verify(KEY));
  expect([cause.code, cause.isCertainlyNotDone]).toEqual(['CONNECTION_LOST', false]);
});

test('what a runtime says of a failure is not repeated: it can contain the root key', async () => {
  const telling = new TypeError(`Headers.append: "Bearer ${ROOT_KEY}" is an invalid header value`);
  const keystile = new Keystile({ ...PATIENT, url: 'http://127.0.0.1:1', fetch: () => Promise.reject(telling) });
  expect(Bun.inspect(causeOf(await keystile.verify(KEY)), { depth: 20 })).not.toContain('secretsecret');
});

test('Retry-After of a refused call is in its error', async () => {
  expect(causeOf(await verified([error(429, 'RATE_LIMITED', { 'retry-after': '3' })])).retryAfterMs).toBe(3000);
});

test('a date in Retry-After is compared to the clock of the server', async () => {
  const headers = { date: 'Thu, 01 Jan 2099 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2099 00:00:05 GMT' };
  expect(causeOf(await verified([error(503, 'UNAVAILABLE', headers)])).retryAfterMs).toBe(5000);
});

test('an AbortSignal ends the call', async () => {
  await using server = await ScriptedServer.start('silence');
  const ending = new AbortController();
  const verifying = new Keystile({ ...PATIENT, url: server.url }).verify(KEY, { signal: ending.signal });
  ending.abort();
  expect(causeOf(await verifying).code).toBe('ABORTED');
});

test.each(['', 'v1/keys.getKey', '.example.com/v1', '@example.com/v1', ':80@example.com'])(
  'the path %p, which could lead to another host, is not called',
  async (path) => {
    const urls: string[] = [];
    const keystile = new Keystile({
      ...PATIENT,
      url: 'http://127.0.0.1',
      fetch: async (url) => {
        urls.push(url);
        return Response.json({});
      },
    });
    const failure = await keystile.call(path, {}).catch((thrown: KeystileError) => thrown);
    expect([(failure as KeystileError).code, urls]).toEqual(['CONFIGURATION', []]);
  },
);

test.each<[string, Record<string, string>]>([
  ['without a length', {}],
  ['whose length says another thing', { 'content-length': '2', 'content-encoding': 'gzip' }],
  ['with a length', { 'content-length': String(200 * 2 ** 20) }],
])('an answer that is too long, %s, is not read to its end', async (_title, headers) => {
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (++pulled === 200) controller.close();
      else controller.enqueue(new Uint8Array(2 ** 20).fill(32));
    },
  });
  const fetch = async () => new Response(endless, { headers });
  const verdict = await new Keystile({ ...PATIENT, timeoutMs: 20_000, url: 'http://127.0.0.1', fetch }).verify(KEY);
  expect([causeOf(verdict).code, pulled < 70]).toEqual(['BAD_RESPONSE', true]);
});

/** Far from the clock of any machine that runs this test. */
const SERVICE_TIME = 'Fri, 01 Jan 2100 00:00:00 GMT';
const RATELIMITS = [
  { name: 'default', limit: 1, remaining: 0, reset: Date.parse(SERVICE_TIME) + 30_000, async: false, exceeded: true },
];
const REFUSED = {
  valid: false,
  code: 'RATE_LIMITED',
  requestId: 'req_1',
  keyId: 'key_1',
  meta: {},
  ratelimits: RATELIMITS,
};
const WAIT = { ratelimit: '"default";r=0;t=30', 'retry-after': '30' };

test('a wait is counted from the time of the service, whatever the clock of this machine says', async () => {
  await using server = await ScriptedServer.start(answer(200, REFUSED, { date: SERVICE_TIME }));
  const verdict = await new Keystile({ url: server.url }).verify('demo_key');
  expect(verdict).toMatchObject({ code: 'RATE_LIMITED', answeredAt: Date.parse(SERVICE_TIME) });
  expect(refusalOf(verdict)?.headers).toMatchObject(WAIT);
});

test('also in a shared call', async () => {
  const together = answer(200, { results: [REFUSED, REFUSED] }, { date: SERVICE_TIME });
  await using server = await ScriptedServer.start(together);
  const keystile = new Keystile({ url: server.url });
  const verdicts = await Promise.all([keystile.verify('demo_key'), keystile.verify('demo_key')]);
  for (const verdict of verdicts) expect(ratelimitHeaders(verdict)).toMatchObject(WAIT);
});

test('an answer without a date is compared with the clock of this machine', async () => {
  const soon = [{ ...RATELIMITS[0], reset: 0 }];
  await using server = await ScriptedServer.start(answer(200, { ...REFUSED, ratelimits: soon }, { date: 'soon' }));
  const verdict = await new Keystile({ url: server.url }).verify('demo_key');
  expect(verdict).not.toHaveProperty('answeredAt');
  expect(ratelimitHeaders(verdict)).toMatchObject({ ratelimit: '"default";r=0;t=0', 'retry-after': '1' });
});

test('the fake tells the time of its own clock', async () => {
  const fake = new FakeKeystile();
  const { key } = await fake.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
  await fake.keystile.verify(key);
  fake.advance(20_000);
  expect(ratelimitHeaders(await fake.keystile.verify(key))).toMatchObject({ 'retry-after': '40' });
});

const SDK = join(import.meta.dir, '../../sdk/src/index.ts');

/** What a program prints as warnings that makes these clients. */
function warnings(clients: readonly object[], environment: Record<string, string> = {}): string[] {
  const program = `import { Keystile } from ${JSON.stringify(SDK)};
    for (const options of ${JSON.stringify(clients)}) new Keystile(options);`;
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, '-e', program], {
    env: { PATH: process.env['PATH'], ...environment },
  });
  expect(exitCode).toBe(0);
  return stderr
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}

const SENT =
  'Keystile: the root key is sent to http://keys.internal:7878 over plain HTTP, and everyone on the way can read it. Use an https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.';
const rootKey = 'root_secretsecret';

test('a root key over plain HTTP to another machine is warned of, once, without the root key', () => {
  const open = { url: 'http://keys.internal:7878', rootKey };
  expect(warnings([open, open, { ...open, url: 'http://10.0.0.1' }])).toEqual([SENT]);
  expect(warnings([{ url: ['https://keys.example.com', 'http://keys.internal:7878/base'], rootKey }])).toEqual([SENT]);
  const environment = { KEYSTILE_URL: 'http://keys.internal:7878', KEYSTILE_ROOT_KEY: rootKey };
  expect(warnings([{}], environment)).toEqual([SENT]);
  expect(warnings([{}], { ...environment, KEYSTILE_NETWORK: 'private' })).toEqual([]);
});

test('what crosses no network in plain text is not warned of', () => {
  const urls = [
    'https://keys.example.com',
    'http://localhost:7878',
    'http://127.0.0.1:7878',
    'http://127.1.2.3',
    'http://[::1]:7878',
  ];
  expect(warnings([...urls.map((url) => ({ url, rootKey })), { url: 'http://keys.internal' }])).toEqual([]);
});
