import { afterAll, beforeAll, describe, expect, test, afterEach } from 'bun:test';

import { hostCheck } from '../../../src/http/request/body.ts';
import { listenMetrics } from '../../../src/serve/listen.ts';
import { exchange } from './connection.ts';
import { request, type Served, serve, verification } from './wire.ts';

const ACCEPTED = [
  'localhost',
  'LocalHost:7878',
  '127.0.0.1',
  '127.0.0.1:80',
  '127.255.3.4:7878',
  '[::1]',
  '[::1]:7878',
];
const PUBLIC = ['keys.example.com', 'KEYS.example.com:8443'];
const REFUSED = [
  'evil.example',
  'evil.example:7878',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'keys.example.com.evil.example',
  'evil-keys.example.com',
  'example.com',
  '0.0.0.0:7878',
  '[::]',
  '128.0.0.1',
  '192.168.0.1',
  '127.1',
  '2130706433',
];

const accepts = (check: (host: string) => void, host: string): boolean => {
  try {
    check(host);
    return true;
  } catch {
    return false;
  }
};

describe.each(['127.0.0.1', '127.0.0.53', '::1', 'localhost'])('on %s', (listensOn) => {
  test('a Host is a name of this machine or that of KEYSTILE_PUBLIC_URL, with any port', () => {
    const check = hostCheck(listensOn, 'https://keys.example.com:8443/base');
    // Twice, because the last one that was accepted is remembered.
    for (const host of [...ACCEPTED, ...PUBLIC, ...ACCEPTED])
      expect([host, accepts(check, host)]).toEqual([host, true]);
    for (const host of [...REFUSED, ...REFUSED]) expect([host, accepts(check, host)]).toEqual([host, false]);
    expect(accepts(hostCheck(listensOn, null), 'keys.example.com')).toBe(false);
    expect(accepts(hostCheck(listensOn, null), '')).toBe(false);
  });
});

test.each(['0.0.0.0', '::', '10.0.0.1', 'keys.internal'])(
  'on %s every valid Host is accepted, as ever',
  (listensOn) => {
    const check = hostCheck(listensOn, 'https://keys.example.com');
    for (const host of [...ACCEPTED, ...PUBLIC, ...REFUSED]) expect([host, accepts(check, host)]).toEqual([host, true]);
    expect(accepts(check, 'a/b')).toBe(false);
  },
);

describe('a service on a loopback address', () => {
  let served: Served;
  let key = '';

  beforeAll(async () => {
    served = await serve({ settings: { KEYSTILE_PUBLIC_URL: 'https://keys.example.com' } });
    ({ key } = await served.service.createKey({ remaining: 1000 }));
  });

  afterAll(() => served.close());

  const ask = (host: string | null, version = '1.1') =>
    exchange(
      served.server.port,
      request(`GET /v1/readiness HTTP/${version}`, [...(host === null ? [] : [`Host: ${host}`]), 'Connection: close']),
    );
  const verify = (host: string) =>
    exchange(
      served.server.port,
      verification(JSON.stringify({ key }), 'Connection: close').replace('Host: localhost', `Host: ${host}`),
    );

  test('a page of another name learns nothing and spends nothing; the refusal names the setting', async () => {
    const remaining = async () => (await served.service.ok('/v1/keys.whoami', { key })).remaining as number;
    const before = await remaining();
    for (const answer of [await ask('evil.example'), await verify('evil.example:7878')]) {
      expect([answer.status, answer.headers['connection']]).toEqual([400, 'close']);
      expect(answer.body).toContain('set KEYSTILE_PUBLIC_URL');
      expect(answer.body).not.toContain('"valid"');
    }
    expect(JSON.parse((await ask('evil.example')).body).error.message).toBe(
      'This service listens on a loopback address, so it must be called as localhost, 127.0.0.1 or [::1], or as keys.example.com, got the Host "evil.example". If clients call it by another name, for example through a proxy on this machine, set KEYSTILE_PUBLIC_URL to the address that they use.',
    );
    expect(await remaining()).toBe(before);
    for (const host of ['localhost', '127.0.0.1:7878', 'keys.example.com']) {
      expect((await ask(host)).status).toBe(200);
      expect((await verify(host)).status).toBe(200);
    }
    expect(await remaining()).toBe(before - 3);
  });

  test('a health check of HTTP/1.0 without Host is answered', async () => {
    expect((await ask(null, '1.0')).status).toBe(200);
  });
});

test('the metrics refuse the same Hosts', async () => {
  const settings = { KEYSTILE_METRICS_PORT: '0', KEYSTILE_PUBLIC_URL: 'https://keys.example.com' };
  const served = await serve({ settings });
  const gauges = () => ({ cluster: null, walBytes: 1, connections: 0, connectionsRefused: 0 });
  const metrics = listenMetrics(served.service.composed.service, gauges);
  const ask = (host: string) =>
    exchange(metrics.port, request('GET /metrics HTTP/1.1', [`Host: ${host}`, 'Connection: close']));
  const refused = await ask('evil.example');
  const told = ['KEYSTILE_PUBLIC_URL', 'keystile_'].map((word) => refused.body.includes(word));
  expect([refused.status, ...told]).toEqual([400, true, false]);
  for (const host of ['localhost:7879', 'keys.example.com']) expect((await ask(host)).status).toBe(200);
  await metrics.stop();
  await served.close();
});

describe('CORS', () => {
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
});
