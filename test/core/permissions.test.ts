import { describe, expect, spyOn, test } from 'bun:test';

import { holdPermissions, type PermissionQuery, satisfies } from '../../src/core/permissions.ts';
import { grantsOf } from '../support/grants.ts';

const passes = (held: readonly string[], query: PermissionQuery): boolean =>
  satisfies(holdPermissions(grantsOf(held)), query);

describe('one permission', () => {
  test('is satisfied by itself and by no other', () => {
    expect(passes(['documents.read'], 'documents.read')).toBe(true);
    for (const asked of ['documents.write', 'documents', 'documents.read.all', 'Documents.read', 'documents.read ']) {
      expect([asked, passes(['documents.read'], asked)]).toEqual([asked, false]);
    }
  });

  test('is not satisfied by a key that holds nothing', () => {
    expect(passes([], 'documents.read')).toBe(false);
    expect(passes([], '*')).toBe(false);
  });

  test('may be named like a member that every object has', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'and', 'or']) {
      expect([name, passes([], name), passes([name], name)]).toEqual([name, false, true]);
    }
  });
});

describe('a wildcard that the key holds', () => {
  test.each<[held: string, asked: string, isSatisfied: boolean]>([
    ['*', 'documents', true],
    ['*', 'documents.read', true],
    ['*', 'documents.1.read', true],
    ['documents.*', 'documents.read', true],
    ['documents.*', 'documents.1.read', true],
    ['documents.*', 'documents.', true],
    ['documents.*', 'documents', false],
    ['documents.*', 'document.read', false],
    ['documents.*', 'documentsx.read', false],
    ['documents.*', 'my.documents.read', false],
    ['*.read', 'documents.read', true],
    ['*.read', 'read', false],
    ['*.read', 'my.documents.read', false],
    ['*.read', 'documents.write', false],
    ['documents.*.read', 'documents.1.read', true],
    ['documents.*.read', 'documents.read', false],
    ['documents.*.read', 'documents.1.2.read', false],
    ['documents.*.*', 'documents.1', false],
    ['documents.*.*', 'documents.1.2.3', true],
    ['*.*', 'documents', false],
    ['*.*', 'documents.read', true],
  ])('%s against %s: %p', (held, asked, isSatisfied) => {
    expect(passes([held], asked)).toBe(isSatisfied);
  });

  test('is one only as a whole word: within a word it is a character', () => {
    expect(passes(['doc*.read'], 'documents.read')).toBe(false);
    expect(passes(['documents.re*'], 'documents.read')).toBe(false);
    expect(passes(['**'], 'documents')).toBe(false);
    expect(passes(['documents.re*'], 'documents.re*')).toBe(true);
  });

  test('counts beside others that do not fit', () => {
    expect(passes(['a.*', 'b', 'documents.*'], 'documents.read')).toBe(true);
  });
});

describe('a `*` in the query is a character', () => {
  test.each<[held: string, asked: string, isSatisfied: boolean]>([
    ['documents.read', 'documents.*', false],
    ['documents.read', '*', false],
    ['documents.read', '*.read', false],
    ['documents.*', '*', false],
    ['documents.*', 'documents.*', true],
    ['*', '*', true],
    ['*', 'documents.*', true],
    ['documents.1.read', 'documents.*.read', false],
    ['documents.*', 'documents.*.read', true],
  ])('%s against %s: %p', (held, asked, isSatisfied) => {
    expect(passes([held], asked)).toBe(isSatisfied);
  });
});

describe('and, or', () => {
  test.each<[query: PermissionQuery, isSatisfied: boolean]>([
    [{ and: ['a', 'b'] }, true],
    [{ and: ['a', 'x'] }, false],
    [{ or: ['x', 'b'] }, true],
    [{ or: ['x', 'y'] }, false],
    [{ and: ['a', { or: ['x', 'b'] }] }, true],
    [{ and: ['a', { or: ['x', 'y'] }] }, false],
    [{ or: ['x', { and: ['a', 'b'] }] }, true],
    [{ or: ['x', { and: ['a', 'y'] }] }, false],
    [{ and: [{ or: [{ and: ['a'] }] }] }, true],
  ])('%j: %p, by a key that holds a and b', (query, isSatisfied) => {
    expect(passes(['a', 'b'], query)).toBe(isSatisfied);
  });
});

test('of many wildcards of one shape none is compared: what is asked for is looked up once', () => {
  const held = holdPermissions(grantsOf(Array.from({ length: 2_000 }, (_, i) => `documents.*.part${i}.read`)));
  expect(held.shapes.length).toBe(1);
  const get = spyOn(Map.prototype, 'get');
  try {
    expect(satisfies(held, 'documents.7.part1999.read')).toBe(true);
    expect(satisfies(held, 'documents.7.part2000.read')).toBe(false);
    // Once as it is, and once with a star.
    expect(get).toHaveBeenCalledTimes(4);
  } finally {
    get.mockRestore();
  }
});
