import { afterEach, expect, test } from 'bun:test';

import { serve, type Served } from './wire.ts';

let served: Served;

afterEach(() => served.close());

async function start(origins: string | null): Promise<{ key: string; keyId: string }> {
  served = await serve({ settings: origins === null ? {} : { KEYSTILE_CORS_ORIGINS: origins } });
  return served.service.createKey();
}

const send = (path: string, origin: string | null, body: object, method = 'POST') =>
  fetch(`http://127.0.0.1:${served.server.port}${path}`, {
    method,
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${served.service.rootKey}`,
      ...(origin === null ? {} : { origin }),
    },
  });

const corsOf = ({ headers }: Response): [string, string][] =>
  [...headers]

    .filter(([header]) => header.startsWith('access-control') || header === 'vary')
    .sort(([a], [b]) => (a < b ? -1 : 1));

const APP = 'https://app.example.com';
const EXPOSED = 'Date, Keystile-Request-Id, Keystile-Replayed, RateLimit, RateLimit-Policy, Retry-After';
const PATHS = ['/v1/keys.verifyKey', '//v1/keys.verifyKey', '/v1/keys.getKey', '/v1/nowhere'];

test('off unless configured: no answer names an origin', async () => {
  const { key, keyId } = await start(null);
  for (const path of PATHS) {
    for (const method of ['POST', 'OPTIONS']) {
      expect(corsOf(await send(path, APP, { key, keyId }, method))).toEqual([]);
    }
  }
});

test('a permitted origin may read every answer, verdicts and errors alike', async () => {
  const { key, keyId } = await start(`${APP},https://other.example.com`);
  for (const path of PATHS) {
    for (const body of [{ key }, { keyId }]) {
      expect(corsOf(await send(path, APP, body))).toEqual([
        ['access-control-allow-origin', APP],
        ['access-control-expose-headers', EXPOSED],
        ['vary', 'Origin'],
      ]);
    }
  }
});

test('another origin may not, and a request without one is answered as ever', async () => {
  const { key } = await start(APP);
  for (const origin of ['https://evil.example.com', 'http://app.example.com', `${APP}.evil.com`, 'null']) {
    expect(corsOf(await send('/v1/keys.verifyKey', origin, { key }))).toEqual([['vary', 'Origin']]);
  }
  expect(corsOf(await send('/v1/keys.verifyKey', null, { key })).filter(([header]) => header !== 'vary')).toEqual([]);
});

test('* lets every origin read, and never with credentials', async () => {
  const { key } = await start('*');
  const cors = corsOf(await send('/v1/keys.verifyKey', 'https://any.example.com', { key }));
  expect(cors).toContainEqual(['access-control-allow-origin', '*']);
  expect(cors.map(([header]) => header)).not.toContain('access-control-allow-credentials');
});

test('a preflight is answered with what a page may send', async () => {
  await start(APP);
  for (const path of ['/v1/keys.verifyKey', '/v1/keys.createKey', '/v1/keys.getKey']) {
    const response = await send(path, APP, {}, 'OPTIONS');
    expect(response.status).toBe(204);
    expect(corsOf(response)).toEqual([
      ['access-control-allow-headers', 'Authorization, Content-Type, Idempotency-Key'],
      ['access-control-allow-methods', 'GET, POST'],
      ['access-control-allow-origin', APP],
      ['access-control-expose-headers', EXPOSED],
      ['access-control-max-age', '600'],
      ['vary', 'Origin'],
    ]);
  }
  expect(corsOf(await send('/v1/keys.verifyKey', 'https://evil.example.com', {}, 'OPTIONS'))).toEqual([
    ['vary', 'Origin'],
  ]);
});
