import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { remainingIn } from '../documentation/offline.ts';
import { PROGRAM, PROJECT, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

test('what docs/move.md shows works while a service runs, and the new folder has the same balance', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  const { keyId, key } = await server.createKey({ remaining: 5 });
  await server.verify(key);
  const page = readFileSync(join(PROJECT, 'docs/move.md'), 'utf8');
  const [, shown = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const keystile = `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`;
  const { code, stdout, stderr } = await runToEnd({
    command: ['sh', '-ec', `${keystile}\n${shown}`],
    settings: { KEYSTILE_DATA: folder.join('data') },
    cwd: folder.path,
  });
  expect([code, stderr]).toEqual([0, expect.stringContaining('The export was made without --move at ')]);
  expect(stdout).toMatch(/^export +keystile\.ndjson$[\s\S]*^imported +moved$/m);
  expect(await remainingIn(folder.join('moved'), keyId)).toBe(4);
});
