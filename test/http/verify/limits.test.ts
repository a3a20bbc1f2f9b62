import { beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { windowEnd } from '../../../src/core/calendar.ts';
import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

/** In the middle of a minute: 12:00:30 of a window from 12:00 to 12:01. */
const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });
/** 12:01 of the test's day. */
let noonOne = 0;
beforeEach(() => {
  service = started();
  noonOne = service.clock.nowMs() + 30_000;
});

const MODES = [
  ['local', true],
  ['strict', false],
] as const;

const codesOf = async (key: string, count: number): Promise<string[]> => {
  const codes: string[] = [];
  for (let i = 0; i < count; i++) codes.push((await service.verify(key)).code as string);
  return codes;
};

const validOf = async (key: string, count: number, fields: Record<string, unknown> = {}): Promise<number> => {
  const verdicts = await Promise.all(Array.from({ length: count }, () => service.verify(key, fields)));
  return verdicts.filter(({ valid }) => valid as boolean).length;
};

describe.each(MODES)('a %s limit', (_mode, async) => {
  const minute = (limit: number) => ({ ratelimit: { limit, duration: 60_000, async } });

  test('the request after the limit is refused until the window rolls, at its end exactly', async () => {
    const { key } = await service.createKey(minute(2));
    const limit = { name: 'default', limit: 2, async, reset: noonOne };
    expect(await service.verify(key)).toMatchObject({
      code: 'VALID',
      ratelimit: { limit: 2, remaining: 1, reset: noonOne },
      ratelimits: [{ ...limit, remaining: 1, exceeded: false }],
    });
    expect(await codesOf(key, 1)).toEqual(['VALID']);
    expect(await service.verify(key)).toMatchObject({
      valid: false,
      code: 'RATE_LIMITED',
      ratelimit: { limit: 2, remaining: 0, reset: noonOne },
      ratelimits: [{ ...limit, remaining: 0, exceeded: true }],
    });
    service.clock.set(noonOne - 1);
    expect(await codesOf(key, 1)).toEqual(['RATE_LIMITED']);
    service.clock.set(noonOne);
    expect(await service.verify(key)).toMatchObject({
      code: 'VALID',
      ratelimit: { remaining: 1, reset: noonOne + 60_000 },
    });
  });

  test('windows are aligned to the epoch, whatever the duration', async () => {
    const now = service.clock.nowMs();
    for (const duration of [1000, 7001, 86_400_000, 31_622_400_000]) {
      const { key } = await service.createKey({ ratelimit: { limit: 5, duration, async } });
      const { ratelimit } = await service.verify(key);
      expect(ratelimit.reset).toBe((Math.floor(now / duration) + 1) * duration);
    }
  });

  test('a cost takes that much, more than is left takes nothing, and 0 asks without taking', async () => {
    const { key } = await service.createKey(minute(5));
    const left = async (cost: number) => {
      const { code, ratelimit } = await service.verify(key, { ratelimits: [{ name: 'default', cost }] });
      return [code, ratelimit.remaining];
    };
    expect(await left(3)).toEqual(['VALID', 2]);
    expect(await left(3)).toEqual(['RATE_LIMITED', 2]);
    expect(await left(0)).toEqual(['VALID', 2]);
    expect(await left(2)).toEqual(['VALID', 0]);
    expect(await left(0)).toEqual(['VALID', 0]);
    expect(await left(1)).toEqual(['RATE_LIMITED', 0]);
    expect((await service.verify(key, { ratelimit: { cost: 0 } })).code).toBe('VALID');
  });

  test('a cost of 0 is refused when a lowered limit lies below the count', async () => {
    const { key, keyId } = await service.createKey(minute(5));
    expect(await validOf(key, 4)).toBe(4);
    await service.ok('/v1/keys.updateKey', { keyId, ...minute(3) });
    expect(await service.verify(key, { ratelimit: { cost: 0 } })).toMatchObject({
      code: 'RATE_LIMITED',
      ratelimit: { limit: 3, remaining: 0 },
    });
  });

  test('changing the limit keeps the running count', async () => {
    const { key, keyId } = await service.createKey(minute(2));
    expect(await codesOf(key, 3)).toEqual(['VALID', 'VALID', 'RATE_LIMITED']);
    await service.ok('/v1/keys.updateKey', { keyId, ...minute(3) });
    expect(await codesOf(key, 2)).toEqual(['VALID', 'RATE_LIMITED']);
  });

  test('changing the duration starts a new count', async () => {
    const { key, keyId } = await service.createKey(minute(1));
    expect(await codesOf(key, 2)).toEqual(['VALID', 'RATE_LIMITED']);
    await service.ok('/v1/keys.updateKey', { keyId, ratelimit: { limit: 1, duration: 120_000, async } });
    expect(await service.verify(key)).toMatchObject({
      code: 'VALID',
      ratelimit: { reset: noonOne + 60_000 },
    });
    expect(await codesOf(key, 1)).toEqual(['RATE_LIMITED']);
  });

  test('changing the mode starts a new count; not saying it keeps the mode and the count', async () => {
    const { key, keyId } = await service.createKey(minute(1));
    expect(await codesOf(key, 2)).toEqual(['VALID', 'RATE_LIMITED']);
    await service.ok('/v1/keys.updateKey', { keyId, ratelimit: { limit: 2, duration: 60_000 } });
    expect(await service.verify(key)).toMatchObject({ ratelimits: [{ async, remaining: 0 }] });
    await service.ok('/v1/keys.updateKey', { keyId, ratelimit: { limit: 2, duration: 60_000, async: !async } });
    expect(await service.verify(key)).toMatchObject({ ratelimits: [{ async: !async, remaining: 1 }] });
  });

  test('1,000 parallel verifications under a limit of 50: exactly 50 pass', async () => {
    const { key } = await service.createKey(minute(50));
    expect(await validOf(key, 1000)).toBe(50);
  });

  test('a clean restart does not open the window again', async () => {
    const { key } = await service.createKey(minute(2));
    expect(await codesOf(key, 2)).toEqual(['VALID', 'VALID']);
    await service.restart();
    expect(await codesOf(key, 1)).toEqual(['RATE_LIMITED']);
    service.clock.set(noonOne);
    expect(await codesOf(key, 1)).toEqual(['VALID']);
  });

  test('a clock set back does not open a window again, and a window once rolled is not left', async () => {
    const { key } = await service.createKey(minute(1));
    expect(await codesOf(key, 1)).toEqual(['VALID']);
    service.clock.advance(-3_600_000);
    expect(await codesOf(key, 1)).toEqual(['RATE_LIMITED']);
    service.clock.set(noonOne);
    expect(await codesOf(key, 1)).toEqual(['VALID']);
    service.clock.set(noonOne - 1);
    expect(await codesOf(key, 1)).toEqual(['RATE_LIMITED']);
  });

  test('a clock that jumped ahead and back does not open a window again, though what had ended was removed', async () => {
    const { key } = await service.createKey();
    const adHoc = { ratelimits: [{ name: 'burst', limit: 1, duration: 60_000, async }] };
    expect(await service.verify(key, adHoc)).toMatchObject({ code: 'VALID' });
    await service.engine.memory.localLimits.sync();
    service.clock.advance(3_600_000);
    service.engine.memory.localLimits.forgetEnded(service.clock.nowMs(), 1000);
    await service.storage.ledger.prune();
    service.clock.advance(-3_600_000);
    expect(await service.verify(key, adHoc)).toMatchObject({ code: 'RATE_LIMITED' });
  });
});

