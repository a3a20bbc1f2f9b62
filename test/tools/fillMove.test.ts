import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { keystile } from '../process/cli/cliRun.ts';
import { PROJECT, runToEnd, TempFolder } from '../process/process.ts';
import { TestService } from '../support/service.ts';

test('the folder that measures a move has five rows for each key, and is refused where one exists', async () => {
  using folder = new TempFolder();
  const data = folder.join('data');
  // As the page shows it.
  const page = readFileSync(join(PROJECT, 'docs/move.md'), 'utf8');
  const [, command = ''] = /^(npm run \S+ --) million 1000000$/m.exec(page) ?? [];
  const fill = (...words: string[]) =>
    runToEnd({ command: [...command.split(' '), ...words], cwd: PROJECT, settings: {} });
  expect((await fill(data, '10')).code).toBe(0);
  const service = await TestService.start({ folder: data });
  await service.stop();
  const exported = await keystile(['data', 'export', folder.join('a'), '--json'], {
    environment: { KEYSTILE_DATA: data },
  });
  expect(JSON.parse(exported.out).rows).toMatchObject({ keys: 10, accounts: 10, search_words: 20, apis: 1 });
  expect((await fill(data, '10')).stderr).toContain(`${data} exists. Name a folder that does not exist.\n`);
  expect((await fill(folder.join('b'), 'many')).code).toBe(2);
});
