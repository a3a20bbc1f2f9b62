import { expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';

import { VERDICT_CODES } from '../../src/core/verdictCodes.ts';
import { until } from '../../tools/cluster/wait.ts';
import { Child, PROGRAM, runToEnd, SERVE, TempFolder } from './process.ts';

const run = (settings: Record<string, string>, ...words: string[]) =>
  runToEnd({ settings, command: [...PROGRAM, ...words] });

test('serve --demo has customers, a month of counts, traffic, and a key for each verdict; keystile top shows it', async () => {
  using backups = new TempFolder();
  let sentToCollector = 0;
  using collector = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(`${++sentToCollector}`) });
  const real = {
    KEYSTILE_ROOT_KEY: 'root_of_a_real_installation',
    KEYSTILE_BACKUP_FOLDER: backups.path,
    KEYSTILE_OTLP_ENDPOINT: collector.url.origin,
    KEYSTILE_DATA: backups.join('real'),
    // Each would refuse what the demo fills itself with.
    KEYSTILE_DEFAULT_PLAN: 'free',
    KEYSTILE_IDENTITIES_MUST_EXIST: 'on',
    KEYSTILE_MAX_KEYS: '5',
    KEYSTILE_MAX_APIS: '1',
    KEYSTILE_MAX_MANAGEMENT_CALLS_PER_SECOND: '5',
    KEYSTILE_MAX_VERIFICATIONS_PER_SECOND: '1',
    KEYSTILE_VERIFY_AUTH: 'required',
    KEYSTILE_TIMEZONE: 'Asia/Tokyo',
  };
  await using child = new Child({ command: [...SERVE, '--demo'], settings: real });
  await child.printed(/keystile top$/m);
  const find = (pattern: RegExp): string => pattern.exec(child.stdout)?.[1] ?? '';
  const [url, rootKey] = [find(/^ {2}API +(http:\S+)/m), find(/^ {2}Root key {2}(root_\S+)$/m)];
  const ask = async (method: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${rootKey}` };
    const answer = await fetch(`${url}/v1/${method}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return [answer.status, await answer.json()] as [number, Record<string, never>];
  };

  expect(child.stderr.split('\n')[0]).toContain(
    'serve --demo has a folder and a database of its own, so KEYSTILE_DATA is ignored.',
  );
  const ignored = Object.keys(real).filter((name) => !/_(ROOT_KEY|BACKUP_FOLDER|OTLP_ENDPOINT|DATA)$/.test(name));
  const told = /takes only settings that are about this machine\. Ignored: ([A-Z_, ]+)\./.exec(child.stderr)?.[1] ?? '';
  expect(told.split(', ').toSorted()).toEqual(ignored.toSorted());
  expect(child.stdout).toContain('\nStatements begin today with everything spent since the last refill; ');
  // The banner names no command that would make a root key somewhere else.
  expect(child.stdout).not.toContain('root-key create');

  const keys = [...child.stdout.matchAll(/^ {2}([A-Z_]+) +(demo_\S+)(?: {2}with (.*))?$/gm)];
  expect(keys.map(([, code = '']) => code).toSorted()).toEqual([...VERDICT_CODES].toSorted());
  for (const [, code, key, asks] of keys) {
    const asked = { key, ...(asks === undefined ? {} : (JSON.parse(asks) as object)) };
    await until(`the key answers ${code}`, async () => (await ask('keys.verifyKey', asked))[1]['code'] === code);
  }

  const totals = ['apis.listApis', 'plans.listPlans', 'identities.listIdentities'].map(async (method) => {
    return (await ask(method, {}))[1]['total'];
  });
  expect(await Promise.all(totals)).toEqual([3, 3, 200] as never);
  const settings = { KEYSTILE_URL: url, KEYSTILE_ROOT_KEY: rootKey };
  const look = JSON.parse((await run(settings, 'top', '--json')).stdout) as { minutes: { total: number }[] };
  expect(look.minutes.length).toBe(60);
  // The present minute may have just begun.
  expect(look.minutes.slice(0, -1).every(({ total }) => total > 0)).toBe(true);
  const shown = await run(settings, 'top');
  expect([shown.code, shown.stderr]).toEqual([0, '']);
  expect(shown.stdout).toMatch(/^Keystile \S+ {2}.* UTC {2}1 node\n/);
  expect(shown.stdout).toMatch(/^key_\w+ +customer_\d{3} +\w+ API +\d+ +\d+$/m);
  expect(shown.stdout).toContain('No problems.');

  const folder = find(/^ {2}Data +(\S+)/m);
  expect(existsSync(folder)).toBe(true);
  child.signal('SIGTERM');
  expect([await child.exited(), existsSync(folder)]).toEqual([0, false]);
  // Settings of a real installation have no part in it.
  expect([child.stdout.includes(real.KEYSTILE_ROOT_KEY), readdirSync(backups.path)]).toEqual([false, []]);
  // A stop sends what is left.
  expect(sentToCollector).toBe(0);
});

