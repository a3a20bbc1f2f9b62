import { expect, test } from 'bun:test';
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { copyPresentFixture } from '../../support/fixtures/databases.ts';
import { NextProgram } from '../nextProgram.ts';
import { PROGRAM, PROJECT, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

/** Stands for the commands of the page: `sudo` is not needed here, and the service is started and stopped by the test. */
const COMMANDS = [
  `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`,
  'sudo() { "$@"; }',
  'systemctl() { :; }',
  'install() { :; }',
].join('\n');

test('docs/upgrade.md, one node: a backup, the newer version, and back to the version before with the state of the backup', async () => {
  using folder = new TempFolder();
  using next = new NextProgram();
  next.setVersion('99.0.0');
  next.addToEmbedded('ALTER TABLE apis ADD COLUMN note TEXT;');
  // As systemd makes it for a service with a user of its own.
  mkdirSync(folder.join('var/lib/private'), { recursive: true });
  mkdirSync(folder.join('var/backups'));
  symlinkSync('private/keystile', folder.join('var/lib/keystile'));
  const data = folder.join('var/lib/keystile');
  const { keys, rootKey } = copyPresentFixture(folder.join('var/lib/private/keystile'));
  const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: data };
  const page = readFileSync(join(PROJECT, 'docs/upgrade.md'), 'utf8');
  const [, shown = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const [, wayBack = ''] = /^### Back to the version before\n[\s\S]*?^```\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const run = (commands: string) =>
    runToEnd({
      command: ['sh', '-ec', `${COMMANDS}\n${commands.replaceAll('/var/', `${folder.path}/var/`)}`],
      settings: { KEYSTILE_DATA: data },
      cwd: folder.path,
    });
  const remaining = async (server: Server): Promise<unknown> =>
    ((await server.verify(keys.credits.key)) as { remaining?: number }).remaining;
  {
    await using older = await Server.start(folder, { settings });
    expect(await remaining(older)).toBe(95);
    const made = await run(shown);
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
  const refused = await runToEnd({ settings });
  expect([refused.code, refused.stderr]).toEqual([
    78,
    `The database in ${data} has schema version ${SCHEMA_VERSION + 1}, and this program knows up to ${SCHEMA_VERSION}. Start it with the newer program that wrote it.\n`,
  ]);
  renameSync(folder.join('before-upgrade.backup'), folder.join('var/backups/before-upgrade.backup'));
  expect(await run(wayBack)).toMatchObject({ code: 0, stdout: expect.stringContaining('restored ') });
  // systemd refuses a folder in the place of the link.
  expect(lstatSync(data).isSymbolicLink()).toBe(true);
  expect(readdirSync(folder.join('var/lib/private')).sort()).toEqual(['keystile', 'keystile-0.2']);
  await using back = await Server.start(folder, { settings });
  // What was spent after the backup is there again.
  expect(await remaining(back)).toBe(94);
});
