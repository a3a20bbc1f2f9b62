import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { STYLE_PATH, VIEWER_PATH } from '../../src/http/docs/assets.ts';
import { PROJECT, programOf, SERVE, TempFolder } from './process.ts';
import { Server } from './server.ts';

const FILES = [
  [STYLE_PATH, 'src/http/docs/assets/pages.css'],
  ['/docs/guides/verification.svg', 'docs/verification.svg'],
] as const;

test.each([
  ['from its sources', [...programOf(PROJECT), 'serve']],
  ['from a bundle', SERVE],
])('the program finds the files that it serves and its thread: %s', async (_, command) => {
  using folder = new TempFolder();
  await using server = await Server.start(folder, { command });
  for (const [path, file] of FILES) {
    const served = await fetch(server.url + path);
    expect([path, served.status, await served.text()]).toEqual([path, 200, readFileSync(join(PROJECT, file), 'utf8')]);
  }
  for (const path of ['/docs/guides/keys', VIEWER_PATH]) {
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
  }
  const { key } = await server.createKey({ remaining: 5 });
  expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 4 });
});
