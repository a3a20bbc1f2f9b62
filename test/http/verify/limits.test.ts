import { beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
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

const ask = (key: string, ...ratelimits: object[]) => service.verify(key, { ratelimits });
const refused = async (key: string, ...ratelimits: object[]): Promise<[number, string]> => {
  const answer = await service.call('/v1/keys.verifyKey', { key, ratelimits }, { rootKey: null });
  return [answer.status, answer.body.error?.message as string];
};

test('an empty list asks for no limit: the verdict of a key without limits shows none', async () => {
  const { key } = await service.createKey();
  expect(await ask(key)).not.toHaveProperty('ratelimits');
  const { key: counted } = await service.createKey({ remaining: 1 });
  expect(await ask(counted)).not.toHaveProperty('ratelimits');
});

describe.each(MODES)('a configured %s limit in a request', (_mode, async) => {
  const configured = { ratelimits: [{ name: 'calls', limit: 5, duration: 60_000, async }] };

  test('its limit alone replaces that part, on the same count', async () => {
    const { key } = await service.createKey(configured);
    expect(await ask(key, { name: 'calls', cost: 3 })).toMatchObject({ ratelimits: [{ limit: 5, remaining: 2 }] });
    expect(await ask(key, { name: 'calls', limit: 3 })).toMatchObject({
      code: 'RATE_LIMITED',
      ratelimits: [{ limit: 3, remaining: 0, exceeded: true }],
    });
    expect(await ask(key, { name: 'calls', limit: 10 })).toMatchObject({ ratelimits: [{ limit: 10, remaining: 6 }] });
    expect(await service.verify(key)).toMatchObject({ ratelimits: [{ limit: 5, remaining: 0 }] });
  });

  test('its duration alone replaces that part, on a count of its own', async () => {
    const { key } = await service.createKey(configured);
    expect(await ask(key, { name: 'calls', cost: 5 })).toMatchObject({ ratelimits: [{ remaining: 0 }] });
    expect(await ask(key, { name: 'calls', duration: 120_000 })).toMatchObject({
      code: 'VALID',
      ratelimits: [{ limit: 5, remaining: 4, async, reset: noonOne + 60_000 }],
    });
    expect(await service.verify(key)).toMatchObject({ code: 'RATE_LIMITED', ratelimits: [{ reset: noonOne }] });
  });

  test('limit and duration together make an ad-hoc one of the same mode', async () => {
    const { key } = await service.createKey({ ...configured, externalId: 'user_1' });
    expect(await ask(key, { name: 'calls', limit: 2, duration: 60_000, cost: 2 })).toMatchObject({
      ratelimits: [{ name: 'calls', limit: 2, remaining: 0, async }],
    });
    expect(await service.verify(key)).toMatchObject({ ratelimits: [{ limit: 5, remaining: 4 }] });
  });

  test('its async may not be set by a request', async () => {
    const { key } = await service.createKey(configured);
    const message = 'The limit "calls" is configured, so a request cannot set its async. Leave async out.';
    expect(await refused(key, { name: 'calls', async })).toEqual([400, message]);
    expect(await refused(key, { name: 'calls', limit: 2, duration: 60_000, async })).toEqual([400, message]);
  });

  test('a limit not named in the request runs with a cost of 1', async () => {
    const { key } = await service.createKey({
      ratelimits: [...configured.ratelimits, { name: 'other', limit: 9, duration: 60_000, async }],
    });
    expect((await ask(key, { name: 'other', cost: 4 })).ratelimits).toMatchObject([
      { name: 'calls', remaining: 4 },
      { name: 'other', remaining: 5 },
    ]);
  });
});

describe.each(MODES)('an ad-hoc %s limit', (_mode, async) => {
  const burst = { name: 'burst', limit: 2, duration: 60_000, async };

  test('is made by its first use and refuses until its window rolls', async () => {
    const { key } = await service.createKey();
    expect(await ask(key, burst)).toMatchObject({
      code: 'VALID',
      ratelimits: [{ name: 'burst', limit: 2, remaining: 1, reset: noonOne, async, exceeded: false }],
    });
    expect(await ask(key, burst)).toMatchObject({ code: 'VALID' });
    expect(await ask(key, burst)).toMatchObject({ code: 'RATE_LIMITED', ratelimit: { remaining: 0, reset: noonOne } });
    await service.restart();
    expect(await ask(key, burst)).toMatchObject({ code: 'RATE_LIMITED' });
    service.clock.set(noonOne);
    expect(await ask(key, burst)).toMatchObject({ code: 'VALID', ratelimits: [{ remaining: 1 }] });
  });

  test('counts for the identity: two keys of one owner share it, a key without one is alone', async () => {
    const apiId = await service.createApi();
    const first = await service.createKey({ apiId, externalId: 'user_1' });
    const second = await service.createKey({ apiId, ownerId: 'user_1' });
    const other = await service.createKey({ apiId });
    expect((await ask(first.key, burst)).code).toBe('VALID');
    expect((await ask(second.key, burst)).code).toBe('VALID');
    expect((await ask(first.key, burst)).code).toBe('RATE_LIMITED');
    expect((await ask(second.key, burst)).code).toBe('RATE_LIMITED');
    expect((await ask(other.key, burst)).code).toBe('VALID');
  });

  test('1,000 parallel verifications under a limit of 50 by two keys of one owner: exactly 50 pass', async () => {
    const apiId = await service.createApi();
    const keys = [
      await service.createKey({ apiId, externalId: 'user_1' }),
      await service.createKey({ apiId, externalId: 'user_1' }),
    ];
    const verdicts = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => ask(keys[i % 2]?.key ?? '', { ...burst, limit: 50 })),
    );
    expect(verdicts.filter(({ valid }) => valid as boolean).length).toBe(50);
  });

  test('an owner has at most 100 live ones; when they have ended there is room again', async () => {
    const { key } = await service.createKey();
    const limits = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ ...burst, name: `n${from + i}` }));
    for (const from of [0, 50]) expect((await ask(key, ...limits(from, 50))).code).toBe('VALID');
    expect((await refused(key, ...limits(100, 1)))[0]).toBe(400);
    expect((await ask(key, ...limits(99, 1))).code).toBe('VALID');
    service.clock.set(noonOne);
    expect((await ask(key, ...limits(100, 1))).code).toBe('VALID');
  });

  test('150 new ones at the same time: 100 are made, 50 are refused', async () => {
    const { key } = await service.createKey();
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, i) =>
        service.call('/v1/keys.verifyKey', { key, ratelimits: [{ ...burst, name: `n${i}` }] }, { rootKey: null }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBe(100);
    expect(answers.filter(({ status }) => status === 400).length).toBe(50);
  });
});

