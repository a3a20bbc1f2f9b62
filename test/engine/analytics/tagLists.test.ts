import { describe, expect, test } from 'bun:test';

import { MAX_TAG_LIST_BYTES } from '../../../src/core/bounds.ts';
import {
  EARNED_BYTES,
  MAX_ALLOWANCE_BYTES,
  MAX_KNOWN_BYTES,
  MAX_TAGGED_APIS,
  TagLists,
} from '../../../src/engine/analytics/tagLists.ts';
import { keyIdOf, AnalyticsSetup } from '../../support/analytics.ts';

const [K1, K2, K3] = [keyIdOf(1), keyIdOf(2), keyIdOf(3)];
const OTHER = '["other"]';
const DAY_MS = 86_400_000;

/** One tag that is a list of so many bytes. */
const tagOf = (bytes: number, first = ''): string[] => [`${first}${'x'.repeat(bytes - 4 - first.length)}`];

async function writtenBy(setup: AnalyticsSetup): Promise<string[]> {
  await setup.writing.flush();
  return setup.written();
}

describe('a refusal', () => {
  test('counts under its tags once a valid verification of its api had them that day, else under `other`', async () => {
    const setup = new AnalyticsSetup();
    const [key, same, another] = [setup.keep(1), setup.pack(3), setup.keep(2)];
    setup.verify(key, { code: 'DISABLED', tags: ['a'] });
    setup.verify(key, { tags: ['a'] });
    for (const each of [key, same, another]) setup.verify(each, { code: 'RATE_LIMITED', tags: ['a'] });
    setup.verify(null, { apiId: 'api_2', tags: ['a'] });
    setup.verify(null, { apiId: 'api_1', tags: ['a'] });
    expect(await writtenBy(setup)).toEqual([
      `12:00 api_1 ${OTHER}: 0,1`,
      `12:00 api_1 ${K2} ${OTHER}: 0,0,0,0,0,0,1`,
      `12:00 api_2 ["a"]: 0,1`,
      `12:00 api_2 ${K1} ["a"]: 1,0,0,0,0,0,1`,
      `12:00 api_2 ${K1} ${OTHER}: 0,0,0,1`,
      `12:00 api_2 ${K3} ["a"]: 0,0,0,0,0,0,1`,
    ]);
    expect(setup.openCounts.tagLists.others).toEqual({ refused: 3, lists: 0, bytes: 0 });
  });

  test('adds no list, whatever tags it brings: all of them are one row of the key, and one of no key', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.keep(1);
    for (let n = 0; n < 8_000; n++) setup.verify(key, { code: 'DISABLED', tags: [`tag ${n}`] });
    for (let n = 0; n < 8_000; n++) setup.verify(null, { apiId: 'api_2', tags: [`tag ${n}`] });
    expect(setup.openCounts.openSize).toBe(1);
    expect(await writtenBy(setup)).toEqual([`12:00 api_2 ${OTHER}: 0,8000`, `12:00 api_2 ${K1} ${OTHER}: 0,0,0,8000`]);
  });

  test('of the next day does not know the lists of the day before', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.keep(1);
    setup.clock.set('2026-03-15T23:59:59.999Z');
    setup.verify(key, { tags: ['a'] });
    setup.verify(key, { code: 'EXPIRED', tags: ['a'] });
    setup.clock.advance(1);
    setup.verify(key, { code: 'EXPIRED', tags: ['a'] });
    expect(await writtenBy(setup)).toEqual([
      `00:00 api_2 ${K1} ${OTHER}: 0,0,0,0,1`,
      `23:59 api_2 ${K1} ["a"]: 1,0,0,0,1`,
    ]);
  });
});

