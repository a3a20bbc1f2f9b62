import { match, strictEqual } from 'node:assert';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { fromProjectRoot } from '../launch/project.mjs';
import { asker, blocksIn, emptyFolder, startKeystile } from './example.mjs';
import { freePort, Program } from './program.mjs';

const README = readFileSync(fromProjectRoot('clients/go/README.md'), 'utf8');

describe('clients/go/README.md, from an empty folder', async () => {
  const folder = emptyFolder();
  const { url, newKey } = await startKeystile();
  const port = await freePort();
  const asHere = (text) =>
    text.replaceAll('http://127.0.0.1:7878', url).replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);
  const [beginning, start] = blocksIn(README, 'sh');
  const [program] = blocksIn(README, 'go');

  test('its blocks, in the order of the page, run its program: the module that the service hands out is all that it needs', async () => {
    // Nobody is asked for a module.
    const environment = { GOPROXY: 'off' };
    const preparing = new Program({ folder, lines: asHere(beginning), environment });
    strictEqual(await preparing.ended(), 0, preparing.output);
    const project = join(folder, 'my-api');
    writeFileSync(join(project, 'main.go'), asHere(program));
    const running = new Program({ folder: project, lines: start, environment });
    after(() => running.stop());
    await running.listens(port);
    const ask = asker(`http://127.0.0.1:${port}`);
    const { status, body } = await ask('/orders', await newKey());
    strictEqual(status, 200);
    match(body, /^hello key_/);
    strictEqual((await ask('/orders')).status, 401);
  });
});