test('an ad-hoc limit is local when nothing is said', async () => {
  const { key } = await service.createKey();
  expect(await ask(key, { name: 'x', limit: 1, duration: 1000 })).toMatchObject({ ratelimits: [{ async: true }] });
});

test.each([
  [
    'an unknown name',
    [{ name: 'nope' }],
    'Neither the key nor its customer has a limit named "nope". To use an ad-hoc limit, send limit and duration with it',
  ],
  [
    'an unknown name with a limit only',
    [{ name: 'nope', limit: 1 }],
    'Neither the key nor its customer has a limit named "nope"',
  ],
  [
    'the default of a key without one',
    [{ name: 'default' }],
    'The key has no ratelimit. To use an ad-hoc limit, send limit and duration',
  ],
  ['a name given twice', [{ name: 'a' }, { name: 'a' }], 'the limit "a" is named twice'],
])('%s is a 400 and takes nothing', async (_name, ratelimits, message) => {
  const { key, keyId } = await service.createKey({ remaining: 5 });
  const [status, text] = await refused(key, ...ratelimits);
  expect(status).toBe(400);
  expect(text).toStartWith(message);
  expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
});

test('the older form ratelimit.cost on a key without a limit is a 400', async () => {
  const { key } = await service.createKey();
  const answer = await service.call('/v1/keys.verifyKey', { key, ratelimit: { cost: 1 } }, { rootKey: null });
  expect([answer.status, answer.body.error.code]).toEqual([400, 'BAD_REQUEST']);
});

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const limited = (async: boolean) => ({ ratelimit: { async, limit: 5, duration: MINUTE_MS } });

test('a clock that was an hour ahead leaves a local window that ends in time, with its count, also after a restart', async () => {
  const { key } = await service.createKey(limited(true));
  await service.verify(key);
  service.clock.advance(HOUR_MS);
  for (let i = 0; i < 2; i++) await service.verify(key);
  await service.engine.memory.localLimits.sync();
  service.clock.advance(-HOUR_MS);
  await service.restart();
  // What the window before the jump had counted was replaced in the file.
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 2, reset: noonOne });
  service.clock.set(noonOne);
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 4, reset: noonOne + MINUTE_MS });
});

test('without a restart it keeps the count of the window before the jump, too', async () => {
  const { key } = await service.createKey(limited(true));
  await service.verify(key);
  service.clock.advance(HOUR_MS);
  for (let i = 0; i < 2; i++) await service.verify(key);
  service.clock.advance(-HOUR_MS);
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 1, reset: noonOne });
});

test('a strict window never moves back: it runs until the time has come to which the clock was set', async () => {
  const { key } = await service.createKey(limited(false));
  await service.verify(key);
  service.clock.advance(HOUR_MS);
  for (let i = 0; i < 2; i++) await service.verify(key);
  service.clock.advance(-HOUR_MS);
  await service.restart();
  expect((await service.verify(key)).ratelimit).toMatchObject({ remaining: 2, reset: noonOne + HOUR_MS });
});

