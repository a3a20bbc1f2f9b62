import { expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

const CERTIFICATE = { KEYSTILE_TLS_CERT: '/cert.pem', KEYSTILE_TLS_KEY: '/key.pem' };
const HEADER = 'max-age=31536000';

test.each<[string, Record<string, string>, string | null]>([
  ['behind a proxy that ends TLS', { KEYSTILE_PUBLIC_URL: 'https://keys.example.com' }, HEADER],
  ['with a certificate', { KEYSTILE_HOST: '0.0.0.0', ...CERTIFICATE }, HEADER],
  ['with a certificate and a public name', { ...CERTIFICATE, KEYSTILE_PUBLIC_URL: 'https://keys.example.com' }, HEADER],
  ['over plain HTTP', { KEYSTILE_PUBLIC_URL: 'http://keys.example.com' }, null],
  ['on this machine, with a certificate', CERTIFICATE, null],
  ['as localhost', { KEYSTILE_PUBLIC_URL: 'https://localhost:8443' }, null],
  ['where it is off', { KEYSTILE_PUBLIC_URL: 'https://keys.example.com', KEYSTILE_HSTS: 'off' }, null],
])('browsers are told to use HTTPS only, or not: %s', async (_where, settings, expected) => {
  const service = await TestService.start({ settings });
  for (const path of ['/dashboard', '/portal', '/docs', '/v1/liveness', '/v1/unknown', '/v1/apis.listApis']) {
    const answer = await service.call(path, undefined, { method: 'GET', headers: { host: 'keys.example.com' } });
    expect([path, answer.headers.get('strict-transport-security')]).toEqual([path, expected]);
  }
  await service.close();
});

test('a service on all addresses tells it to nobody who calls it by a name of this machine', async () => {
  const service = await TestService.start({ settings: { KEYSTILE_HOST: '0.0.0.0', ...CERTIFICATE } });
  for (const [host, expected] of [
    ['localhost:7878', null],
    ['127.0.0.1', null],
    ['[::1]:7878', null],
    ['keys.internal:7878', HEADER],
  ] as const) {
    const answer = await service.call('/dashboard', undefined, { method: 'GET', headers: { host } });
    expect([host, answer.headers.get('strict-transport-security')]).toEqual([host, expected]);
  }
  await service.close();
});
