import { describe, expect, spyOn, test } from 'bun:test';

import { endOfPrefix, searchWords, wordsOf } from '../../src/core/search.ts';

describe('the words of a text', () => {
  test.each([
    ['', []],
    ['   ---  ', []],
    ['Billing', ['billing']],
    ['ACME Corp. (north)', ['acme', 'corp', 'north']],
    ['user_7@example.com', ['user', '7', 'example', 'com']],
    ['Straße ÖSTERREICH', ['straße', 'österreich']],
    ['東京 office', ['東京', 'office']],
    ['a'.repeat(70), ['a'.repeat(64)]],
    ['v1.2.3', ['v1', '2', '3']],
  ])('of %p', (text, words) => {
    expect(wordsOf(text)).toEqual([...words]);
  });
});

describe('the words by which a key is found', () => {
  test('are those of its name, then those of the texts and numbers in its metadata, each once', () => {
    const meta = JSON.stringify({ team: 'North', n: 42, yes: true, no: null, list: ['acme', { deep: 'east north' }] });
    expect(searchWords('Acme billing', meta)).toEqual(['acme', 'billing', 'north', '42', 'east']);
    expect(searchWords(null, null)).toEqual([]);
  });

  test('are a hundred at the most, those of the name first', () => {
    const meta = JSON.stringify({ words: Array.from({ length: 200 }, (_, i) => `w${i} x${i}`) });
    const words = searchWords('the name', meta);
    expect([words.length, ...words.slice(0, 4)]).toEqual([100, 'the', 'name', 'w0', 'x0']);
    expect(searchWords(Array.from({ length: 150 }, (_, i) => `n${i}`).join(' '), meta).at(-1)).toBe('n99');
  });
});

test('a text of many words is left after the hundredth', () => {
  const add = spyOn(Set.prototype, 'add');
  try {
    searchWords(null, JSON.stringify({ text: Array.from({ length: 2_000 }, (_, i) => `w${i}`).join(' ') }));
    expect(add).toHaveBeenCalledTimes(100);
  } finally {
    add.mockRestore();
  }
});

test('every text that begins so lies before the end of its prefix, and no other', () => {
  const end = endOfPrefix('ab');
  for (const text of ['ab', 'abc', 'ab\u{10FFFD}', 'abzzzz', 'ab東']) expect([text, text < end]).toEqual([text, true]);
  for (const text of ['ac', 'b', 'ac\u0000']) expect([text, text >= end]).toEqual([text, true]);
});