describe('lists of an api', () => {
  test('are bounded each day; what comes beyond counts under `other`, and those that are known go on', async () => {
    const setup = new AnalyticsSetup(50, 3);
    const [key, another] = [setup.keep(1), setup.keep(2)];
    for (const tag of ['a', 'b', 'c', 'd', 'e', 'a']) setup.verify(key, { tags: [tag] });
    setup.verify(another, { tags: ['d'] });
    setup.clock.advance(DAY_MS);
    setup.verify(key, { tags: ['d'] });
    expect(await writtenBy(setup)).toEqual([
      `12:00 api_1 ${K2} ["d"]: 1`,
      `12:00 api_2 ${K1} ["a"]: 2`,
      `12:00 api_2 ${K1} ["b"]: 1`,
      `12:00 api_2 ${K1} ["c"]: 1`,
      `12:00 api_2 ${K1} ["d"]: 1`,
      `12:00 api_2 ${K1} ${OTHER}: 2`,
    ]);
    expect(setup.openCounts.tagLists.others).toEqual({ refused: 0, lists: 2, bytes: 0 });
  });

  test('none are counted by themselves where none are allowed', async () => {
    const setup = new AnalyticsSetup(50, 0);
    setup.verify(setup.keep(1), { tags: ['a'] });
    expect(await writtenBy(setup)).toEqual([`12:00 api_2 ${K1} ${OTHER}: 1`]);
  });

  test('`other` itself is no list: who sends it is counted there', async () => {
    const setup = new AnalyticsSetup(50, 1);
    for (const tag of ['other', 'a', 'b']) setup.verify(setup.keep(1), { tags: [tag] });
    expect(await writtenBy(setup)).toEqual([`12:00 api_2 ${K1} ["a"]: 1`, `12:00 api_2 ${K1} ${OTHER}: 2`]);
    expect(setup.openCounts.tagLists.others).toEqual({ refused: 0, lists: 1, bytes: 0 });
  });

  test('the longest is counted by itself, one byte more is not, in bytes of UTF-8', async () => {
    const setup = new AnalyticsSetup();
    const wide = 'é'.repeat((MAX_TAG_LIST_BYTES - 4) / 2);
    for (const tags of [tagOf(MAX_TAG_LIST_BYTES), tagOf(MAX_TAG_LIST_BYTES + 1), [wide], [`${wide}x`]]) {
      setup.verify(setup.keep(1), { tags });
    }
    const lines = (await writtenBy(setup)).map((line) => line.replaceAll(/xx+/g, 'x').replaceAll(/éé+/g, 'é'));
    expect(lines).toEqual([
      `12:00 api_2 ${K1} ${OTHER}: 2`,
      `12:00 api_2 ${K1} ["x"]: 1`,
      `12:00 api_2 ${K1} ["é"]: 1`,
    ]);
  });
});

describe('rows of long lists', () => {
  /** Pays for itself only to a part. */
  const LONG = 2 * EARNED_BYTES;
  const longLines = (lines: readonly string[]): string[] => lines.filter((line) => !line.includes(OTHER));

  test('a list that is as long as a verification pays for is counted for any number of keys', async () => {
    const setup = new AnalyticsSetup();
    for (let n = 0; n < 20_000; n++) setup.verify(setup.keep(2 * n), { tags: tagOf(EARNED_BYTES) });
    expect((await writtenBy(setup)).length).toBe(20_000);
    expect(setup.openCounts.tagLists.others.bytes).toBe(0);
  });

  test('a longer one as far as its api has saved, then as often as others pay for it; none is lost', async () => {
    const setup = new AnalyticsSetup();
    const [many, saved] = [4_000, MAX_ALLOWANCE_BYTES / EARNED_BYTES];
    // The first finds nothing to save: there is no room. Each of the next costs twice what it brings.
    for (let n = 0; n < many; n++) setup.verify(setup.keep(2 * n), { tags: tagOf(LONG) });
    const lines = await writtenBy(setup);
    const own = longLines(lines).length;
    expect(own).toBe(Math.floor((saved + many - 1) / 2));
    expect(lines.length).toBe(many);
    expect(setup.openCounts.tagLists.others).toEqual({ refused: 0, lists: 0, bytes: many - own });
  });

  test('a row is paid for once a minute, however often it is written down', async () => {
    const setup = new AnalyticsSetup();
    const keys = Array.from({ length: MAX_ALLOWANCE_BYTES / LONG }, (_, n) => setup.keep(2 * n));
    for (let round = 0; round < 10; round++) {
      for (const key of keys) setup.verify(key, { tags: tagOf(LONG) });
      await setup.writing.flush();
    }
    expect(setup.openCounts.tagLists.others.bytes).toBe(0);
    expect(longLines(setup.written()).every((line) => line.endsWith(': 10'))).toBe(true);
  });
});

