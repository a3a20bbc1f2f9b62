import { describe, expect, test } from 'bun:test';

import { parseAddress, parseBlock } from '../../src/core/address.ts';
import { callerAddress, RequestIds } from '../../src/http/service.ts';
import type { System } from '../../src/engine/platform.ts';

const trusted = ['10.0.0.0/8', '::1'].map((text) => {
  const block = parseBlock(text);
  if (block === null) throw new Error(text);
  return block;
});

const caller = (peer: string | null, forwardedFor: string | null) =>
  callerAddress(peer, forwardedFor, trusted)?.toHex() ?? null;
const hex = (text: string) => parseAddress(text)?.toHex() ?? '';

describe('callerAddress', () => {
  test('without a trusted peer the header is not looked at, whatever it says', () => {
    for (const forged of ['1.1.1.1', '10.0.0.1', '10.0.0.1, 127.0.0.1', 'nonsense', '']) {
      expect(caller('203.0.113.7', forged)).toBe(hex('203.0.113.7'));
      expect(callerAddress('10.0.0.1', forged, [])?.toHex()).toBe(hex('10.0.0.1'));
    }
  });

  test('behind trusted proxies it is the rightmost address that is none of them: what stands left of it is a claim', () => {
    expect(caller('10.0.0.1', '198.51.100.9')).toBe(hex('198.51.100.9'));
    expect(caller('10.0.0.1', '1.1.1.1, 198.51.100.9')).toBe(hex('198.51.100.9'));
    expect(caller('10.0.0.1', '1.1.1.1,198.51.100.9 , 10.2.3.4')).toBe(hex('198.51.100.9'));
    expect(caller('10.0.0.1', '10.9.9.9, 198.51.100.9, 10.2.3.4, 10.2.3.5')).toBe(hex('198.51.100.9'));
    expect(caller('::1', '2001:db8::5')).toBe(hex('2001:db8::5'));
  });

  test('a peer and a hop in the mapped form are the same addresses', () => {
    expect(caller('::ffff:10.0.0.1', '198.51.100.9, ::ffff:10.2.3.4')).toBe(hex('198.51.100.9'));
    expect(caller('::ffff:203.0.113.7', '1.1.1.1')).toBe(hex('203.0.113.7'));
  });

  test('when every hop is trusted, or there is no header, it is the peer', () => {
    expect(caller('10.0.0.1', '10.0.0.3, 10.0.0.2')).toBe(hex('10.0.0.1'));
    expect(caller('10.0.0.1', null)).toBe(hex('10.0.0.1'));
  });

  test('an entry that is no address makes the caller unknown: nothing further left is believed', () => {
    for (const broken of ['1.1.1.1, unknown', '1.1.1.1, ', '1.1.1.1, 198.51.100.9:1234', '1.1.1.1,,10.0.0.2', '']) {
      expect(caller('10.0.0.1', broken)).toBeNull();
    }
    expect(caller('10.0.0.1', 'unknown, 198.51.100.9')).toBe(hex('198.51.100.9'));
  });

  test('a peer that is unknown stays unknown', () => {
    expect(caller(null, '198.51.100.9')).toBeNull();
    expect(caller('no address', '198.51.100.9')).toBeNull();
  });
});

/** Characters of the counter: four in the service, which would be 11 million ids behind one random part. */
const WIDTH = 2;

test('request ids ascend, each is there once, and when all behind one random part are used there is another', () => {
  let bases = 0;
  const system = { nowMs: () => 1_000, randomBytes: (length: number) => new Uint8Array(length).fill(++bases) };
  const ids = new RequestIds(system as unknown as System, WIDTH);
  let last = ids.next();
  const { length } = last;
  let isAscending = true;
  for (let i = 1; i < 58 ** WIDTH; i++) {
    const next = ids.next();
    isAscending &&= next > last && next.length === length;
    last = next;
  }
  expect(isAscending).toBe(true);
  expect(bases).toBe(1);
  const next = ids.next();
  expect(bases).toBe(2);
  expect(next.slice(0, -WIDTH)).not.toBe(last.slice(0, -WIDTH));
  expect(next.length).toBe(length);
});
