import { describe, expect, test } from 'bun:test';

import { LOOPBACK, parseBlock } from '../../../src/core/address.ts';
import { AddressLimit } from '../../../src/http/front/addressLimit.ts';
import { ConnectionLimit } from '../../../src/http/front/connectionLimit.ts';

const PROXY = ['10.0.0.0/8'].flatMap((text) => parseBlock(text) ?? []);
const SIZE = { connections: 100, refusals: 5, firstReserved: Infinity };

function limitOf(max: number, size = SIZE): { enter(address: string): string; leave(address: string): void } {
  const limit = new ConnectionLimit(size, new AddressLimit(max, [...LOOPBACK, ...PROXY]));
  return {
    enter: (address) => limit.enter(10, limit.nameOf(address)),
    leave: (address) => limit.leave(limit.nameOf(address)),
  };
}

describe('the limit of connections of one address', () => {
  test('refuses a connection too many, drops very many, and leaves other addresses alone', () => {
    const limit = limitOf(2);
    const many = Array.from({ length: 19 }, () => limit.enter('192.0.2.1'));
    expect(many).toEqual(['serve', 'serve', ...Array.from({ length: 16 }, () => 'refuseAddress'), 'drop']);
    expect(limit.enter('192.0.2.2')).toBe('serve');
    for (let i = 0; i < 18; i++) limit.leave('192.0.2.1');
    expect([limit.enter('192.0.2.1'), limit.enter('192.0.2.1')]).toEqual(['serve', 'refuseAddress']);
  });

  test('counts a /64 block of IPv6 as one address, and an IPv4 address in both of its forms', () => {
    const limit = limitOf(1);
    expect([limit.enter('2001:db8::1'), limit.enter('2001:db8::2:1')]).toEqual(['serve', 'refuseAddress']);
    expect(limit.enter('2001:db8:0:1::1')).toBe('serve');
    expect([limit.enter('192.0.2.1'), limit.enter('::ffff:192.0.2.1')]).toEqual(['serve', 'refuseAddress']);
    expect(limit.enter('192.0.2.2')).toBe('serve');
  });

  test('leaves this machine and trusted proxies alone', () => {
    const limit = limitOf(1);
    for (const address of ['127.0.0.1', '::1', '10.1.2.3', '::ffff:10.1.2.3'])
      expect([limit.enter(address), limit.enter(address), limit.enter(address)]).toEqual(['serve', 'serve', 'serve']);
  });

  test('does not open the limit of all connections', () => {
    const limit = limitOf(2, { connections: 1, refusals: 1, firstReserved: Infinity });
    expect(Array.from({ length: 3 }, () => limit.enter('192.0.2.1'))).toEqual(['serve', 'refuse', 'drop']);
  });
});