test('a list that its api cannot pay for takes none of the places', async () => {
  const setup = new AnalyticsSetup(50, 200);
  const key = setup.keep(1);
  // Each costs a page beside its bytes: the savings end after a few.
  for (let n = 0; n < 1_000; n++) setup.verify(key, { tags: tagOf(MAX_TAG_LIST_BYTES, `${n} `) });
  expect(setup.openCounts.tagLists.others).toMatchObject({ lists: 0 });
  expect(setup.openCounts.tagLists.others.bytes).toBeGreaterThan(900);
  for (let n = 0; n < 50; n++) setup.verify(key, { tags: [`tag ${n}`] });
  expect((await writtenBy(setup)).filter((line) => line.includes('tag ')).length).toBe(50);
});

describe('what the database has of the day', () => {
  test('is asked for once an api, and again once a minute while refusals bring tags that are not known', async () => {
    const setup = new AnalyticsSetup();
    const key = setup.keep(1);
    const asked = setup.analytics.listsAskedFor;
    await setup.writing.learnTags();
    expect(asked).toEqual([]);
    setup.verify(key, { tags: ['a'] });
    for (let n = 0; n < 3; n++) await setup.writing.learnTags();
    expect(asked).toEqual(['api_2 2026-03-15T00:00:00.000Z 1001']);
    setup.verify(key, { code: 'DISABLED', tags: ['b'] });
    await setup.writing.learnTags();
    expect(asked.length).toBe(1);
    setup.clock.advance(60_000);
    setup.verify(key, { code: 'DISABLED', tags: ['b'] });
    for (let n = 0; n < 3; n++) await setup.writing.learnTags();
    expect(asked.length).toBe(2);
  });

  test('is known from then on, and takes of the room', async () => {
    const setup = new AnalyticsSetup(50, 2);
    const key = setup.keep(1);
    setup.analytics.listsInSums = [OTHER, '["a"]', '["b"]'];
    setup.verify(key, { code: 'DISABLED', tags: ['a'] });
    await setup.writing.learnTags();
    setup.verify(key, { code: 'DISABLED', tags: ['a'] });
    for (const tag of ['a', 'b', 'c']) setup.verify(key, { tags: [tag] });
    expect(await writtenBy(setup)).toEqual([
      `12:00 api_2 ${K1} ["a"]: 1,0,0,1`,
      `12:00 api_2 ${K1} ["b"]: 1`,
      `12:00 api_2 ${K1} ${OTHER}: 1,0,0,1`,
    ]);
  });

  test('is left aside when the day has ended meanwhile', () => {
    const lists = new TagLists(10);
    lists.turnTo(DAY_MS);
    lists.find('api_1', ['x'], true);
    lists.turnTo(2 * DAY_MS);
    lists.find('api_1', ['x'], true);
    lists.learn('api_1', DAY_MS, ['["a"]']);
    expect(lists.find('api_1', ['a'], false).text).toBe(OTHER);
    lists.learn('api_1', 2 * DAY_MS, ['["a"]']);
    expect(lists.find('api_1', ['a'], false).text).toBe('["a"]');
  });
});

describe('memory', () => {
  test('of lists is bounded over all apis', () => {
    const lists = new TagLists(1_000_000);
    const most = MAX_KNOWN_BYTES / MAX_TAG_LIST_BYTES;
    const ownOf = (count: number, api: (n: number) => string): number => {
      const found = Array.from({ length: count }, (_, n) =>
        lists.find(api(n), tagOf(MAX_TAG_LIST_BYTES, `${n}`), true),
      );
      return found.filter(({ number }) => number !== 0).length;
    };
    // Large apis leave a quarter to the others.
    expect(ownOf(most, (n) => `large_${n % 7}`)).toBe((most * 3) / 4);
    expect(ownOf(most, (n) => `small_${n % 200}`)).toBe(most / 4);
    expect(lists.others.lists).toBe(most);
    lists.turnTo(DAY_MS);
    expect(lists.find('api_1', ['a'], true).text).toBe('["a"]');
  });

  test('of apis is bounded, and an api that is made up takes none of it', () => {
    const lists = new TagLists(10);
    for (let n = 0; n < MAX_TAGGED_APIS; n++) lists.findForUnknown(`made_up_${n}`, ['a']);
    for (let n = 0; n <= MAX_TAGGED_APIS; n++) lists.find(`api_${n}`, ['a'], true);
    expect(lists.find('api_1', ['a'], true).text).toBe('["a"]');
    expect(lists.find(`api_${MAX_TAGGED_APIS}`, ['a'], true).text).toBe(OTHER);
    expect(lists.behind().length).toBe(100);
  });
});