test('serve --demo leaves the database of a real installation alone', async () => {
  const settings = { KEYSTILE_DATABASE_URL: 'postgres://127.0.0.1:1/keystile' };
  await using child = new Child({ command: [...SERVE, '--demo'], settings });
  await child.printed(/keystile top$/m);
  expect(child.stderr.split('\n')[0]).toContain(
    'serve --demo has a folder and a database of its own, so KEYSTILE_DATABASE_URL is ignored.',
  );
});

test('Ctrl-C ends keystile top at once, also while the service does not answer', async () => {
  const asked = Promise.withResolvers<void>();
  const hang = () => {
    asked.resolve();
    return new Promise<Response>(() => {});
  };
  using hanging = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: hang });
  const settings = { KEYSTILE_URL: hanging.url.origin, KEYSTILE_ROOT_KEY: 'root_that_is_not_checked' };
  await using child = new Child({ command: [...PROGRAM, 'top'], settings, onTerminal: true });
  await asked.promise;
  child.signal('SIGINT');
  expect([await child.exited(), child.stdout]).toEqual([0, '']);
  void hanging.stop(true);
});

test.each<[Record<string, string>, string, ...string[]]>([
  [{}, 'serve --demo makes no backups. Leave --backup-folder out.', '--backup-folder', '/tmp'],
  [{}, 'serve --demo makes no backups. Leave --backup-every out.', '--backup-every', '1h'],
  [
    { KEYSTILE_BACKUP_FOLDER: '/tmp' },
    'serve --demo makes no backups. Leave --backup-every and --backup-keep out.',
    '--backup-every=1h',
    '--backup-keep=3',
  ],
  [{}, 'serve --demo sends nothing to a collector. Leave --otlp-headers out.', '--otlp-headers', 'a=b'],
  [{}, 'serve --demo makes a root key of its own. Leave --root-key out.', '--root-key', 'root_given'],
  [
    {},
    'serve --demo sends nothing to a collector. Leave --otlp-endpoint out.',
    '--otlp-endpoint',
    'http://127.0.0.1:1',
  ],
  [
    {},
    'serve --demo takes only settings that are about this machine. Leave --default-plan and --max-keys out.',
    '--default-plan=free',
    '--max-keys=5',
    '--port=0',
  ],
  [{}, 'serve --demo has a folder of its own. Leave --data out.', '--data', '/var/lib/keystile'],
  [
    {},
    'serve --demo has a database of its own. Leave --database-url out.',
    '--database-url',
    'postgres://127.0.0.1:1/keystile',
  ],
])('serve --demo never comes near a real installation: %j, %s', async (settings, message, ...words) => {
  const refused = await run(settings, 'serve', '--demo', ...words);
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toStartWith(message);
});

test('serve --demo says which folder it needs, and showing the configuration makes none', async () => {
  using folder = new TempFolder();
  const missing = folder.join('absent');
  expect(await run({ TMPDIR: missing }, 'serve', '--demo')).toEqual({
    code: 1,
    stdout: '',
    stderr: `No folder for the demo can be made in ${missing} (ENOENT). Set TMPDIR to another folder.\n`,
  });
  expect((await run({ TMPDIR: folder.path }, 'serve', '--demo', '--show-config')).code).toBe(0);
  expect(readdirSync(folder.path)).toEqual([]);
});
