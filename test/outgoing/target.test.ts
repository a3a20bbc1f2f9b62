import { expect, test } from 'bun:test';

import { parseAddress } from '../../src/core/address.ts';
import { isPublicAddress } from '../../src/outgoing/target.ts';
import { GIVE_UP_AFTER_MS, retryPauseMs } from '../../src/engine/admin/webhooks.ts';

const isPublic = (text: string): boolean => {
  const address = parseAddress(text);
  if (address === null) throw new Error(`${text} is no address`);
  return isPublicAddress(address);
};

const NOT_PUBLIC = `0.0.0.0 10.255.0.1 100.64.0.1 100.100.100.200 127.8.8.8 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255
  192.0.0.192 192.0.2.1 192.168.255.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.9.9.9 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:10.0.0.1 ::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::
  fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 3fff::1
  ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 ::fffe:8.8.8.8 100:0:0:1::1 1fff::1 4000::1 5f00::1 64:ff9b:2::8.8.8.8`;
const PUBLIC = `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
  172.15.255.255 172.32.0.0 192.167.1.1 192.169.0.0 198.17.0.1 198.20.0.0 223.255.255.255 168.63.129.17 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
  2606:4700:4700::1111 2a00:1450:4001:80b::200e 2001:4860:4860::8888 2000::1 3ffe::1`;

test('an address of this machine, of a private network or of a cloud is not public, in whatever form it is written', () => {
  expect(NOT_PUBLIC.split(/\s+/).filter(isPublic)).toEqual([]);
  expect(PUBLIC.split(/\s+/).filter((text) => !isPublic(text))).toEqual([]);
});

test('the pauses between tries double up to hours, each between half of it and all of it, for three days', () => {
  const pauses = Array.from({ length: 40 }, (_, i) => retryPauseMs(i + 1, 1));
  expect(pauses.slice(0, 4)).toEqual([10_000, 20_000, 40_000, 80_000]);
  expect(Math.max(...pauses)).toBe(6 * 3_600_000);
  expect(retryPauseMs(1, 0)).toBe(5_000);
  let atMs = 0;
  let tries = 1;
  for (; atMs < GIVE_UP_AFTER_MS; tries++) atMs += retryPauseMs(tries, 0.5);
  expect(tries).toBeGreaterThan(15);
  expect(tries).toBeLessThan(40);
});
