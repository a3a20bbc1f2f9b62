import { describe, expect, test } from 'bun:test';

import { MAX_TAG_LIST_BYTES } from '../../src/core/bounds.ts';
import {
  EARNED_BYTES,
  MAX_ALLOWANCE_BYTES,
  MAX_KNOWN_BYTES,
  MAX_TAGGED_APIS,
  TagLists,
} from '../../src/engine/tagLists.ts';
import { keyIdOf, TallyWorld } from '../harness/tallies.ts';

const [K1, K2, K3] = [keyIdOf(1), keyIdOf(2), keyIdOf(3)];
const OTHER = '["other"]';
const DAY_MS = 86_400_000;

/** One tag that is a list of so many bytes. */
const tagOf = (bytes: number, first = ''): string[] => [`${first}${'x'.repeat(bytes - 4 - first.length)}`];

async function writtenBy(world: TallyWorld): Promise<string[]> {
  await world.flushing.flush();
  return world.written();
}

describe('a refusal', () => {
  test('counts under its tags once a valid verification of its api had them that day, else under `other`', async () => {
    const world = new TallyWorld();
    const [key, same, another] = [world.keep(1), world.pack(3), world.keep(2)];
    world.verify(key, { code: 'DISABLED', tags: ['a'] });
    world.verify(key, { tags: ['a'] });
    for (const each of [key, same, another]) world.verify(each, { code: 'RATE_LIMITED', tags: ['a'] });
    world.verify(null, { apiId: 'api_2', tags: ['a'] });
    world.verify(null, { apiId: 'api_1', tags: ['a'] });
    expect(await writtenBy(world)).toEqual([
      `12:00 api_1 ${OTHER}: 0,1`,
      `12:00 api_1 ${K2} ${OTHER}: 0,0,0,0,0,0,1`,
      `12:00 api_2 ["a"]: 0,1`,
      `12:00 api_2 ${K1} ["a"]: 1,0,0,0,0,0,1`,
      `12:00 api_2 ${K1} ${OTHER}: 0,0,0,1`,
      `12:00 api_2 ${K3} ["a"]: 0,0,0,0,0,0,1`,
    ]);
    expect(world.book.tagLists.others).toEqual({ refused: 3, lists: 0, bytes: 0 });
  });

  test('adds no list, whatever tags it brings: all of them are one row of the key, and one of no key', async () => {
    const world = new TallyWorld();
    const key = world.keep(1);
    for (let n = 0; n < 8_000; n++) world.verify(key, { code: 'DISABLED', tags: [`tag ${n}`] });
    for (let n = 0; n < 8_000; n++) world.verify(null, { apiId: 'api_2', tags: [`tag ${n}`] });
    expect(world.book.openSize).toBe(1);
    expect(await writtenBy(world)).toEqual([`12:00 api_2 ${OTHER}: 0,8000`, `12:00 api_2 ${K1} ${OTHER}: 0,0,0,8000`]);
  });

  test('of the next day does not know the lists of the day before', async () => {
    const world = new TallyWorld();
    const key = world.keep(1);
    world.clock.set('2026-03-15T23:59:59.999Z');
    world.verify(key, { tags: ['a'] });
    world.verify(key, { code: 'EXPIRED', tags: ['a'] });
    world.clock.advance(1);
    world.verify(key, { code: 'EXPIRED', tags: ['a'] });
    expect(await writtenBy(world)).toEqual([
      `00:00 api_2 ${K1} ${OTHER}: 0,0,0,0,1`,
      `23:59 api_2 ${K1} ["a"]: 1,0,0,0,1`,
    ]);
  });
});

