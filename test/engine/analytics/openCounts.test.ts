import { describe, expect, test } from 'bun:test';

import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { MAX_ASKED_COUNTS, MAX_API_COUNTS, MAX_OPEN_COUNTS } from '../../../src/engine/analytics/openCounts.ts';
import { type Asked, digestOf, keyIdOf, AnalyticsSetup } from '../../support/analytics.ts';
import { MAX_PACKED_COST } from '../../../src/engine/cache/keyCounts.ts';

const [K1, K2] = [keyIdOf(1), keyIdOf(2)];

describe('counting verifications', () => {
  test('each outcome of a key counts for its minute, api and identity, however the key is kept in memory', async () => {
    const setup = new AnalyticsSetup();
    const [packed, kept] = [setup.pack(1), setup.keep(2, 'id_1')];
    for (const key of [packed, kept]) {
      for (const [i, code] of VERDICT_CODES.entries()) for (let n = 0; n <= i; n++) setup.verify(key, { code });
    }
    await setup.writing.flush();
    expect(setup.written()).toEqual([`12:00 api_1 ${K2} id_1: 1,2,3,4,5,6,7,8`, `12:00 api_2 ${K1}: 1,2,3,4,5,6,7,8`]);
  });

  test('tags are counted together as they were given, and apart from none', async () => {
    const setup = new AnalyticsSetup();
    for (const key of [setup.pack(1), setup.keep(2)]) {
      for (const tags of [null, ['a'], ['a', 'b'], ['a'], null, null]) setup.verify(key, { tags });
    }
    await setup.writing.flush();
    expect(setup.written()).toEqual([
      `12:00 api_1 ${K2} ["a","b"]: 1`,
      `12:00 api_1 ${K2} ["a"]: 2`,
      `12:00 api_1 ${K2}: 3`,
      `12:00 api_2 ${K1} ["a","b"]: 1`,
      `12:00 api_2 ${K1} ["a"]: 2`,
      `12:00 api_2 ${K1}: 3`,
    ]);
  });

  test('the last millisecond of a minute counts for it, the next one for the next', async () => {
    const setup = new AnalyticsSetup();
    const keys = [setup.pack(1), setup.keep(2)];
    for (const instant of ['12:00:59.999', '12:01:00.000', '12:01:59.999', '12:02:00.000', '13:00:00.000']) {
      setup.clock.set(`2026-03-15T${instant}Z`);
      for (const key of keys) setup.verify(key);
    }
    await setup.writing.flush();
    const minutes = ['12:00 1', '12:01 2', '12:02 1', '13:00 1'].map((text) => text.split(' '));
    expect(setup.written()).toEqual(
      minutes.flatMap(([minute, count]) => [`${minute} api_1 ${K2}: ${count}`, `${minute} api_2 ${K1}: ${count}`]),
    );
  });

  test('a clock that is set back counts for the minute that it shows', async () => {
    const setup = new AnalyticsSetup();
    const keys = [setup.pack(1), setup.keep(2)];
    for (const instant of ['12:05', '11:59', '12:05', '12:04']) {
      setup.clock.set(`2026-03-15T${instant}:30Z`);
      for (const key of keys) setup.verify(key);
    }
    await setup.writing.flush();
    expect(setup.written().filter((line) => line.includes(K1))).toEqual([
      `11:59 api_2 ${K1}: 1`,
      `12:04 api_2 ${K1}: 1`,
      `12:05 api_2 ${K1}: 2`,
    ]);
    expect(setup.written().length).toBe(6);
  });

  test('a verdict counts for the minute in which it was decided, and once that is over for the one that it shows', async () => {
    const setup = new AnalyticsSetup();
    const keys = [setup.pack(1), setup.keep(2)];
    const count = (asked?: Asked) => keys.forEach((key) => setup.verify(key, asked));
    setup.clock.set('2026-03-15T12:00:59.999Z');
    count();
    const decided = { atMs: setup.clock.nowMs() };
    setup.clock.advance(1);
    count(decided);
    count();
    count(decided);
    setup.openCounts.seal();
    count(decided);
    // Decided before the clock was set back.
    const ahead = { atMs: setup.clock.nowMs() };
    setup.clock.set('2026-03-15T11:59:00Z');
    count();
    count(ahead);
    await setup.writing.flush();
    const minutes = ['11:59 2', '12:00 2', '12:01 3'].map((text) => text.split(' '));
    expect(setup.written()).toEqual(
      minutes.flatMap(([minute, all]) => [`${minute} api_1 ${K2}: ${all}`, `${minute} api_2 ${K1}: ${all}`]),
    );
  });

  test('verdicts are counted in any order: the last use is the latest', async () => {
    const setup = new AnalyticsSetup();
    const keys = [setup.pack(1), setup.keep(2)];
    // Of the minutes before, in which it was later in the minute, nothing is left in a row that is used again.
    for (const latest of [80, 60, 40, 20, 10]) {
      setup.clock.set('2026-03-15T12:00:00Z');
      setup.clock.advance((100 - latest) * 60_000);
      const startMs = setup.clock.nowMs();
      setup.clock.advance(latest);
      for (const key of keys) {
        for (const atMs of [startMs + latest, startMs + 5]) setup.verify(key, { atMs });
      }
      await setup.writing.flush();
      expect([...setup.analytics.lastUses.values()]).toEqual([startMs + latest, startMs + latest]);
    }
  });

  test('the last use is the instant of the last verification', async () => {
    const setup = new AnalyticsSetup();
    const keys = [setup.pack(1), setup.keep(2)];
    for (const milliseconds of [1, 1_234, 70_007]) {
      setup.clock.advance(milliseconds);
      for (const key of keys) setup.verify(key);
    }
    await setup.writing.flush();
    const at = Date.parse('2026-03-15T12:00:00Z') + 71_242;
    expect(setup.analytics.lastUses).toEqual(
      new Map([
        [K1, at],
        [K2, at],
      ]),
    );
  });
});

