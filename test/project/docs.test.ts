import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { readSpeed, speedText, withRun } from '../../tools/bench/speed.ts';
import { DRAWN, GENERATED, regenerate } from '../../tools/scripts/generatedDocs.ts';
import type { Results } from '../../tools/bench/goals.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';

describe('documentation', () => {
  for (const [path, make] of Object.entries(GENERATED)) {
    test(`${path} equals its source; if not, run \`npm run docs\``, () => {
      const page = readFileSync(path, 'utf8');
      expect(page).toBe(regenerate(page, make()));
    });
  }

  for (const [path, make] of Object.entries(DRAWN)) {
    test(`${path} is drawn from its figures; if not, run \`npm run docs\``, () => {
      expect(readFileSync(path, 'utf8')).toBe(make());
    });
  }

  test('docs/speed.json is written as `npm run bench -- --publish` writes it, which adds a run and keeps the newest five', () => {
    const speed = readSpeed();
    expect(readFileSync('docs/speed.json', 'utf8')).toBe(speedText(speed));
    const subject = { perSecond: 12_345.6, p50Ms: 1.234, p99Ms: 5.678 };
    const comparison = { ratio: { median: 0.333, min: 0, max: 1 }, subject };
    const rows = { local: comparison, strict: comparison, credits: comparison };
    const results = { counters: [], postgres: { oneNode: rows, twoNodes: rows, strictCrowd: comparison } };
    const published = withRun(speed, results as unknown as Results, 'another machine');
    const strict = speed.rows.find(({ name }) => name === 'postgres-strict')?.runs ?? [];
    expect(published.rows.find(({ name }) => name === 'postgres-strict')).toEqual({
      name: 'postgres-strict',
      runs: [...strict.slice(-4), { ratio: 0.33, perSecond: 12_300, p50Ms: 1.23, p99Ms: 5.68 }],
    });
    expect(published.rows.find(({ name }) => name === 'local')).toEqual(
      speed.rows.find(({ name }) => name === 'local'),
    );
  });

  test('the changelog names every endpoint', () => {
    const changelog = readFileSync('CHANGELOG.md', 'utf8');
    const missing = ROUTES.map(({ path }) => path.split('.').at(-1) ?? '').filter((name) => !changelog.includes(name));
    expect(missing).toEqual([]);
  });
});
