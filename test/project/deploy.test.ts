import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';

import { VARIABLES } from '../../src/config/variables.ts';
import { VERSION } from '../../src/version.ts';

const FILES = readdirSync('deploy', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => `${parentPath}/${name}`)
  .map((path) => [path, readFileSync(path, 'utf8')] as const);
const SETTINGS = Object.values(VARIABLES).flatMap(({ name }) => [name, `${name}_FILE`]);

test.each(FILES)('%s names only settings that exist, and this version', (_, text) => {
  for (const [name] of text.matchAll(/KEYSTILE_[A-Z_]+/g)) expect(SETTINGS).toContain(name);
  for (const [, version] of text.matchAll(/image: keystile:(\S+)/g)) expect(version).toBe(VERSION);
});

test('the image is built from what is committed, and holds no data of its maker', () => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
  for (const name of ['.git', 'node_modules', 'data', 'dist']) expect(ignored).toContain(name);
});