describe('lists of an api', () => {
  test('are bounded each day; what comes beyond counts under `other`, and those that are known go on', async () => {
    const world = new TallyWorld(50, 3);
    const [key, another] = [world.keep(1), world.keep(2)];
    for (const tag of ['a', 'b', 'c', 'd', 'e', 'a']) world.verify(key, { tags: [tag] });
    world.verify(another, { tags: ['d'] });
    world.clock.advance(DAY_MS);
    world.verify(key, { tags: ['d'] });
    expect(await writtenBy(world)).toEqual([
      `12:00 api_1 ${K2} ["d"]: 1`,
      `12:00 api_2 ${K1} ["a"]: 2`,
      `12:00 api_2 ${K1} ["b"]: 1`,
      `12:00 api_2 ${K1} ["c"]: 1`,
      `12:00 api_2 ${K1} ["d"]: 1`,
      `12:00 api_2 ${K1} ${OTHER}: 2`,
    ]);
    expect(world.book.tagLists.others).toEqual({ refused: 0, lists: 2, bytes: 0 });
  });

  test('none are counted by themselves where none are allowed', async () => {
    const world = new TallyWorld(50, 0);
    world.verify(world.keep(1), { tags: ['a'] });
    expect(await writtenBy(world)).toEqual([`12:00 api_2 ${K1} ${OTHER}: 1`]);
  });

  test('`other` itself is no list: who sends it is counted there', async () => {
    const world = new TallyWorld(50, 1);
    for (const tag of ['other', 'a', 'b']) world.verify(world.keep(1), { tags: [tag] });
    expect(await writtenBy(world)).toEqual([`12:00 api_2 ${K1} ["a"]: 1`, `12:00 api_2 ${K1} ${OTHER}: 2`]);
    expect(world.book.tagLists.others).toEqual({ refused: 0, lists: 1, bytes: 0 });
  });

  test('the longest is counted by itself, one byte more is not, in bytes of UTF-8', async () => {
    const world = new TallyWorld();
    const wide = 'é'.repeat((MAX_TAG_LIST_BYTES - 4) / 2);
    for (const tags of [tagOf(MAX_TAG_LIST_BYTES), tagOf(MAX_TAG_LIST_BYTES + 1), [wide], [`${wide}x`]]) {
      world.verify(world.keep(1), { tags });
    }
    const lines = (await writtenBy(world)).map((line) => line.replaceAll(/xx+/g, 'x').replaceAll(/éé+/g, 'é'));
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
    const world = new TallyWorld();
    for (let n = 0; n < 20_000; n++) world.verify(world.keep(2 * n), { tags: tagOf(EARNED_BYTES) });
    expect((await writtenBy(world)).length).toBe(20_000);
    expect(world.book.tagLists.others.bytes).toBe(0);
  });

  test('a longer one as far as its api has saved, then as often as others pay for it; none is lost', async () => {
    const world = new TallyWorld();
    const [many, saved] = [4_000, MAX_ALLOWANCE_BYTES / EARNED_BYTES];
    // The first finds nothing to save: there is no room. Each of the next costs twice what it brings.
    for (let n = 0; n < many; n++) world.verify(world.keep(2 * n), { tags: tagOf(LONG) });
    const lines = await writtenBy(world);
    const own = longLines(lines).length;
    expect(own).toBe(Math.floor((saved + many - 1) / 2));
    expect(lines.length).toBe(many);
    expect(world.book.tagLists.others).toEqual({ refused: 0, lists: 0, bytes: many - own });
  });

  test('a row is paid for once a minute, however often it is written down', async () => {
    const world = new TallyWorld();
    const keys = Array.from({ length: MAX_ALLOWANCE_BYTES / LONG }, (_, n) => world.keep(2 * n));
    for (let round = 0; round < 10; round++) {
      for (const key of keys) world.verify(key, { tags: tagOf(LONG) });
      await world.flushing.flush();
    }
    expect(world.book.tagLists.others.bytes).toBe(0);
    expect(longLines(world.written()).every((line) => line.endsWith(': 10'))).toBe(true);
  });
});

test('a list that its api cannot pay for takes none of the places', async () => {
  const world = new TallyWorld(50, 200);
  const key = world.keep(1);
  // Each costs a page beside its bytes: the savings end after a few.
  for (let n = 0; n < 1_000; n++) world.verify(key, { tags: tagOf(MAX_TAG_LIST_BYTES, `${n} `) });
  expect(world.book.tagLists.others).toMatchObject({ lists: 0 });
  expect(world.book.tagLists.others.bytes).toBeGreaterThan(900);
  for (let n = 0; n < 50; n++) world.verify(key, { tags: [`tag ${n}`] });
  expect((await writtenBy(world)).filter((line) => line.includes('tag ')).length).toBe(50);
});

describe('what the database has of the day', () => {
  test('is asked for once an api, and again once a minute while refusals bring tags that are not known', async () => {
    const world = new TallyWorld();
    const key = world.keep(1);
    const asked = world.tallies.listsAskedFor;
    await world.flushing.learnTags();
    expect(asked).toEqual([]);
    world.verify(key, { tags: ['a'] });
    for (let n = 0; n < 3; n++) await world.flushing.learnTags();
    expect(asked).toEqual(['api_2 2026-03-15T00:00:00.000Z 1001']);
    world.verify(key, { code: 'DISABLED', tags: ['b'] });
    await world.flushing.learnTags();
    expect(asked.length).toBe(1);
    world.clock.advance(60_000);
    world.verify(key, { code: 'DISABLED', tags: ['b'] });
    for (let n = 0; n < 3; n++) await world.flushing.learnTags();
    expect(asked.length).toBe(2);
  });

  test('is known from then on, and takes of the room', async () => {
    const world = new TallyWorld(50, 2);
    const key = world.keep(1);
    world.tallies.listsInSums = [OTHER, '["a"]', '["b"]'];
    world.verify(key, { code: 'DISABLED', tags: ['a'] });
    await world.flushing.learnTags();
    world.verify(key, { code: 'DISABLED', tags: ['a'] });
    for (const tag of ['a', 'b', 'c']) world.verify(key, { tags: [tag] });
    expect(await writtenBy(world)).toEqual([
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