test('a limit is local when nothing is said', async () => {
  const { key, keyId } = await service.createKey({ ratelimit: { limit: 5, duration: 60_000 } });
  expect(await service.verify(key)).toMatchObject({ ratelimits: [{ async: true }] });
  expect((await service.ok('/v1/keys.getKey', { keyId })).ratelimit).toEqual({
    async: true,
    limit: 5,
    duration: 60_000,
    refillRate: 5,
    refillInterval: 60_000,
    // A local count is saved some seconds later.
    used: 0,
    reset: windowEnd(service.clock.nowMs(), 60_000),
  });
});

test('getKey shows what was used of each limit of the key, until its window ends', async () => {
  const strict = { limit: 5, duration: 60_000, async: false };
  const { key, keyId } = await service.createKey({ ratelimit: strict, ratelimits: [{ ...strict, name: 'more' }] });
  await service.verify(key);
  await service.verify(key);
  const reset = windowEnd(service.clock.nowMs(), 60_000);
  expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({
    ratelimit: { limit: 5, used: 2, reset },
    ratelimits: [{ name: 'more', limit: 5, used: 2, reset }],
  });
  service.clock.advance(60_000);
  expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({
    ratelimit: { used: 0, reset: reset + 60_000 },
  });
});

test.each([
  ['type fast is local', { type: 'fast', refillRate: 3, refillInterval: 60_000 }, true, 3],
  ['type consistent is strict', { type: 'consistent', refillRate: 3, refillInterval: 60_000 }, false, 3],
  ['async wins over type', { type: 'fast', async: false, limit: 4, duration: 60_000 }, false, 4],
  ['limit wins over refillRate', { limit: 4, refillRate: 3, refillInterval: 60_000 }, true, 4],
  ['duration wins over refillInterval', { limit: 4, duration: 60_000, refillInterval: 1000 }, true, 4],
])('older names of the fields: %s', async (_name, ratelimit, async, limit) => {
  const { keyId } = await service.createKey({ ratelimit });
  expect((await service.ok('/v1/keys.getKey', { keyId })).ratelimit).toMatchObject({ async, limit, duration: 60_000 });
});

test('strict counts survive a crash, local ones as far as they were saved', async () => {
  const { key } = await service.createKey({
    ratelimit: { limit: 3, duration: 60_000, async: false },
    ratelimits: [{ name: 'local', limit: 9, duration: 60_000 }],
  });
  expect(await codesOf(key, 1)).toEqual(['VALID']);
  await service.engine.memory.localLimits.sync();
  expect(await codesOf(key, 1)).toEqual(['VALID']);
  // The files as they lie there while the service runs: what a crash would leave.
  const folder = mkdtempSync(join(tmpdir(), 'keystile-crashed-'));
  cpSync(service.folder, folder, { recursive: true });
  const crashed = await TestService.start({ folder, startsAt: noonOne - 20_000 });
  try {
    expect((await crashed.verify(key)).ratelimits).toMatchObject([
      { name: 'default', remaining: 0, reset: noonOne },
      { name: 'local', remaining: 7, reset: noonOne },
    ]);
    expect(await crashed.verify(key)).toMatchObject({ code: 'RATE_LIMITED' });
  } finally {
    await crashed.close();
    rmSync(folder, { recursive: true });
  }
});
