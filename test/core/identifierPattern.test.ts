import { describe, expect, test } from 'bun:test';

import { isPattern, matchesPattern, toPattern } from '../../src/core/identifierPattern.ts';

const matches = (pattern: string, text: string): boolean => matchesPattern(toPattern(pattern), text);

/** Every text of these characters up to this length. */
function texts(characters: string, length: number): string[] {
  if (length === 0) return [''];
  const shorter = texts(characters, length - 1);
  const longest = shorter.filter((text) => text.length === length - 1);
  return [...shorter, ...longest.flatMap((text) => characters.split('').map((character) => text + character))];
}

/** As the rule is said: a star is nothing, or any character and the star again. */
function matchesByTheRule(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  const [rest, first] = [pattern.slice(1), pattern[0]];
  if (first !== '*') return first === text[0] && matchesByTheRule(rest, text.slice(1));
  return matchesByTheRule(rest, text) || (text !== '' && matchesByTheRule(pattern, text.slice(1)));
}

describe('patterns of identifiers', () => {
  test('a star stands for any run of characters, also for none: all short patterns against all short texts', () => {
    const wrong: string[] = [];
    const all = texts('ab', 6);
    for (const pattern of texts('ab*', 5).filter(isPattern)) {
      for (const text of all) {
        if (matches(pattern, text) !== matchesByTheRule(pattern, text)) wrong.push(`${pattern} / ${text}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('no other character is special', () => {
    expect(matches('a.c*', 'abc')).toBe(false);
    expect(matches('[a]*', '[a]b')).toBe(true);
    expect(matches('*\\', 'a\\')).toBe(true);
    expect(matches('*💥', 'ü💥')).toBe(true);
    expect(isPattern('a?b')).toBe(false);
  });

  test('a pattern of very many stars is answered at once', () => {
    expect(matches(`${'a*'.repeat(127)}b`, 'a'.repeat(256))).toBe(false);
    expect(matches(`*${'a*'.repeat(127)}`, 'a'.repeat(256))).toBe(true);
  });
});
