import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:30Z' });
/** 12:01 of the test's day. */
let noonOne = 0;
beforeEach(() => {
  service = started();
  // A test that failed may have left its own.
  Reflect.deleteProperty(service.storage.ledger, 'spend');
  noonOne = service.clock.nowMs() + 30_000;
});

const local = (limit: number) => ({ name: 'local', limit, duration: 60_000, async: true });
const strict = (limit: number) => ({ name: 'strict', limit, duration: 60_000, async: false });

/** What is left of everything, asked without taking. */
async function standing(key: string, names: readonly string[] = ['local', 'strict']): Promise<Record<string, number>> {
  const { remaining, ratelimits } = (await service.verify(key, {
    remaining: { cost: 0 },
    ratelimits: names.map((name) => ({ name, cost: 0 })),
  })) as { remaining: number; ratelimits: { name: string; remaining: number }[] };
  return { credits: remaining, ...Object.fromEntries(ratelimits.map(({ name, remaining: left }) => [name, left])) };
}

describe('several limits and credits are taken together or not at all', () => {
  test('a verification that passes takes one of each', async () => {
    const { key } = await service.createKey({ remaining: 9, ratelimits: [local(9), strict(9)] });
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 8 });
    expect(await standing(key)).toEqual({ credits: 8, local: 8, strict: 8 });
  });

  test('a refused strict limit gives back the local hold and takes no credit', async () => {
    const { key } = await service.createKey({ remaining: 9, ratelimits: [local(9), strict(1)] });
    await service.verify(key);
    const refused = await service.verify(key);
    expect(refused).toMatchObject({
      code: 'RATE_LIMITED',
      remaining: 8,
      ratelimit: { limit: 1, remaining: 0, reset: noonOne },
      ratelimits: [
        { name: 'local', remaining: 8, exceeded: false },
        { name: 'strict', remaining: 0, exceeded: true },
      ],
    });
    expect(await standing(key)).toEqual({ credits: 8, local: 8, strict: 0 });
  });

  test('a refused local limit takes neither the strict one nor a credit', async () => {
    const { key } = await service.createKey({ remaining: 9, ratelimits: [local(1), strict(9)] });
    await service.verify(key);
    expect(await service.verify(key)).toMatchObject({ code: 'RATE_LIMITED', ratelimit: { limit: 1 }, remaining: 8 });
    expect(await standing(key)).toEqual({ credits: 8, local: 0, strict: 8 });
  });

  test('refused credits take no limit', async () => {
    const { key } = await service.createKey({ remaining: 1, ratelimits: [local(9), strict(9)] });
    await service.verify(key);
    expect(await service.verify(key)).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
    expect(await standing(key)).toEqual({ credits: 0, local: 8, strict: 8 });
  });

  test('a limit is named before the credits when both would refuse', async () => {
    const { key } = await service.createKey({ remaining: 0, ratelimits: [strict(1)] });
    const cost = { ratelimits: [{ name: 'strict', cost: 2 }] };
    expect(await service.verify(key, cost)).toMatchObject({ code: 'RATE_LIMITED', remaining: 0 });
  });

  test('of two limits of one kind the second refuses and the first keeps its count', async () => {
    for (const async of [true, false]) {
      const { key } = await service.createKey({
        ratelimits: [
          { name: 'wide', limit: 9, duration: 3_600_000, async },
          { name: 'narrow', limit: 1, duration: 60_000, async },
        ],
      });
      await service.verify(key);
      const verdict = await service.verify(key);
      expect(verdict).toMatchObject({ code: 'RATE_LIMITED', ratelimit: { limit: 1 } });
      expect(verdict.ratelimits).toMatchObject([{ name: 'wide', remaining: 8 }, { name: 'narrow' }]);
    }
  });

  test('1,000 in parallel against a local limit of 300, a strict one of 200 and 100 credits: 100 of each are gone', async () => {
    const { key } = await service.createKey({ remaining: 100, ratelimits: [local(300), strict(200)] });
    const verdicts = await Promise.all(Array.from({ length: 1000 }, () => service.verify(key)));
    expect(verdicts.filter(({ valid }) => valid as boolean).length).toBe(100);
    expect(await standing(key)).toEqual({ credits: 0, local: 200, strict: 100 });
  });

  test('1,000 in parallel against 50 local beside many credits: exactly 50 pass and 50 credits are gone', async () => {
    const { key } = await service.createKey({ remaining: 1000, ratelimits: [local(50), strict(500)] });
    const verdicts = await Promise.all(Array.from({ length: 1000 }, () => service.verify(key)));
    expect(verdicts.filter(({ valid }) => valid as boolean).length).toBe(50);
    expect(await standing(key)).toEqual({ credits: 950, local: 0, strict: 450 });
  });

  test('the limit named default is shown when none refused, else the one that did', async () => {
    const { key } = await service.createKey({
      ratelimit: { limit: 7, duration: 60_000 },
      ratelimits: [{ name: 'narrow', limit: 1, duration: 60_000 }],
    });
    expect((await service.verify(key)).ratelimit).toEqual({ limit: 7, remaining: 6, reset: noonOne });
    expect((await service.verify(key)).ratelimit).toEqual({ limit: 1, remaining: 0, reset: noonOne });
  });
});

