import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';

import { offline } from '../documentation/offline.ts';
import { runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const REQUIRED = { KEYSTILE_REQUIRE_DATA: '1' };

const refusal = (data: string): string =>
  `There is no keystile.db in the data folder ${data}, and KEYSTILE_REQUIRE_DATA is on: no new installation is begun. ` +
  'Check KEYSTILE_DATA, and that its disk is mounted. For a first start, turn KEYSTILE_REQUIRE_DATA off.\n';

test('where data is required, a start without it is refused with 78 and makes nothing, as a command does', async () => {
  using folder = new TempFolder();
  const data = folder.join('mnt/data');
  const start = () => runToEnd({ settings: { KEYSTILE_DATA: data, ...REQUIRED } });
  expect(await start()).toMatchObject({ code: 78, stdout: '', stderr: refusal(data) });
  expect(existsSync(folder.join('mnt'))).toBe(false);
  // The folder in which a disk would be mounted.
  mkdirSync(data, { recursive: true });
  expect(await start()).toMatchObject({ code: 78, stdout: '', stderr: refusal(data) });
  expect(await offline(data, ['root-key', 'create', '--right', '*'], REQUIRED)).toEqual({
    code: 1,
    out: '',
    err: refusal(data),
  });
  expect(readdirSync(data)).toEqual([]);
});

test('where data is required and there, the service starts; without its database, nothing takes its place', async () => {
  using folder = new TempFolder();
  for (const settings of [{}, REQUIRED]) {
    await using server = await Server.start(folder, { settings });
    expect(await server.stop()).toBe(0);
  }
  const data = folder.join('data');
  rmSync(`${data}/keystile.db`);
  const left = readdirSync(data).toSorted();
  for (const settings of [{}, REQUIRED]) {
    const { code, stderr } = await runToEnd({ settings: { KEYSTILE_DATA: data, ...settings } });
    expect([code, stderr]).toEqual([
      78,
      settings === REQUIRED
        ? refusal(data)
        : expect.stringMatching(
            /^The data folder \S+ has no keystile\.db, but commit number \d+ was already confirmed/,
          ),
    ]);
    expect(readdirSync(data).toSorted()).toEqual(left);
  }
});
