import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { exportData, toDataError } from '../../../src/cli/move/exportData.ts';
import type { Io } from '../../../src/cli/io.ts';
import { readConfig } from '../../../src/config/read.ts';
import { TestService } from '../../support/service.ts';
import { keystile } from '../cli/cliRun.ts';
import { PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { failingMove } from './failingMove.ts';

test('a move that fails after the source was marked says whether the export may be used', async () => {
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
    'The service does not start again. Check whether the import at the other end of the pipe is whole: only one of the two services may run. If it is not whole, run keystile data release to use this one again.\n',
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
    'The export is not whole, and the service does not start until you run keystile data release.\n',
  );
  expect((await release()).out).toBe('released\n');

  // Someone else takes the name while the file is written: it is not replaced, and the service is not moved.
  const taking = { err: () => writeFileSync(file, 'of a person'), isTerminal: true } as unknown as Io;
  expect(await exportData(taking, { ...call, file }).catch(failed)).toBe(
    `${file} exists. Name another file, or replace it with --force.`,
  );
  expect(readFileSync(file, 'utf8')).toBe('of a person');
  expect((await release()).err).toBe('This database was not moved. Nothing was changed.\n');
  rmSync(service.folder, { recursive: true });
});

test('a move of a service that an earlier move has marked, and that fails, says what a release would risk', async () => {
  const service = await TestService.start();
  await service.stop();
  const environment = { KEYSTILE_DATA: service.folder };
  const first = await keystile(['data', 'export', join(service.folder, 'first'), '--move'], { environment });
  expect(first.code).toBe(0);
  expect(await failingMove(environment, async () => true)).toEqual({
    failure: 'The export was not written: standard output was closed (EPIPE).',
    shown: [
      'An earlier export with --move has already moved the service. Run keystile data release only if that export is not used.\n',
    ],
  });
  rmSync(service.folder, { recursive: true });
});

test('a release asks first, and says what must then never happen', async () => {
  using folder = new TempFolder();
  const environment = { KEYSTILE_DATA: folder.path };
  expect(await keystile(['data', 'release'], { environment, answered: 'n' })).toEqual({
    code: 1,
    out: '',
    err: `Let the service on the data in ${folder.path} spend again. The exported data must then never be used. Continue? [y/N] Nothing was changed.\n`,
  });
});

test('a failure after the file has its name does not tell that nothing is left of it', () => {
  const error = Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  const told = (mayBeWhole: boolean): string => (toDataError(error, '/exports/file', { mayBeWhole }) as Error).message;
  expect([told(false), told(true)]).toEqual([
    'The export /exports/file was not made (EIO: i/o error, fsync). Nothing is left of it. Check the disk and the database.',
    'The export /exports/file was made, but a crash could still lose it (EIO: i/o error, fsync). Check the disk and the export.',
  ]);
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
    `The data folder ${own.path} was not released (${damaged}). Check its disk, and whether this user may write there. Then run the command again.\n`,
  ]);
});
