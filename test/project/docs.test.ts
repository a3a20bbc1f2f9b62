import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { GENERATED, regenerate } from '../../tools/scripts/generatedDocs.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';

describe('documentation', () => {
  for (const [path, make] of Object.entries(GENERATED)) {
    test(`${path} says what the code says; otherwise: npm run docs`, () => {
      const page = readFileSync(path, 'utf8');
      expect(page).toBe(regenerate(page, make()));
    });
  }

  test('the changelog names every endpoint', () => {
    const changelog = readFileSync('CHANGELOG.md', 'utf8');
    const missing = ROUTES.map(({ path }) => path.split('.').at(-1) ?? '').filter((name) => !changelog.includes(name));
    expect(missing).toEqual([]);
  });
});
