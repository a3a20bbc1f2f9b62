import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ROOT } from './importGraph.ts';

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
  test('no file has more than 800 lines', () => {
    const files = ['src', 'test', 'tools', 'web'].flatMap(filesOf);
    expect(files.length).toBeGreaterThan(300);
    expect(files.filter((path) => linesIn(path) > 800)).toEqual([]);
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