describe('headers of a limited key', () => {
  const call = (key: string, fields: object = {}) =>
    service.call('/v1/keys.verifyKey', { key, ...fields }, { rootKey: null });
  const shown = ({ headers }: { headers: Headers }) =>
    ['ratelimit-policy', 'ratelimit', 'retry-after'].map((name) => headers.get(name));

  test.each([[true], [false]])('say what is granted, what is left and when to come back (async %p)', async (async) => {
    const { key } = await service.createKey({ ratelimit: { limit: 2, duration: 60_000, async } });
    expect(shown(await call(key))).toEqual(['"default";q=2;w=60', '"default";r=1;t=30', null]);
    await call(key);
    service.clock.set(noonOne - 1001);
    expect(shown(await call(key))).toEqual(['"default";q=2;w=60', '"default";r=0;t=2', '2']);
    service.clock.set(noonOne - 1);
    expect(shown(await call(key))).toEqual(['"default";q=2;w=60', '"default";r=0;t=1', '1']);
  });

  test('name every limit, at most eight, the one that refused first', async () => {
    const others = Array.from({ length: 9 }, (_, i) => ({ name: `n${i}`, limit: i + 2, duration: 1_500, async: true }));
    const { key } = await service.createKey({ ratelimits: [...others, { name: 'last', limit: 1, duration: 60_000 }] });
    const policies = (count: number): string[] => others.slice(0, count).map((_, i) => `"n${i}";q=${i + 2};w=2`);
    expect(shown(await call(key))[0]).toBe(policies(8).join(', '));
    expect(shown(await call(key)).slice(0, 2)).toEqual([
      ['"last";q=1;w=60', ...policies(7)].join(', '),
      '"last";r=0;t=30',
    ]);
    const { key: twice } = await service.createKey({ ratelimits: others.slice(0, 2) });
    expect(shown(await call(twice))[0]).toBe('"n0";q=2;w=2, "n1";q=3;w=2');
  });

  test('of credits that are refilled say when to come back, with and without a limit', async () => {
    const refill = { interval: 'hourly', amount: 5 };
    for (const ratelimit of [undefined, { limit: 2, duration: 60_000 }]) {
      const { key } = await service.createKey({ remaining: 0, refill, ratelimit });
      expect(shown(await call(key))[2]).toBe('3570');
    }
    expect(shown(await call((await service.createKey({ remaining: 0 })).key))[2]).toBeNull();
  });

  test('count from the moment at which the ledger decided: a window that began meanwhile is not longer than it is', async () => {
    const { key } = await service.createKey({ ratelimit: { limit: 2, duration: 60_000, async: false } });
    const { ledger } = service.storage;
    const spend = ledger.spend.bind(ledger);
    service.clock.set(noonOne - 100);
    ledger.spend = (asked) => {
      service.clock.set(noonOne + 100);
      return spend(asked);
    };
    expect(shown(await call(key))).toEqual(['"default";q=2;w=60', '"default";r=1;t=60', null]);
    ledger.spend = spend;
  });

  test('quote a name as a structured header wants it', async () => {
    const { key } = await service.createKey();
    const ratelimits = [{ name: 'a"b\\c ü', limit: 2, duration: 1500 }];
    expect(shown(await call(key, { ratelimits }))).toEqual(['"a\\"b\\\\c ?";q=2;w=2', '"a\\"b\\\\c ?";r=1;t=2', null]);
  });

  test('are absent where no limit ran', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    expect(shown(await call(key))).toEqual([null, null, null]);
  });

  test('can be switched off', async () => {
    const silent = await TestService.start({
      startsAt: '2026-03-15T12:00:30Z',
      settings: { KEYSTILE_RATELIMIT_HEADERS: 'off' },
    });
    try {
      const { key } = await silent.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
      for (const code of ['VALID', 'RATE_LIMITED']) {
        const answer = await silent.call('/v1/keys.verifyKey', { key }, { rootKey: null });
        expect(answer.body.code).toBe(code);
        expect(shown(answer)).toEqual([null, null, null]);
      }
    } finally {
      await silent.close();
    }
  });
});

describe('keys that are made alike', () => {
  beforeEach(async () => {
    service = await TestService.start();
  });

  afterEach(() => service.close());

  test('count apart, and so does one whose counters have the first numbers', async () => {
    // Who took a number that is counted from some other one for the number itself would count here.
    const names = Array.from({ length: 9 }, (_, i) => `limit${i}`);
    const first = await service.createKey({ ratelimits: names.map((name) => ({ ...strict(9), name })) });
    const alike = { remaining: 9, ratelimits: [local(9), strict(9)] };
    const made = [await service.createKey(alike), await service.createKey(alike), await service.createKey(alike)];
    for (const [i, { key }] of made.entries()) for (let times = 0; times <= i; times++) await service.verify(key);
    for (const [i, { key }] of made.entries()) {
      expect(await standing(key)).toEqual({ credits: 8 - i, local: 8 - i, strict: 8 - i });
    }
    expect(await standing(first.key, names)).toMatchObject(Object.fromEntries(names.map((name) => [name, 9])));
  });

  test('also one that was given another limit later: its counters do not follow one another', async () => {
    const alike = { remaining: 9, ratelimits: [strict(9)] };
    const other = { ...strict(9), name: 'other' };
    const [changed, kept] = [await service.createKey(alike), await service.createKey(alike)];
    await service.verify(changed.key);
    await service.ok('/v1/keys.updateKey', { keyId: changed.keyId, ratelimits: [strict(9), other] });
    for (let times = 0; times < 3; times++) await service.verify(changed.key);
    expect(await standing(changed.key, ['strict', 'other'])).toEqual({ credits: 5, strict: 5, other: 6 });
    expect(await standing(kept.key, ['strict'])).toEqual({ credits: 9, strict: 9 });
  });
});
