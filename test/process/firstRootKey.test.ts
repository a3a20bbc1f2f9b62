import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';

import { BANNER_END, Child, runToEnd, SERVE, TempFolder } from './process.ts';
import { Server } from './server.ts';
import { paste } from './documentation/shell.ts';

// Each start opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(60_000);

/** As a person or a service starts it first: the log as it is by default. */
const FIRST = { KEYSTILE_ROOT_KEY: '', KEYSTILE_LOG_LEVEL: 'info' };
const KEPT = 'root_that_was_kept_before_the_crash';

const rootKeyLine = (text: string): string => /^ {2}Root key +(.*)$/m.exec(text)?.[1] ?? '';

describe('the first start without a terminal', () => {
  test.concurrent('saves the root key in the data folder, for its owner alone, and prints it nowhere; a later start leaves it as it is', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, { settings: FIRST });
    const path = folder.join('data/root-key');
    const secret = readFileSync(path, 'utf8');
    expect(secret).toMatch(/^root_[1-9A-HJ-NP-Za-km-z]{30,}\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder.join('data')).filter((name) => name.startsWith('root-key'))).toEqual(['root-key']);
    expect(rootKeyLine(server.child.stdout)).toBe(`saved in ${path} (only its owner can read it)`);
    await server.ok('/v1/apis.createApi', { name: 'made with it' });
    expect(await server.stop()).toBe(0);
    expect(server.child.stdout + server.child.stderr).not.toContain(secret.trim());
    // Nothing follows the banner: the lines for machines are in the log.
    expect(server.child.stdout).toEndWith('Ctrl-C stops it; nothing is lost.\n');
    expect(server.child.stderr.match(/"message":"[^"]*"/g)).toEqual([
      '"message":"the service has started"',
      '"message":"the service stops"',
      '"message":"the service has stopped"',
    ]);
    await using later = await Server.start(folder, { settings: FIRST });
    expect(rootKeyLine(later.child.stdout)).toStartWith('1 root key; ');
    expect(readFileSync(path, 'utf8')).toBe(secret);
  });

  test.concurrent('its lines work as printed, from any folder, also where the path has a space and a quote', async () => {
    using folder = new TempFolder();
    const data = folder.join("it's here");
    const settings = { KEYSTILE_DATA: data, KEYSTILE_VERIFY_AUTH: 'required' };
    await using child = new Child({ settings });
    await child.printed(BANNER_END);
    const lines = /another terminal:\n(.*)\nCtrl-C/s.exec(child.stdout)?.[1] ?? '';
    expect((await paste(lines, folder)).match(/"code":"\w+"/g)).toEqual([
      '"code":"VALID"',
      '"code":"VALID"',
      '"code":"VALID"',
      '"code":"USAGE_EXCEEDED"',
    ]);
  });

  test.concurrent('only standard output counts: a log on a terminal beside a banner in a file shows no root key', async () => {
    using folder = new TempFolder();
    const command = ['sh', '-c', 'exec "$0" "$@" > "$OUT"', ...SERVE];
    const settings = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_LOG_LEVEL: 'debug' };
    await using child = new Child({
      command: ['env', `OUT=${folder.join('out')}`, ...command],
      settings,
      onTerminal: true,
    });
    // What is debugged says when the start is done.
    await child.printed(/configuration/);
    while (!existsSync(folder.join('out')) || !readFileSync(folder.join('out'), 'utf8').includes('Ctrl-C'))
      await Bun.sleep(5);
    const secret = readFileSync(folder.join('data/root-key'), 'utf8').trim();
    expect(readFileSync(folder.join('out'), 'utf8') + child.stdout).not.toContain(secret);
  });

  test.concurrent('after a crash between the file and the database the saved root key is the one that works', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data'));
    writeFileSync(folder.join('data/root-key'), `${KEPT}\n`, { mode: 0o600 });
    await using server = await Server.start(folder, { settings: FIRST });
    expect(server.rootKey).toBe(KEPT);
    await server.ok('/v1/apis.createApi', { name: 'made with it' });
    expect(readFileSync(folder.join('data/root-key'), 'utf8')).toBe(`${KEPT}\n`);
  });

  test.concurrent('a file that cannot be written is told in one sentence', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data/root-key.new'), { recursive: true });
    const { code, stderr } = await runToEnd({ settings: { KEYSTILE_DATA: folder.join('data') } });
    expect(code).toBe(78);
    expect(stderr).toMatch(/^The data folder \S+ cannot be written \(.*\)\.\n$/m);
    expect(stderr).not.toContain('bug');
  });

  test.concurrent('something else in the place of the file is not overwritten: the start says so', async () => {
    using folder = new TempFolder();
    mkdirSync(folder.join('data'));
    writeFileSync(folder.join('data/root-key'), 'my notes');
    const settings = { KEYSTILE_DATA: folder.join('data') };
    expect(await runToEnd({ settings })).toEqual({
      code: 78,
      stdout: '',
      stderr: `The first root key cannot be saved in ${folder.join('data/root-key')}: the file exists and holds something else. Move it away and start again.\n`,
    });
    expect(readFileSync(folder.join('data/root-key'), 'utf8')).toBe('my notes');
  });
});