describe('packed keys that go', () => {
  test('what a key has counted is not lost when it is dropped, replaced, pushed out or forgotten with all others', async () => {
    const setup = new AnalyticsSetup();
    const ways = [
      () => setup.packed.delete(digestOf(1)),
      () => setup.pack(1),
      () => setup.packed.dropOldest(),
      () => setup.packed.dropApi('api_2'),
      () => setup.packed.clear(),
    ];
    for (const way of ways) {
      const key = setup.pack(1);
      for (let n = 0; n < 10; n++) setup.verify(key);
      way();
    }
    await setup.writing.flush();
    expect(setup.written()).toEqual([`12:00 api_2 ${K1}: 50`]);
  });

  test('a verdict that arrives after its key was dropped, or packed anew with many others, counts', async () => {
    const setup = new AnalyticsSetup();
    const early = setup.pack(1);
    setup.verify(early);
    for (let number = 2; number < 5_000; number++) setup.pack(number);
    setup.verify(early);
    setup.packed.delete(digestOf(1));
    setup.verify(early);
    setup.pack(1);
    setup.verify(early);
    setup.packed.clear();
    setup.pack(2);
    setup.verify(early);
    await setup.writing.flush();
    expect(setup.written()).toEqual([`12:00 api_2 ${K1}: 5`]);
  });

  test('packing anew takes the counts of both generations along', async () => {
    const setup = new AnalyticsSetup();
    setup.verify(setup.pack(1));
    setup.openCounts.seal();
    for (let n = 0; n < 3; n++) setup.verify(setup.pack(2));
    for (let number = 3; number < 5_000; number++) setup.pack(number);
    await setup.writing.flush();
    expect(setup.written()).toEqual([`12:00 api_1 ${K2}: 3`, `12:00 api_2 ${K1}: 1`]);
  });
});

describe('unknown keys', () => {
  test('count for the api that the request names, if it exists; it is asked for once, behind the requests', async () => {
    const setup = new AnalyticsSetup();
    for (const apiId of ['api_1', 'api_1', 'api_none', null]) setup.verify(null, { apiId });
    setup.verify(null, { apiId: 'api_1', tags: ['a'] });
    expect(setup.lookups).toEqual([]);
    await setup.writing.flush();
    expect(setup.written()).toEqual(['12:00 api_1 ["other"]: 0,1', '12:00 api_1: 0,2']);
    setup.verify(null, { apiId: 'api_1' });
    await setup.writing.flush();
    expect(setup.written()[1]).toBe('12:00 api_1: 0,3');
    expect(setup.lookups).toEqual([['api_1', 'api_none']]);
  });

  test('an api that was asked for is known to exist until it is said to have changed, also by what waits to be written', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.pack(2);
    const ask = () => setup.verify(null, { apiId: 'api_1' });
    ask();
    await setup.writing.flush();
    for (const changed of ['api_1', null]) {
      ask();
      setup.verify(key);
      setup.openCounts.forgetApi(changed);
      setup.apis.delete('api_1');
      await setup.writing.flush();
      ask();
      await setup.writing.flush();
      setup.apis.add('api_1');
      ask();
      await setup.writing.flush();
    }
    // Three that came while it was known, two when it was there again.
    expect(setup.written()).toEqual([`12:00 api_1 ${K2}: 2`, '12:00 api_1: 0,5']);
    expect(setup.lookups.length).toBe(5);
  });

  test('a flood of made-up apis is bounded, and hides nothing of an api that is known', async () => {
    const setup = new AnalyticsSetup();
    setup.verify(null, { apiId: 'api_1' });
    await setup.writing.flush();
    for (let n = 0; n < 3 * MAX_ASKED_COUNTS; n++) setup.verify(null, { apiId: `api_made_up_${n}` });
    for (let n = 0; n < 7; n++) setup.verify(null, { apiId: 'api_1' });
    await setup.writing.flush();
    expect(setup.written()).toEqual(['12:00 api_1: 0,8']);
    expect(setup.lookups.map((ids) => ids.length)).toEqual([1, MAX_ASKED_COUNTS]);
  });
});

