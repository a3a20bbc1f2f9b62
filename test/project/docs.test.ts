import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { DRAWN, GENERATED, regenerate } from '../../tools/scripts/generatedDocs.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';

const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...markdownIn('docs'), ...markdownIn('docs/adr')];

function markdownIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

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

  for (const page of PAGES) {
    test(`every link in ${page} leads somewhere`, () => {
      const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(
        (match) => match[1] ?? '',
      );
      const broken = links.filter((link) => !existsSync(join(dirname(page), link)));
      expect(broken).toEqual([]);
    });
  }

  test('the changelog names every endpoint', () => {
    const changelog = readFileSync('CHANGELOG.md', 'utf8');
    const missing = ROUTES.map(({ path }) => path.split('.').at(-1) ?? '').filter((name) => !changelog.includes(name));
    expect(missing).toEqual([]);
  });

  test('every test file that the README names exists', () => {
    const named = [...readFileSync('README.md', 'utf8').matchAll(/npm test -- (test\/\S+?\.ts)/g)].map(
      (match) => match[1] ?? '',
    );
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });
});
