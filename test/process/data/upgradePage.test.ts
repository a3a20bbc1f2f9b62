import { expect, test } from 'bun:test';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { copyFixture } from '../../support/fixtures/databases.ts';
import { NextProgram } from '../nextProgram.ts';
import { PROGRAM, PROJECT, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

test('docs/upgrade.md, one node: a backup, the newer version, and back to the version before with the state of the backup', async () => {
  using folder = new TempFolder();
  using next = new NextProgram();
  next.setVersion('99.0.0');
  next.addToEmbedded('ALTER TABLE apis ADD COLUMN note TEXT;');
  const { keys, rootKey } = copyFixture(`v${SCHEMA_VERSION}`, folder.join('data'));
  const settings = { KEYSTILE_ROOT_KEY: rootKey };
  const page = readFileSync(join(PROJECT, 'docs/upgrade.md'), 'utf8');
  const [, shown = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const remaining = async (server: Server): Promise<unknown> =>
    ((await server.verify(keys.credits.key)) as { remaining?: number }).remaining;
  {
    await using older = await Server.start(folder, { settings });
    expect(await remaining(older)).toBe(95);
    const keystile = `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`;
    const command = ['sh', '-ec', `${keystile}\n${shown}`];
    const made = await runToEnd({ command, settings: { KEYSTILE_DATA: folder.join('data') }, cwd: folder.path });
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^backup +sound: /m)]);
    expect(await remaining(older)).toBe(94);
    expect(await older.stop()).toBe(0);
  }
  {
    await using newer = await Server.start(folder, { settings, command: next.serve });
    expect(newer.child.stdout).toStartWith('Keystile 99.0.0\n');
    expect(await remaining(newer)).toBe(93);
    expect(await newer.stop()).toBe(0);
  }
  const data = folder.join('data');
  const refused = await runToEnd({ settings: { ...settings, KEYSTILE_DATA: data } });
  expect([refused.code, refused.stderr]).toEqual([
    78,
    `The database in ${data} has schema version ${SCHEMA_VERSION + 1}, and this program knows up to ${SCHEMA_VERSION}. Start it with the newer program that wrote it.\n`,
  ]);
  renameSync(data, folder.join('data-99'));
  const restore = ['backup', 'restore', folder.join('before-upgrade.backup'), '--data', data, '--accept'];
  expect((await runToEnd({ command: [...PROGRAM, ...restore] })).code).toBe(0);
  await using back = await Server.start(folder, { settings });
  // What was spent after the backup is there again.
  expect(await remaining(back)).toBe(94);
});