describe('credits of verifications', () => {
  test('are added up, whatever they cost and however the key is kept in memory', async () => {
    const setup = new AnalyticsSetup();
    for (const key of [setup.pack(1), setup.keep(2)]) {
      for (const creditsTaken of [1_000_000, 5, 5, 0, 1, 5, MAX_PACKED_COST, MAX_PACKED_COST + 1]) {
        setup.verify(key, { creditsTaken });
      }
      setup.verify(key, { code: 'USAGE_EXCEEDED' });
    }
    await setup.writing.flush();
    const sum = `8,0,0,0,0,0,0,1 (${15 + 1 + MAX_PACKED_COST + MAX_PACKED_COST + 1 + 1_000_000})`;
    expect(setup.written()).toEqual([`12:00 api_1 ${K2}: ${sum}`, `12:00 api_2 ${K1}: ${sum}`]);
  });

  test('a packed key that always costs the same needs no object, from nothing to the largest cost that fits', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.pack(1);
    for (const creditsTaken of [0, 1, MAX_PACKED_COST]) {
      setup.clock.advance(60_000);
      for (let n = 0; n < 3; n++) setup.verify(key, { creditsTaken });
    }
    expect(setup.openCounts.openSize).toBe(0);
    setup.verify(key, { creditsTaken: MAX_PACKED_COST + 1 });
    expect(setup.openCounts.openSize).toBe(1);
    await setup.writing.flush();
    expect(setup.written()).toEqual([
      `12:01 api_2 ${K1}: 3`,
      `12:02 api_2 ${K1}: 3 (3)`,
      `12:03 api_2 ${K1}: 4 (${4 * MAX_PACKED_COST + 1})`,
    ]);
  });

  test('the cost leaves the last use as it is, at the end of a generation of an hour too', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.pack(1);
    // So many wait that the minute goes on until the hour ends.
    for (let number = 2; number < 1_500; number++) setup.verify(setup.pack(number));
    setup.openCounts.seal();
    const startMs = setup.clock.nowMs();
    setup.verify(key, { creditsTaken: MAX_PACKED_COST });
    setup.clock.advance(3_599_999);
    setup.verify(key, { creditsTaken: MAX_PACKED_COST });
    setup.verify(key, { creditsTaken: MAX_PACKED_COST, atMs: startMs + 5 });
    await setup.writing.flush();
    expect(setup.analytics.lastUses.get(K1)).toBe(startMs + 3_599_999);
    expect(setup.written().filter((line) => line.includes(K1))).toEqual([
      `12:00 api_2 ${K1}: 3 (${3 * MAX_PACKED_COST})`,
    ]);
  });

  test('are not lost when the key is dropped, and stop at the largest whole number that is exact', async () => {
    const setup = new AnalyticsSetup();
    setup.verify(setup.pack(1), { creditsTaken: 7 });
    setup.packed.delete(digestOf(1));
    const key = setup.keep(2);
    for (const creditsTaken of [Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER])
      setup.verify(key, { creditsTaken });
    await setup.writing.flush();
    expect(setup.written()).toEqual([`12:00 api_1 ${K2}: 3 (${Number.MAX_SAFE_INTEGER})`, `12:00 api_2 ${K1}: 1 (7)`]);
  });
});

const HOUR_MS = 3_600_000;
const REFUSED_COLUMN = VERDICT_CODES.indexOf('RATE_LIMITED');
const K3 = keyIdOf(3);
/** Counted in an object; a valid one is counted in the row of its key. */
const REFUSED: Asked = { code: 'RATE_LIMITED' };

