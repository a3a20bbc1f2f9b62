import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { FILES, ROOT } from './importGraph.ts';

const PROJECT = join(ROOT, '..');

/** The sources in a folder of the project, by their path in the project. */
function filesOf(folder: string): string[] {
  return readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:tsx?|mjs)$/.test(path))
    .map((path) => join(folder, path));
}

function linesIn(path: string): number {
  return readFileSync(join(PROJECT, path), 'utf8').split('\n').length - 1;
}

describe('sizes', () => {
  /** Files over 250 lines, each with its reason. */
  const LONG: Readonly<Record<string, string>> = {
    'compose.ts': 'the one place where everything is put together',
    'config/variables.ts': 'one table of every setting',
    'core/accountBook.ts': 'one account with everything that can happen to it',
    'core/records.ts': 'all records, one after the other',
    'engine/cache/keyCache.ts': 'one state machine: what is known of a digest',
    'engine/verify/verifier.ts': 'one state machine: how a verification is decided, and decided again',
    'engine/engine.ts': 'one place that makes every part of the engine and names it',
    'engine/cache/packed/packedKeys.ts': 'the rows of packed keys and everything that moves them',
    'storage/postgres/ledger/ledger.ts': 'one state machine with everything that moves it',
    'http/front/responder.ts': 'one state machine: the answers of a connection, to its end',
    'storage/postgres/schema/generalSpendFunction.ts': 'one function inside the database',
    'storage/postgres/storage.ts': 'one place that opens, holds and closes everything of a database',
    'storage/sql/records.ts': 'one method for each question about records',
    'storage/sqlite/file/schema.ts': 'all tables, one after the other',
    'storage/sqlite/ledger/ledger.ts': 'one state machine with everything that moves it',
  };

  test('a file has at most 250 lines, or a reason', () => {
    const long = FILES.filter((path) => linesIn(join('src', path)) > 250);
    expect(long.sort()).toEqual(Object.keys(LONG).sort());
    expect(filesOf('web').filter((path) => linesIn(path) > 250)).toEqual([]);
  });

  test('no file has more than 300 lines', () => {
    const files = ['src', 'test', 'tools', 'web'].flatMap(filesOf);
    expect(files.length).toBeGreaterThan(300);
    expect(files.filter((path) => linesIn(path) > 300)).toEqual([]);
  });

  /** Folders with more than 25 files, each with its reason. */
  const WIDE: Readonly<Record<string, string>> = {
    'src/core': 'the rules of the product, one file for each',
    'src/http/routes': 'one file for each endpoint, called like it',
  };

  test('a folder has at most 25 files, or a reason: more are not found by reading the list', () => {
    const counts = new Map<string, number>();
    for (const path of ['src', 'test', 'tools', 'web', 'sdk/src'].flatMap(filesOf))
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 25).map(([name]) => name)).toEqual(Object.keys(WIDE));
  });
});
