import { describe, expect, test } from 'bun:test';

import { AddressLimit, ConnectionLimit } from '../../src/http/front/frontLimits.ts';
import {
  fitConnections,
  limitFor,
  parseLimits,
  reportedLimit,
  reservedFiles,
  smallestLimit,
} from '../../src/serve/openFiles.ts';

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             63432                63432                processes
Max open files            3000                 20000                files
Max locked memory         8388608              8388608              bytes
`;

describe('the limit of open files', () => {
  test('is the soft one, as Linux tells it', () => {
    expect(parseLimits(LIMITS)).toBe(3000);
    expect(parseLimits(LIMITS.replace('3000 ', 'unlimited'))).toBe(null);
    expect(parseLimits('')).toBe(null);
  });

  test('is the soft one, as the runtime reports it elsewhere', () => {
    expect(reportedLimit({ userLimits: { open_files: { soft: 2560 } } })).toBe(2560);
    expect(reportedLimit({ userLimits: { open_files: { soft: 'unlimited' } } })).toBe(null);
    expect(reportedLimit({})).toBe(null);
    expect(reportedLimit(undefined)).toBe(null);
  });
});

describe('the connections that fit under it', () => {
  const reserved = reservedFiles(4);

  test('140 files are reserved with the usual pool, and one in twenty of the rest is for refusals', () => {
    expect(reserved).toBe(140);
    expect(fitConnections({ limit: 3000, reserved, connections: 20_000 })).toEqual({
      connections: 2717,
      refusals: 143,
      firstReserved: 2860,
    });
  });

  test('a high limit, an unknown one and none at all leave the setting as it is', () => {
    const bounds = { connections: 20_000, refusals: 1000 };
    expect(fitConnections({ limit: 1_048_576, reserved, connections: 20_000 })).toEqual({
      ...bounds,
      firstReserved: 1_048_436,
    });
    expect(fitConnections({ limit: null, reserved, connections: 20_000 })).toEqual({
      ...bounds,
      firstReserved: Infinity,
    });
  });

  test('the limit that is asked for is the lowest with which the setting is kept', () => {
    for (const connections of [1, 2, 15, 16, 17, 19, 20, 21, 500, 18_999, 19_000, 19_001, 20_000, 1_000_000]) {
      const limit = limitFor(connections, reserved);
      expect(fitConnections({ limit, reserved, connections })?.connections).toBe(connections);
      expect(fitConnections({ limit: limit - 1, reserved, connections })?.connections ?? 0).toBeLessThan(connections);
    }
  });

  test('connections, refusals and the reserve never need more than the limit', () => {
    for (let limit = smallestLimit({ reserved, connections: 20_000 }); limit < 3000; limit++) {
      const bounds = fitConnections({ limit, reserved, connections: 20_000 });
      expect((bounds?.connections ?? NaN) + (bounds?.refusals ?? NaN) + reserved).toBeLessThanOrEqual(limit);
    }
  });

  test('below the lowest limit there is no room; a lower setting needs less', () => {
    expect(smallestLimit({ reserved, connections: 20_000 })).toBe(156);
    expect(fitConnections({ limit: 155, reserved, connections: 20_000 })).toBe(null);
    expect(fitConnections({ limit: 156, reserved, connections: 20_000 })?.connections).toBe(16);
    expect(smallestLimit({ reserved, connections: 1 })).toBe(141);
    expect(fitConnections({ limit: 141, reserved, connections: 1 })?.connections).toBe(1);
  });
});

describe('a connection limit', () => {
  const size = { connections: 3, refusals: 2, firstReserved: 50 };

  test('serves as many as may be, tells some more that there are too many, and drops the rest', () => {
    const limit = new ConnectionLimit(size, new AddressLimit(100, []));
    const enter = (): string => limit.enter(10, 'one');
    expect(Array.from({ length: 7 }, enter)).toEqual(['serve', 'serve', 'serve', 'refuse', 'refuse', 'drop', 'drop']);
    expect(limit.refused).toBe(4);
    for (let i = 0; i < 5; i++) limit.leave('one');
    expect([enter(), enter()]).toEqual(['serve', 'refuse']);
  });

  test('drops a connection whose descriptor is a reserved one, however few connections there are', () => {
    const limit = new ConnectionLimit(size, new AddressLimit(100, []));
    expect([limit.enter(49, null), limit.enter(50, null), limit.enter(51, null)]).toEqual(['serve', 'drop', 'drop']);
    expect(limit.refused).toBe(2);
  });
});
