import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { PROGRAM, PROJECT, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

test('what docs/backup.md shows works while a service runs', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  await server.createKey({ remaining: 5 });
  const page = readFileSync(join(PROJECT, 'docs/backup.md'), 'utf8');
  const [, shown = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const keystile = `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`;
  const { code, stdout, stderr } = await runToEnd({
    command: ['sh', '-ec', `${keystile}\n${shown}`],
    settings: { KEYSTILE_DATA: folder.join('data') },
    cwd: folder.path,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^backup +\S+keystile\.backup$[\s\S]*^backup +sound: [\s\S]*^restored +\S+restored$/m);
  expect(stderr).toEndWith('Correct both before clients use the service.\n');
});
