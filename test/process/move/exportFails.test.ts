import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { exportData } from '../../../src/cli/move/exportData.ts';
import type { Io } from '../../../src/cli/io.ts';
import { readConfig } from '../../../src/config/read.ts';
import { TestService } from '../../support/service.ts';
import { keystile } from '../cli/cliRun.ts';
import { PROGRAM, runToEnd, TempFolder } from '../process.ts';

test('a move that fails after the service was held for good says whether the export may be used', async () => {
  const service = await TestService.start();
  await service.createKey({ remaining: 5 });
  await service.stop();
  using folder = new TempFolder();
  const environment = { KEYSTILE_DATA: service.folder };
  const { config } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error('no configuration');
  const shown: string[] = [];
  const err = (text: string): void => void shown.push(text);
  const failed = (error: unknown): string => (error as Error).message;
  const release = () => keystile(['data', 'release', '--yes'], { environment });

  // The trailer may have arrived although its write has failed.
  const writeOut = async (bytes: Uint8Array): Promise<void> => {
    if (Buffer.from(bytes).toString().startsWith('{"rows":')) throw Object.assign(new Error(), { code: 'EPIPE' });
  };
  const toPipe = { err, isTerminal: false, writeOut } as unknown as Io;
  const call = { config, replaces: false, moves: true };
  expect(await exportData(toPipe, { ...call, file: null }).catch(failed)).toBe(
    'The export was not written: standard output was closed (EPIPE).',
  );
  expect(shown).toEqual([
    'The service is held. Check whether the import at the other end of the pipe is whole: only one of the two services may go on. If it is not whole, let this one go on with keystile data release.\n',
  ]);
  expect((await release()).out).toBe('released\n');

  // What is written goes away before it gets its name.
  const file = folder.join('export');
  const removing = (text: string): void => {
    for (const name of readdirSync(folder.path)) rmSync(folder.join(name, 'data'), { force: true });
    err(text);
  };
  const toFile = { err: removing, isTerminal: true } as unknown as Io;
  expect(await exportData(toFile, { ...call, file }).catch(failed)).toMatch(/^The export \S+ was not made \(ENOENT/);
  expect(shown).toContain(
    'The service is held, and the export is not whole. Let it go on with keystile data release.\n',
  );
  expect((await release()).out).toBe('released\n');

  // Someone else takes the name while the file is written: it is not replaced, and the service is not held.
  const taking = { err: () => writeFileSync(file, 'of a person'), isTerminal: true } as unknown as Io;
  expect(await exportData(taking, { ...call, file }).catch(failed)).toBe(
    `${file} exists. Name another file, or replace it with --force.`,
  );
  expect(readFileSync(file, 'utf8')).toBe('of a person');
  expect((await release()).err).toBe('This database is not held for a move. Nothing was changed.\n');
  rmSync(service.folder, { recursive: true });
});

test('a damaged database is told as such, also by an export to a pipe and by a release', async () => {
  using own = new TempFolder();
  for (const name of ['keystile.db', 'analytics.db']) writeFileSync(own.join(name), 'damaged'.repeat(1000));
  const environment = { KEYSTILE_DATA: own.path };
  const damaged = 'SQLITE_NOTADB: file is not a database';
  const run = (...words: string[]) => runToEnd({ command: [...PROGRAM, 'data', ...words], settings: environment });
  const [toFile, toPipe, released] = await Promise.all([
    run('export', own.join('export')),
    run('export', '-'),
    run('release', '--yes'),
  ]);
  expect([toFile.stderr, toPipe.stderr, released.stderr]).toEqual([
    `The export ${own.join('export')} was not made (${damaged}). Nothing is left of it. Check the disk and the database.\n`,
    `The export was not written (${damaged}). Check the disk and the database.\n`,
    `The data folder ${own.path} was not released (${damaged}). Check its disk, and that this user may write there. Then run the command again.\n`,
  ]);
});