const limitedKey = () => service.createKey({ ratelimit: { limit: 10, duration: 3_600_000, async: true } });

const left = async (key: string): Promise<number> =>
  ((await service.verify(key)) as { ratelimit: { remaining: number } }).ratelimit.remaining;

test('a full disk: local limits are counted on; everything is saved when there is space again', async () => {
  const keys: string[] = [];
  for (let i = 0; i < 300; i++) keys.push((await limitedKey()).key);
  for (const key of keys) expect(await left(key)).toBe(9);
  await service.storage.setMaxPages(1);
  expect(await service.engine.memory.localLimits.sync().catch(String)).toStartWith(
    'StorageUnavailable: Local counts cannot be saved (SQLITE_FULL',
  );
  expect(await left(keys[0] ?? '')).toBe(8);
  await service.storage.setMaxPages(null);
  await service.engine.memory.localLimits.sync();
  await service.restart();
  expect(await left(keys[0] ?? '')).toBe(7);
  for (const key of keys.slice(1)) expect(await left(key)).toBe(8);
});

test('counts that a thread had put together, and not written, are saved again by the next one', async () => {
  const { localCounts, analytics } = service.storage;
  const count = (owner: string) => ({ owner, name: 'a', durationMs: 3_600_000, count: 5, resetAtMs: 1e14 });
  let forgotten = 0;
  localCounts.onForgotten(() => forgotten++);
  await localCounts.sync([count('first')], false);
  using db = new Database(join(service.folder, 'analytics.db'));
  db.run('ALTER TABLE key_verdicts RENAME TO away');
  expect(await analytics.prune('minute', 0).catch(String)).toContain('The analytics cannot be written');
  db.run('ALTER TABLE away RENAME TO key_verdicts');
  await localCounts.sync([count('second')], true);
  expect(forgotten).toBe(1);
});

test('counts that cannot be read are none: the limit counts from nothing', async () => {
  const [{ key }, other] = [await limitedKey(), await limitedKey()];
  expect(await left(key)).toBe(9);
  using db = new Database(join(service.folder, 'analytics.db'));
  db.run('DROP TABLE local_counts');
  expect(await left(key)).toBe(8);
  expect(await left(other.key)).toBe(9);
});

test('counters that were forgotten are looked up anew by every secret of a key: together they keep to its local limit', async () => {
  const own = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  try {
    const ratelimit = { async: true, limit: 2, duration: MINUTE_MS };
    const { key: old, keyId } = await own.createKey({ ratelimit });
    const { key: fresh } = await own.ok('/v1/keys.rotateKey', { keyId, overlapMs: 10 * MINUTE_MS });
    const codes = async (...keys: string[]): Promise<string[]> => {
      const answers: string[] = [];
      for (const key of keys) answers.push((await own.verify(key)).code);
      return answers;
    };
    expect(await codes(old, old, old)).toEqual(['VALID', 'VALID', 'RATE_LIMITED']);
    own.clock.advance(MINUTE_MS);
    await own.engine.memory.localLimits.sync();
    own.engine.memory.localLimits.forgetEnded(own.clock.nowMs(), 1_000);
    expect(own.engine.memory.localLimits.owner(keyId)).toBeUndefined();
    // One secret is seen for the first time, the other was counted under what is forgotten.
    expect(await codes(fresh, old, fresh, old)).toEqual(['VALID', 'VALID', 'RATE_LIMITED', 'RATE_LIMITED']);
  } finally {
    await own.close();
  }
});

test('counters of an identity that were forgotten are looked up anew: a change of the identity does not begin them again', async () => {
  const own = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  try {
    const externalId = 'customer_1';
    const ratelimits = [{ name: 'shared', limit: 2, duration: MINUTE_MS, async: true }];
    const { identityId } = await own.ok('/v1/identities.createIdentity', { externalId, ratelimits });
    const { key } = await own.createKey({ externalId });
    expect((await own.verify(key)).code).toBe('VALID');
    own.clock.advance(MINUTE_MS);
    await own.engine.memory.localLimits.sync();
    own.engine.memory.localLimits.forgetEnded(own.clock.nowMs(), 1_000);
    expect(own.engine.memory.localLimits.owner(identityId)).toBeUndefined();
    expect([(await own.verify(key)).code, (await own.verify(key)).code]).toEqual(['VALID', 'VALID']);
    await own.ok('/v1/identities.updateIdentity', { externalId, name: 'Acme' });
    expect((await own.verify(key)).code).toBe('RATE_LIMITED');
  } finally {
    await own.close();
  }
});
