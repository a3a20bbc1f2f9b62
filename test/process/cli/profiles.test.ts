import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { PROGRAM, TempFolder } from '../process.ts';
import { keystile, type Ran, type RunSetup, SILENT_PORT, type Situation, withServer } from './cliRun.ts';

setDefaultTimeout(20_000);

const SILENT_URL = `http://127.0.0.1:${SILENT_PORT}`;

describe('profiles', () => {
  let service: Situation;
  let url: string;
  let home: TempFolder;
  beforeAll(async () => {
    service = await withServer();
    url = `http://127.0.0.1:${service.environment['KEYSTILE_PORT']}`;
    await service.ok('api', 'create', 'payments');
  });
  afterAll(() => service[Symbol.asyncDispose]());
  beforeEach(() => void (home = new TempFolder()));
  afterEach(() => home[Symbol.dispose]());

  /** A user with a home folder and no settings. */
  const run = (text: string, { environment = {}, ...setup }: RunSetup = {}): Promise<Ran> =>
    keystile(text.split(' '), { ...setup, environment: { HOME: home.join('home'), ...environment } });
  const login = (name = ''): Promise<Ran> =>
    run(`login ${name}`.trim() + ` --url ${url} --root-key -`, { stdin: service.rootKey });
  const file = (): string => home.join('home/.config/keystile/profiles.json');

  test('after a login, commands need no settings', async () => {
    expect(await login()).toEqual({ code: 0, out: `Logged in to ${url} as the profile default.\n`, err: '' });
    expect((await run('api list')).out).toContain('payments');
    expect((await run('customer list')).code).toBe(0);
  });

  test('the file can be read by its user alone, and a file that others can read is refused', async () => {
    await login();
    expect([statSync(file()).mode & 0o777, statSync(dirname(file())).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(dirname(file()))).toEqual(['profiles.json']);
    chmodSync(file(), 0o640);
    expect((await run('api list')).err).toBe(
      `Other users can read ${file()}, which holds root keys. Run: chmod 600 ${file()}\n`,
    );
  });

  test('on a terminal, the address and the root key are asked for', async () => {
    const { code } = await run('login', { answered: `${url}/`, typed: service.rootKey });
    expect([code, (await run('profile list --json')).out]).toEqual([
      0,
      `${JSON.stringify({ profiles: [{ name: 'default', url, current: true }] })}\n`,
    ]);
    expect((await run('login', { answered: 'example.com', typed: 'x' })).err).toContain(
      'The URL must be a URL with http or https, got "example.com".\n',
    );
  });

  test('a service of a profile that does not answer is named by the profile', async () => {
    await login('two');
    const stored = JSON.parse(readFileSync(file(), 'utf8'));
    stored.profiles.two.url = SILENT_URL;
    writeFileSync(file(), JSON.stringify(stored), { mode: 0o600 });
    for (const words of ['api list', 'api list --profile two']) {
      expect((await run(words)).err).toContain(
        'Check that the server is running and that the URL of the profile "two" is right.',
      );
    }
    const environment = { KEYSTILE_ROOT_KEY: service.rootKey };
    expect((await run(`api list --url ${SILENT_URL}`, { environment })).err).toContain('and that --url is right.');
  });

  test('what the service refuses is not stored', async () => {
    const stdin = 'root_that_the_service_never_made';
    expect(await run(`login --url ${url} --root-key -`, { stdin })).toEqual({
      code: 1,
      out: '',
      err: 'This root key is unknown. Check that it is complete, and that it is one of this service.\n',
    });
    expect((await run(`login --url ${SILENT_URL} --root-key -`, { stdin })).code).toBe(1);
    expect((await run('profile list')).out).toBe('NAME  URL  CURRENT\n');
  });

  test('a root key with few rights can log in', async () => {
    const { key } = await service.json('root-key', 'create', '--right', 'identity.*.read_identity');
    expect((await run(`login --url ${url} --root-key -`, { stdin: key as string })).code).toBe(0);
  });

  test('a profile is chosen by flag, variable or use, and a setting that names a service wins over the current one', async () => {
    await login('one');
    await login('two');
    const stored = JSON.parse(readFileSync(file(), 'utf8')) as { profiles: Record<string, { url: string }> };
    stored.profiles['two'] = { ...stored.profiles['two'], url: SILENT_URL };
    writeFileSync(file(), JSON.stringify(stored));
    const codes = async (text: string, environment = {}): Promise<number> => (await run(text, { environment })).code;
    expect(await codes('api list')).toBe(1);
    expect(await codes('api list --profile one')).toBe(0);
    expect(await codes('api list', { KEYSTILE_PROFILE: 'one' })).toBe(0);
    expect(await codes('api list', { KEYSTILE_URL: url, KEYSTILE_ROOT_KEY: service.rootKey })).toBe(0);
    expect(await codes('profile use one')).toBe(0);
    expect(await codes('api list')).toBe(0);
    expect((await run('logout')).out).toBe('Removed the profile one.\n');
    expect((await run('api list')).code).not.toBe(0);
    expect((await run('profile list')).out).not.toContain('one');
  });

  test('the root key of a profile is sent to no other address', async () => {
    await login();
    for (const environment of [{ KEYSTILE_URL: SILENT_URL }, { KEYSTILE_DATA: home.join('data') }]) {
      const { code, err } = await run('api list', { environment });
      expect([code, err.split('\n')[0]]).toEqual([1, 'This command needs a root key.']);
    }
  });

  test('a flag that says where wins over KEYSTILE_PROFILE, and a file of settings names no profile', async () => {
    await login('two');
    const environment = { KEYSTILE_PROFILE: 'two' };
    expect((await run('api list', { environment })).code).toBe(0);
    expect((await run(`api list --data ${home.join('data')}`, { environment })).err).toStartWith(
      'This command needs a root key.',
    );
    writeFileSync(home.join('x.env'), 'KEYSTILE_PROFILE=two\n');
    expect(await run(`api list --env-file ${home.join('x.env')}`)).toEqual({
      code: 2,
      out: '',
      err: 'KEYSTILE_PROFILE has no effect in the file of --env-file. Set it in the environment.\n',
    });
  });

  test.each([{ XDG_CONFIG_HOME: '' }, { XDG_CONFIG_HOME: 'relative' }])(
    'a variable that names no folder is as good as none: %j',
    async (environment) => {
      await login();
      expect((await run('api list', { environment })).code).toBe(0);
      expect((await run('api list', { environment: { ...environment, HOME: '' } })).code).not.toBe(0);
    },
  );

  test.each([
    ['api list --profile tow', 'There is no profile "tow", which --profile names. Did you mean two?'],
    [`api list --profile two --url ${SILENT_URL}`, '--profile and --url exclude each other. Give only one of them.'],
    ['api list --profile two --data /nowhere', '--profile and --data exclude each other. Give only one of them.'],
    ['api list --profile two --env-file x.env', '--profile and --env-file exclude each other. Give only one of them.'],
    [
      'login --url http://192.0.2.1 --root-key root_that_is_sent_nowhere',
      'login asks for confirmation, and standard input is not a terminal. Add --yes to confirm.',
    ],
    ['serve --profile two', 'serve takes no --profile: it does not talk to the service of a profile.'],
    ['root-key list --profile two', 'root-key list takes no --profile: it does not talk to the service of a profile.'],
    [
      'login --url http://me:secret@127.0.0.1',
      '--url must have no user and no password. The service asks for a root key only.',
    ],
    ['profile list --port abc', 'Unknown flag --port. --help lists them all.'],
    ['profile use two --env-file x', 'Unknown flag --env-file. --help lists them all.'],
    ['logout two --data x', 'Unknown flag --data. --help lists them all.'],
    ['completion bash --port 1', 'Unknown flag --port. --help lists them all.'],
    ['login', 'login needs --url URL, such as --url https://keys.example.com.'],
    [
      'login ../x',
      'NAME must have 1 to 64 letters, digits or the characters _ . -, and begin with a letter or digit, got "../x".',
    ],
    [
      'profile use nobody',
      'There is no profile "nobody". keystile profile list shows all profiles, and keystile login makes one.',
    ],
  ])('%s', async (text, line) => {
    await login('two');
    expect(await run(text)).toEqual({ code: 2, out: '', err: `${line}\n` });
  });

  test('two that contradict each other, and no current profile, are refused', async () => {
    const environment = { KEYSTILE_PROFILE: 'two', KEYSTILE_URL: url };
    expect((await run('api list', { environment })).err).toBe(
      'KEYSTILE_PROFILE and KEYSTILE_URL exclude each other. Unset one of them, or use --profile.\n',
    );
    expect((await run('logout')).err).toBe(
      'logout needs NAME: there is no current profile. keystile profile list shows all profiles.\n',
    );
  });

  test('a torn file is named and not overwritten, and a folder that cannot be written loses nothing', async () => {
    await login();
    writeFileSync(file(), '{"current": "def');
    const torn = `The file ${file()} is not a file of profiles. Delete it, and run keystile login again.\n`;
    expect([(await run('api list')).err, (await login()).err]).toEqual([torn, torn]);
    expect(readFileSync(file(), 'utf8')).toBe('{"current": "def');
    mkdirSync(home.join('other'));
    writeFileSync(home.join('other/keystile'), 'a file in the place of the folder');
    const environment = { XDG_CONFIG_HOME: home.join('other') };
    const { code, err } = await run(`login --url ${url} --root-key -`, { stdin: service.rootKey, environment });
    expect([code, err]).toEqual([1, expect.stringMatching(/ cannot be written \(\w+\)\. Nothing was stored\.\n$/)]);
    const homeless = await keystile(['login', '--url', url, '--root-key', '-'], { stdin: service.rootKey });
    expect(homeless.err).toBe('Profiles need a home folder. Set HOME or XDG_CONFIG_HOME.\n');
  });

  test('on a real terminal, both questions are answered, one after the other', async () => {
    let shown = '';
    const answers = [
      ['URL of the service: ', url],
      ['Root key: ', service.rootKey],
    ] as const;
    let given = 0;
    const child = Bun.spawn([...PROGRAM, 'login'], {
      env: { PATH: process.env['PATH'], HOME: home.join('home') },
      terminal: {
        data(terminal, bytes) {
          shown += new TextDecoder().decode(bytes);
          const [question, answer] = answers[given] ?? [];
          if (question === undefined || !shown.includes(question)) return;
          given++;
          terminal.write(`${answer}\r`);
        },
      },
    });
    expect(await child.exited).toBe(0);
    expect(shown).toEndWith(`Logged in to ${url} as the profile default.\r\n`);
    expect(shown).not.toContain(service.rootKey);
  });
});
