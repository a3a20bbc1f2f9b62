import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { overAll, sumOf } from '../../tools/bench/statistics.ts';
import { keystile } from '../process/cli/cliRun.ts';
import { PROJECT, runToEnd, TempFolder } from '../process/process.ts';
import { TestService } from '../support/service.ts';

test('a quantity over all pairs counts what is rare, and a pair in which the machine hung counts little', () => {
  const cost = (pairs: readonly (readonly [seconds: number, requests: number])[]): number =>
    sumOf(pairs, ([seconds]) => seconds) / sumOf(pairs, ([, requests]) => requests);
  const usual = Array.from({ length: 9 }, () => [1, 100] as const);
  expect(overAll(usual, cost)).toEqual({ quotient: 0.01, error: 0 });
  expect(overAll([...usual, [2, 100]], cost).quotient).toBe(0.011);
  expect(overAll([...usual, [0.1, 1]], cost).quotient).toBeCloseTo(0.0101, 6);
  // Of a mean, the jackknife is its standard error.
  const mean = (values: readonly number[]): number => sumOf(values, (value) => value) / values.length;
  expect(overAll([1, 2, 3], mean)).toEqual({ quotient: 2, error: expect.closeTo(Math.sqrt(1 / 3), 12) as number });
});

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
