import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { inBlock, parseAddress, parseBlock } from '../../src/core/address.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

const hex = (text: string) => parseAddress(text)?.toHex() ?? null;

function isIn(address: string, block: string): boolean {
  const [parsedAddress, parsedBlock] = [parseAddress(address), parseBlock(block)];
  if (parsedAddress === null || parsedBlock === null) throw new Error(`${address} or ${block} cannot be read`);
  return inBlock(parsedAddress, parsedBlock);
}

describe('addresses', () => {
  test.each([
    ['0.0.0.0', '00000000000000000000ffff00000000'],
    ['192.168.1.255', '00000000000000000000ffffc0a801ff'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['1::', '00010000000000000000000000000000'],
    ['2001:db8::8:800:200c:417a', '20010db80000000000080800200c417a'],
    ['2001:0DB8:0000:0000:0008:0800:200C:417A', '20010db80000000000080800200c417a'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
    ['::2:3:4:5:6:7:8', '00000002000300040005000600070008'],
    ['::ffff:192.168.1.255', '00000000000000000000ffffc0a801ff'],
    ['::ffff:c0a8:1ff', '00000000000000000000ffffc0a801ff'],
    ['64:ff9b::10.0.0.1', '0064ff9b00000000000000000a000001'],
    ['1:2:3:4:5:6:1.2.3.4', '00010002000300040005000601020304'],
  ])('%s is read', (text, expected) => {
    expect(hex(text)).toBe(expected);
  });

  test.each(
    [
      '',
      ' ',
      '1.2.3',
      '1.2.3.4.5',
      '1.2.3.256',
      '1.2.3.-1',
      '01.2.3.4',
      '1.2.3.04',
      '0x7f.0.0.1',
      '2130706433',
      '127.1',
      '1.2.3.4 ',
      ' 1.2.3.4',
      '1.2.3.4\n',
      '1.2.3.4:80',
      '１.2.3.4',
      ':',
      ':::',
      '1',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1:2:3:4:5:6:7:8::',
      '::1:2:3:4:5:6:7:8',
      '1::2::3',
      ':1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:',
      '12345::',
      'g::',
      '::1%eth0',
      '[::1]',
      '::1.2.3',
      '::1.2.3.256',
      '::1.2.3.4:5',
      '1.2.3.4::',
      '1.2.3.4::1',
      '1:2:3:4:5:6:7:1.2.3.4',
      'localhost',
    ].map((text) => [text]),
  )('%j is no address', (text) => {
    expect(parseAddress(text)).toBeNull();
  });

  test('both ways of writing an IPv4 address are the same address', () => {
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        expect(hex(`::ffff:${text}`)).toBe(hex(text));
      }),
      { seed, numRuns: 200 },
    );
  });

  test('every way of writing an IPv6 address is the same address', () => {
    const group = fc.oneof(fc.constant(0), fc.nat({ max: 0xffff }));
    const groups = fc.array(group, { minLength: 8, maxLength: 8 });
    const form = fc.record({
      from: fc.nat({ max: 7 }),
      isPadded: fc.boolean(),
      isUpper: fc.boolean(),
      isDotted: fc.boolean(),
    });
    fc.assert(
      fc.property(groups, form, (drawn, { from, isPadded, isUpper, isDotted }) => {
        const parts = drawn.map((each) => each.toString(16).padStart(isPadded ? 4 : 1, '0'));
        const [high = 0, low = 0] = drawn.slice(6);
        if (isDotted) parts.splice(6, 2, [high >> 8, high & 255, low >> 8, low & 255].join('.'));
        // The run of zero groups that begins at `from`, if there is one, may be left out.
        let zeros = 0;
        while (from + zeros < (isDotted ? 6 : 8) && drawn[from + zeros] === 0) zeros++;
        const full = parts.join(':');
        const text = zeros === 0 ? full : `${parts.slice(0, from).join(':')}::${parts.slice(from + zeros).join(':')}`;
        const expected = drawn.map((each) => each.toString(16).padStart(4, '0')).join('');
        expect(hex(isUpper ? text.toUpperCase() : text)).toBe(expected);
      }),
      { seed, numRuns: 1000 },
    );
  });
});

describe('blocks', () => {
  test.each([
    ['10.0.0.0', '10.0.0.0/8', true],
    ['10.255.255.255', '10.0.0.0/8', true],
    ['11.0.0.0', '10.0.0.0/8', false],
    ['9.255.255.255', '10.0.0.0/8', false],
    ['10.1.2.3', '10.9.9.9/8', true],
    ['172.31.255.255', '172.16.0.0/12', true],
    ['172.32.0.0', '172.16.0.0/12', false],
    ['192.168.1.127', '192.168.1.0/25', true],
    ['192.168.1.128', '192.168.1.0/25', false],
    ['1.2.3.4', '1.2.3.4/32', true],
    ['1.2.3.5', '1.2.3.4/32', false],
    ['1.2.3.4', '1.2.3.5/31', true],
    ['1.2.3.4', '1.2.3.4', true],
    ['1.2.3.5', '1.2.3.4', false],
    ['255.255.255.255', '0.0.0.0/0', true],
    ['2001:db8::1', '0.0.0.0/0', false],
    ['::', '0.0.0.0/0', false],
    ['2001:db8::1', '::/0', true],
    ['1.2.3.4', '::/0', true],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['11.1.2.3', '::ffff:10.0.0.0/104', false],
    ['::a01:203', '10.0.0.0/8', false],
    ['2001:db8:ffff::', '2001:db8::/32', true],
    ['2001:db9::', '2001:db8::/32', false],
    ['2001:db8::1', '2001:db8::/127', true],
    ['2001:db8::2', '2001:db8::/127', false],
    ['::1', '::1/128', true],
    ['::2', '::1/128', false],
  ])('%s in %s: %p', (address, block, expected) => {
    expect(isIn(address, block)).toBe(expected);
  });

  test.each(
    [
      '1.2.3.4/33',
      '1.2.3.4/-1',
      '1.2.3.4/',
      '/8',
      '1.2.3.4/08',
      '1.2.3.4/+8',
      '1.2.3.4/8.0',
      '1.2.3.4/ 8',
      '1.2.3.4/8/8',
      '1.2.3.4/255.0.0.0',
      '1.2.3/8',
      '::/129',
      '::/1000',
      '::1/1e1',
      '10.0.0.0-10.0.0.9',
      '*',
    ].map((text) => [text]),
  )('%j is no block', (text) => {
    expect(parseBlock(text)).toBeNull();
  });

  test('a block of n bits holds an address exactly when their first n bits are the same', () => {
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(bytes, fc.nat({ max: 128 }), fc.nat({ max: 127 }), (block, bits, flipped) => {
        const address = Uint8Array.from(block);
        address[flipped >> 3] = (address[flipped >> 3] ?? 0) ^ (0x80 >> (flipped & 7));
        expect(inBlock(block, { address: block, bits })).toBe(true);
        expect(inBlock(address, { address: block, bits })).toBe(flipped >= bits);
      }),
      { seed, numRuns: 500 },
    );
  });
});