describe('bounds', () => {
  test('beyond the maximum verifications count for their api, without key and tags: none is lost', async () => {
    const setup = new AnalyticsSetup();
    const extra = 500;
    for (let number = 0; number < MAX_OPEN_COUNTS + extra; number++) setup.verify(setup.keep(2 * number), REFUSED);
    const packed = setup.pack(2 * (MAX_OPEN_COUNTS + extra));
    setup.verify(packed, { tags: ['a'] });
    setup.verify(packed, REFUSED);
    setup.verify(packed);
    expect(setup.openCounts.openSize).toBe(MAX_OPEN_COUNTS + 1);
    const drained = setup.drain();
    const ofApi = drained.filter(({ keyId }) => keyId === '');
    expect(ofApi.map(({ apiId, tags, counts }) => [apiId, tags, counts])).toEqual([
      ['api_1', '', [1, 0, 0, 0, 0, 0, extra + 1, 0]],
    ]);
    // In its row a key is counted all the same.
    expect(drained.find(({ keyId }) => keyId === packed.id)?.counts[0]).toBe(1);
    expect(drained.reduce((sum, { counts }) => sum + counts.reduce((a, b) => a + b), 0)).toBe(
      MAX_OPEN_COUNTS + extra + 3,
    );
  });

  test('a database that is away for years does not fill the memory: hours of an api run together then', () => {
    const setup = new AnalyticsSetup();
    for (let number = 0; number < MAX_OPEN_COUNTS; number++) setup.verify(setup.keep(2 * number), REFUSED);
    const hours = 2 * MAX_API_COUNTS;
    const late = setup.keep(2);
    for (let hour = 0; hour < hours; hour++) {
      setup.clock.advance(HOUR_MS);
      setup.verify(late, REFUSED);
    }
    expect(setup.openCounts.openSize).toBe(MAX_OPEN_COUNTS + MAX_API_COUNTS);
    const ofApi = setup.drain().filter(({ keyId }) => keyId === '');
    expect(ofApi.reduce((sum, { counts }) => sum + (counts[REFUSED_COLUMN] ?? 0), 0)).toBe(hours);
  });

  test('tags that anyone can make up open no counts beyond the maximum', () => {
    const setup = new AnalyticsSetup();
    for (let number = 0; number < MAX_OPEN_COUNTS; number++) setup.verify(setup.keep(2 * number), REFUSED);
    setup.openCounts.settleAsked(0, new Set(['api_1']));
    for (let n = 0; n < 1_000; n++) setup.verify(null, { apiId: 'api_1', tags: [`tag ${n}`] });
    expect(setup.openCounts.openSize).toBe(MAX_OPEN_COUNTS + 1);
  });
});

describe.each([
  ['in the rows of their keys', {}, 0],
  ['in objects', REFUSED, 3],
])('while very many counts %s wait to be written', (_where, asked, objects) => {
  const KEYS = 1_500;

  /** Each key is verified at each of these times, and nobody takes anything out. */
  function crowd(...times: readonly string[]): AnalyticsSetup {
    const setup = new AnalyticsSetup();
    const numbers = Array.from({ length: KEYS }, (_, number) => number);
    for (const number of numbers) setup.pack(number);
    for (const time of times) {
      setup.clock.set(`2026-03-15T${time}Z`);
      for (const number of numbers) setup.verify(setup.packed.get(digestOf(number)) ?? null, asked);
    }
    return setup;
  }

  /** How often it was verified, whatever came of it. */
  const ofOne = (setup: AnalyticsSetup) =>
    setup.written().flatMap((line) => (line.includes(K3) ? line.replace(/: (?:0,)+/, ': ') : []));

  test('a minute goes on, until the hour ends', async () => {
    const setup = crowd('12:57:00', '12:58:00', '12:59:00', '13:00:00');
    // What is in rows stays there: at the end of an hour nothing is done for each of a million.
    expect(setup.openCounts.openSize).toBe(objects * KEYS);
    await setup.writing.flush();
    expect(ofOne(setup)).toEqual([`12:57 api_2 ${K3}: 1`, `12:58 api_2 ${K3}: 2`, `13:00 api_2 ${K3}: 1`]);
    expect(setup.written().length).toBe(3 * KEYS);
  });

  test('the last use is told all the same, and a clock that is set back counts for the minute that it shows', async () => {
    const setup = crowd('12:57:00', '12:58:00', '12:59:01', '12:56:02');
    await setup.writing.flush();
    expect(ofOne(setup)).toEqual([`12:56 api_2 ${K3}: 1`, `12:57 api_2 ${K3}: 1`, `12:58 api_2 ${K3}: 2`]);
    expect(setup.analytics.lastUses.get(K3)).toBe(Date.parse('2026-03-15T12:59:01Z'));
  });

  test('once they are written, a minute is a minute again', async () => {
    const setup = crowd('12:57:00', '12:58:00', '12:59:00');
    await setup.writing.flush();
    setup.verify(setup.pack(3), asked);
    await setup.writing.flush();
    expect(ofOne(setup)).toEqual([`12:57 api_2 ${K3}: 1`, `12:58 api_2 ${K3}: 2`, `12:59 api_2 ${K3}: 1`]);
  });
});
