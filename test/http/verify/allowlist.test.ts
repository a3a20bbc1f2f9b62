import { beforeEach, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService({ settings: { KEYSTILE_TRUSTED_PROXIES: '198.51.100.0/24' } });
beforeEach(() => {
  service = started();
});

const limitedTo = async (...ipAllowlist: string[]): Promise<string> => (await service.createKey({ ipAllowlist })).key;

const codeOf = async (key: string, fields: Record<string, unknown>, peer?: string, forwarded?: string) => {
  const options = {
    ...(peer === undefined ? {} : { peer }),
    ...(forwarded === undefined ? {} : { headers: { 'x-forwarded-for': forwarded } }),
  };
  return (await service.verify(key, fields, options)).code as string;
};

test.each([
  ['10.1.2.3', 'VALID'],
  ['11.0.0.1', 'FORBIDDEN'],
  ['192.0.2.1', 'VALID'],
  ['192.0.2.2', 'FORBIDDEN'],
  ['::ffff:10.1.2.3', 'VALID'],
  ['2001:db8::1', 'VALID'],
  ['2001:0db8:ffff::1', 'VALID'],
  ['2001:db9::1', 'FORBIDDEN'],
])('clientIp %s is held against the list: %s', async (clientIp, code) => {
  const key = await limitedTo('10.0.0.0/8', '192.0.2.1', '2001:db8::/32');
  expect(await codeOf(key, { clientIp })).toBe(code);
});

test('without clientIp the peer counts, and clientIp wins over it', async () => {
  const key = await limitedTo('10.0.0.0/8');
  expect(await codeOf(key, {}, '10.9.9.9')).toBe('VALID');
  expect(await codeOf(key, {}, '203.0.113.7')).toBe('FORBIDDEN');
  expect(await codeOf(key, { clientIp: '10.9.9.9' }, '203.0.113.7')).toBe('VALID');
  expect(await codeOf(key, { clientIp: '203.0.113.7' }, '10.9.9.9')).toBe('FORBIDDEN');
});

test('a forwarding header from a peer that is no trusted proxy is not looked at', async () => {
  const key = await limitedTo('10.0.0.0/8');
  expect(await codeOf(key, {}, '203.0.113.7', '10.9.9.9')).toBe('FORBIDDEN');
});

test.each([
  ['the address that the proxy names', '10.9.9.9', 'VALID'],
  ['the last one that is no proxy', '10.9.9.9, 198.51.100.4', 'VALID'],
  ['not one that the client put in front', '10.9.9.9, 203.0.113.99', 'FORBIDDEN'],
  ['nothing behind text that is no address', '10.9.9.9, unknown', 'FORBIDDEN'],
  ['the proxy itself when there are only proxies', '198.51.100.4', 'FORBIDDEN'],
])('behind a trusted proxy: %s (%s)', async (_name, forwarded, code) => {
  const key = await limitedTo('10.0.0.0/8');
  expect(await codeOf(key, {}, '198.51.100.1', forwarded)).toBe(code);
});

test('without trusted proxies the header of no peer is looked at', async () => {
  service = await TestService.start();
  const key = await limitedTo('10.0.0.0/8');
  for (const peer of ['203.0.113.7', '198.51.100.1', '127.0.0.1']) {
    expect(await codeOf(key, {}, peer, '10.9.9.9')).toBe('FORBIDDEN');
  }
  await service.close();
});

test('a trusted proxy that sends no header is the caller', async () => {
  const key = await limitedTo('198.51.100.1');
  expect(await codeOf(key, {}, '198.51.100.1')).toBe('VALID');
});

test.each([['localhost'], ['10.0.0.0/8'], ['1.2.3'], ['fe80::1%eth0'], ['']])(
  'clientIp %p is a 400, not a verdict',
  async (clientIp) => {
    const key = await limitedTo('10.0.0.0/8');
    const answer = await service.call('/v1/keys.verifyKey', { key, clientIp }, { rootKey: null });
    expect([answer.status, answer.body.error.code]).toEqual([400, 'BAD_REQUEST']);
  },
);

test('clearing the list opens the key again', async () => {
  const key = await limitedTo('10.0.0.0/8');
  const { keyId } = await service.verify(key);
  await service.ok('/v1/keys.updateKey', { keyId, ipAllowlist: null });
  expect(await codeOf(key, {})).toBe('VALID');
});
