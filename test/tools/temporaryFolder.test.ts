import { afterEach, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The launcher runs in Node and is written in JavaScript. */
const launcher = '../../tools/launch/test/temporaryFolder.mjs';
const { withTemporaryFolder } = (await import(launcher)) as {
  withTemporaryFolder: <T>(work: (temporary: { readonly TMPDIR?: string }) => Promise<T>) => Promise<T>;
};

const given = process.env['TMPDIR'];

afterEach(() => {
  if (given === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = given;
});

test('the temporary files of a run are gone after it, also when the run failed', async () => {
  delete process.env['TMPDIR'];
  let seen: string | undefined;
  const run = withTemporaryFolder(async ({ TMPDIR }) => {
    seen = TMPDIR;
    if (TMPDIR !== undefined) writeFileSync(join(TMPDIR, 'some.db'), 'x');
    throw new Error('stopped');
  });
  expect(await run.catch(String)).toBe('Error: stopped');
  expect(seen === undefined || !existsSync(seen)).toBe(true);
});

test('a run removes what a killed run left in memory', async () => {
  delete process.env['TMPDIR'];
  const ended = Bun.spawnSync(['true']).pid;
  const leftBehind = `/dev/shm/keystile-test-${ended}-killed`;
  if (existsSync('/dev/shm')) mkdirSync(leftBehind);
  await withTemporaryFolder(async () => {});
  const isThere = existsSync(leftBehind);
  rmSync(leftBehind, { recursive: true, force: true });
  expect(isThere).toBe(false);
});

test('TMPDIR chooses another folder', async () => {
  process.env['TMPDIR'] = '/var/tmp';
  expect(await withTemporaryFolder(async (temporary) => temporary)).toEqual({});
});
