import { describe, expect, test } from 'bun:test';

import { LOOPBACK, parseBlock } from '../../../src/core/address.ts';
import { AddressLimit, ConnectionLimit, type Memory, MemoryBudget } from '../../../src/http/front/frontLimits.ts';

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

  test('leaves three quarters of the memory to other addresses, and gives back what it took', () => {
    const budget = new MemoryBudget(1000);
    const addresses = new AddressLimit(5, LOOPBACK);
    const memoryOf = (address: string): Memory => {
      const name = addresses.nameOf(address);
      addresses.enter(name);
      return addresses.memoryOf(name, budget);
    };
    const [one, same, other] = [memoryOf('192.0.2.1'), memoryOf('192.0.2.1'), memoryOf('192.0.2.2')];
    expect([one.take(200, 200), same.take(51, 51), same.take(50, 50)]).toEqual([true, false, true]);
    expect([one.take(1, 1), other.take(250, 250), budget.left]).toEqual([false, true, 500]);
    one.giveBack(200);
    expect([same.take(100, 100), budget.left]).toEqual([true, 600]);
    expect(memoryOf('127.0.0.1')).toBe(budget);
  });

  test('does not open the limit of all connections', () => {
    const limit = limitOf(2, { connections: 1, refusals: 1, firstReserved: Infinity });
    expect(Array.from({ length: 3 }, () => limit.enter('192.0.2.1'))).toEqual(['serve', 'refuse', 'drop']);
  });
});
