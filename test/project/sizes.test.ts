import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { FILES, ROOT } from './importGraph.ts';

describe('sizes', () => {
  /** Files over 250 lines, each with its reason. */
  const LONG: Readonly<Record<string, string>> = {
    'config/variables.ts': 'one table of every setting',
    'core/accountBook.ts': 'one account with everything that can happen to it',
    'core/records.ts': 'all records, one after the other',
    'engine/cache/keyCache.ts': 'one state machine: what is known of a digest',
    'engine/engine.ts': 'one place that makes every part of the engine and names it',
    'engine/cache/packed/packedKeys.ts': 'the rows of packed keys and everything that moves them',
    'storage/postgres/schema/generalSpendFunction.ts': 'one function inside the database',
    'storage/postgres/storage.ts': 'one place that opens, holds and closes everything of a database',
    'storage/sql/records.ts': 'one method for each question about records',
    'storage/sqlite/file/schema.ts': 'all tables, one after the other',
    'storage/sqlite/ledger/ledger.ts': 'one state machine with everything that moves it',
  };

  test('a file has at most 250 lines, or a reason', () => {
    const long = FILES.filter((path) => readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1 > 250);
    expect(long.sort()).toEqual(Object.keys(LONG).sort());
  });

  test('no file has more than 300 lines', () => {
    const folders = ['src', 'test', 'tools'].map((folder) => join(ROOT, '..', folder));
    const files = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => /\.(?:ts|mjs)$/.test(path))
        .map((path) => join(folder, path)),
    );
    expect(files.length).toBeGreaterThan(300);
    expect(files.filter((path) => readFileSync(path, 'utf8').split('\n').length - 1 > 300)).toEqual([]);
  });

  /** Folders with more than 25 files, each with its reason. */
  const WIDE: Readonly<Record<string, string>> = {
    'src/core': 'the rules of the product, one file for each',
    'src/http/routes': 'one file for each endpoint, called like it',
  };

  test('a folder has at most 25 files, or a reason: more are not found by reading the list', () => {
    const counts = new Map<string, number>();
    for (const folder of ['src', 'test', 'tools', 'sdk/src']) {
      for (const path of readdirSync(join(ROOT, '..', folder), { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:tsx?|mjs)$/.test(path)) continue;
        const parent = dirname(join(folder, path));
        counts.set(parent, (counts.get(parent) ?? 0) + 1);
      }
    }
    expect([...counts].filter(([, count]) => count > 25).map(([name]) => name)).toEqual(Object.keys(WIDE));
  });
});
