import { describe, expect, test } from 'bun:test';

import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { MAX_API_COUNTS, MAX_OPEN_COUNTS } from '../../../src/engine/analytics/openCounts.ts';
import { type Asked, digestOf, keyIdOf, AnalyticsSetup } from '../../support/analytics.ts';

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
