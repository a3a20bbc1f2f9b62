import { expect, test } from 'bun:test';

import { documented } from '../../tools/gateways/documented.ts';
import { readOptions as readGatewayOptions } from '../../tools/gateways/options.ts';
import { readOptions as readFuzzOptions } from '../../tools/fuzz/options.ts';

test('the gateways run the configuration of docs/http.md, with other ports', () => {
  const nginx = documented('http.md', 'nginx', [
    ['server 127.0.0.1:7878 ', 'server 127.0.0.1:1 '],
    ['listen 80;', 'listen 127.0.0.1:2;'],
  ]);
  expect(nginx.split('\n')).toContain('  server 127.0.0.1:1 fail_timeout=1s;');
  expect(nginx.split('\n')).toContain('  listen 127.0.0.1:2;');
  expect(documented('http.md', 'haproxy', [['bind :80', 'bind :1']]).split('\n')).toContain('  bind :1');
});

test('forward authentication runs the configurations of docs/gateways.md', () => {
  for (const [language, line] of [
    ['nginx', 'auth_request /_keystile;'],
    ['haproxy', 'http-request lua.keystile permission=orders.read&cost=2'],
    ['lua', 'timeout = 2000,'],
    ['caddyfile', 'uri /v1/keys.forwardAuth?permission=orders.read&cost=2'],
  ] as const) {
    expect(documented('gateways.md', language, [[line, 'replaced']])).toContain('replaced');
  }
});

test('a replacement of a line that is not on the page fails', () => {
  expect(() => documented('http.md', 'nginx', [['listen 81;', '']])).toThrow(
    'the nginx block must contain "listen 81;" once',
  );
});

test('an error shows the wrong argument and its value', () => {
  expect(() => readGatewayOptions(['--gateway', 'other'])).toThrow(
    '--gateway must be one of nginx, haproxy, caddy, pgbouncer, got "other".',
  );
  expect(() => readFuzzOptions(['--minutes', 'x'])).toThrow('--minutes must be a number from 0 to 1440, got "x".');
  expect(() => readFuzzOptions(['--hours', '1'])).toThrow('--hours');
  expect(readFuzzOptions(['--minutes', '0.5', '--seed', '7'])).toEqual({ isHelp: false, minutes: 0.5, seed: 7 });
  expect(readGatewayOptions(['--gateway', 'caddy'])).toEqual({ isHelp: false, gateways: ['caddy'] });
  expect(readGatewayOptions([])).toEqual({ isHelp: false, gateways: ['nginx', 'haproxy', 'caddy', 'pgbouncer'] });
});
