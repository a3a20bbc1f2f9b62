import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { holdPermissions, type PermissionQuery, satisfies } from '../../src/core/permissions.ts';
import { grantsOf } from '../support/grants.ts';

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
