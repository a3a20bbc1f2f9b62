import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { STYLE_PATH, VIEWER_PATH } from '../../src/http/docs/site.ts';
import { makeBinary } from '../../tools/binary/makeBinary.ts';
import { PROJECT, programOf, SERVE, TempFolder } from './process.ts';
import { Server } from './server.ts';

const FILES = [
  [STYLE_PATH, 'src/http/docs/assets/pages.css'],
  ['/docs/guides/verification.svg', 'docs/verification.svg'],
] as const;

const elsewhere = new TempFolder();
const BINARY = elsewhere.join('keystile');
beforeAll(() => makeBinary(BINARY, null));
afterAll(() => elsewhere[Symbol.dispose]());

test.each([
  ['from its sources', [...programOf(PROJECT), 'serve'], PROJECT],
  ['from a bundle', SERVE, PROJECT],
  ['from one executable file', [BINARY, 'serve'], elsewhere.path],
])('the program finds the files that it serves and its thread: %s', async (_, command, cwd) => {
  using folder = new TempFolder();
  await using server = await Server.start(folder, { command, cwd });
  for (const [path, file] of FILES) {
    const served = await fetch(server.url + path);
    expect([path, served.status, await served.text()]).toEqual([path, 200, readFileSync(join(PROJECT, file), 'utf8')]);
  }
  const dashboard = await (await fetch(`${server.url}/dashboard`)).text();
  const loaded = [...dashboard.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(loaded.length).toBeGreaterThan(1);
  for (const path of ['/docs/guides/keys', VIEWER_PATH, ...loaded]) {
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
  }
  const { key } = await server.createKey({ remaining: 5 });
  expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 4 });
});
