import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { holdPermissions, type PermissionQuery, satisfies } from '../../src/core/permissions.ts';

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

/** The rule as one regular expression for each held permission: nothing is split, nothing is kept ready. */
function isGranted(permissions: readonly string[], asked: string): boolean {
  return permissions.some((each) => {
    const pattern = each
      .replaceAll(/[^A-Za-z0-9.*]/g, '\\$&')
      .replaceAll('.', '\\.')
      .replaceAll(/(?<=^|\.)\*$/g, '\u0001')
      .replaceAll(/(?<=^|\.)\*(?=\\\.)/g, '[^.]*')
      .replaceAll('\u0001', '.*');
    // A star that is left stands within a word.
    const literal = pattern.replaceAll(/(?<![\].])\*|(?<=\\\.)\*(?=.)/g, '\\*');
    return new RegExp(`^${literal}$`, 's').test(asked);
  });
}

function reference(permissions: readonly string[], asked: PermissionQuery): boolean {
  if (typeof asked === 'string') return isGranted(permissions, asked);
  const parts = ('and' in asked ? asked.and : asked.or).map((part) => reference(permissions, part));
  return 'and' in asked ? !parts.includes(false) : parts.includes(true);
}
