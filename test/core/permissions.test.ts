import { describe, expect, spyOn, test } from 'bun:test';
import * as fc from 'fast-check';

import { holdPermissions, type PermissionQuery, satisfies, type Grant } from '../../src/core/permissions.ts';

/** Direct grants of permissions with these slugs. */
function grantsOf(slugs: readonly string[]): Grant[] {
  return slugs.map((slug) => ({ slug, permissionId: `perm of ${slug}`, role: null }));
}

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

const RUNS = { seed: Number(process.env['KEYSTILE_TEST_SEED'] ?? 1), numRuns: 5_000 };

/** Few words, so that permissions meet; some with a star that is no wildcard. */
const word = fc.constantFrom('a', 'b', 'c', '*', '', 'a*', '**');
const permission = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('.'));
const held = fc.array(permission, { maxLength: 5 });

const { query } = fc.letrec<{ query: PermissionQuery }>((tie) => ({
  query: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    permission,
    fc.record({ and: fc.array(tie('query'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ or: fc.array(tie('query'), { minLength: 1, maxLength: 3 }) }),
  ),
}));

/** The rule word by word, as it is told: the first words are compared, then the rest with the rest. */
function fits(pattern: string, asked: string): boolean {
  const [first, rest] = firstWord(pattern);
  const [asking, others] = firstWord(asked);
  if (rest === null) return first === '*' || (first === asking && others === null);
  return others !== null && (first === '*' || first === asking) && fits(rest, others);
}

function firstWord(text: string): [first: string, rest: string | null] {
  const end = text.indexOf('.');
  return end < 0 ? [text, null] : [text.slice(0, end), text.slice(end + 1)];
}

function reference(permissions: readonly string[], asked: PermissionQuery): boolean {
  if (typeof asked === 'string') return permissions.some((each) => fits(each, asked));
  const parts = ('and' in asked ? asked.and : asked.or).map((part) => reference(permissions, part));
  return 'and' in asked ? !parts.includes(false) : parts.includes(true);
}

test('a query is answered as the rule says, word by word', () => {
  fc.assert(
    fc.property(held, query, (permissions, asked) => {
      expect(satisfies(holdPermissions(grantsOf(permissions)), asked)).toBe(reference(permissions, asked));
    }),
    RUNS,
  );
});

test('who gets one more permission loses nothing, in whatever order they are held', () => {
  fc.assert(
    fc.property(held, permission, query, (permissions, more, asked) => {
      const had = satisfies(holdPermissions(grantsOf(permissions)), asked);
      expect(satisfies(holdPermissions(grantsOf([more, ...permissions].toReversed())), asked) || !had).toBe(true);
    }),
    RUNS,
  );
});

test('a key without wildcards satisfies exactly what it holds, whatever stars the query has', () => {
  fc.assert(
    fc.property(held, permission, (permissions, asked) => {
      const plain = permissions.filter((each) => !each.split('.').includes('*'));
      expect(satisfies(holdPermissions(grantsOf(plain)), asked)).toBe(plain.includes(asked));
    }),
    RUNS,
  );
});

test('`*` satisfies every query', () => {
  fc.assert(
    fc.property(held, query, (permissions, asked) => {
      expect(satisfies(holdPermissions(grantsOf([...permissions, '*'])), asked)).toBe(true);
    }),
    RUNS,
  );
});
