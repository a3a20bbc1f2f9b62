import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { ALL_COMMANDS, ENDPOINT_COMMANDS, runCli } from '../../src/cli/cli.ts';
import { flagsOf } from '../../src/cli/help.ts';
import { isSettingFlag } from '../../src/cli/settings.ts';
import { visible, programName } from '../../src/cli/output/print.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { EXIT } from '../../src/serve/exit.ts';
import { VERSION } from '../../src/version.ts';

async function run(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  const code = await runCli(words, {
    environment: { KEYSTILE_DATA: '/nowhere/at/all', KEYSTILE_ROOT_KEY: 'root_that_no_test_here_sends' },
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    isTerminal: false,
    showsSecrets: false,
    readStdin: async () => '',
    askSecret: null,
  });
  return { code, ...written };
}

describe('help', () => {
  test('the overview names every command', async () => {
    const { code, out, err } = await run('--help');
    expect([code, err]).toEqual([0, '']);
    for (const { name } of ALL_COMMANDS) expect(out).toContain(`\n  ${name} `);
    expect(await run('help')).toEqual({ code, out, err });
  });

  for (const command of ALL_COMMANDS) {
    test(`${command.name} --help names its flags and shows examples`, async () => {
      const { code, out } = await run(...command.name.split(' '), '--help');
      expect(code).toBe(0);
      const own = Object.entries(flagsOf(command)).flatMap(([flag, spec]) => (isSettingFlag(flag, spec) ? [] : [flag]));
      for (const flag of own) expect(out).toContain(`\n  --${flag}`);
      expect(out).toContain('\nExamples\n  ');
      expect(await run(...command.name.split(' '), '-h')).toMatchObject({ code: 0, out });
    });
  }

  test('backup FILE is short for backup create FILE where FILE is a path', async () => {
    expect(await run('backup', 'latest.backup', '--help')).toEqual(await run('backup', 'create', '--help'));
    expect((await run('backup', './latest')).err).toBe((await run('backup', 'create', './latest')).err);
  });

  test('serve --help names every setting', async () => {
    const { out } = await run('serve', '--help');
    for (const { meaning } of Object.values(VARIABLES)) expect(out).toContain(meaning);
  });

  test('the help of a group lists only its commands', async () => {
    const { code, out } = await run('key', '--help');
    expect([code, out.includes('key create'), out.includes('api create')]).toEqual([0, true, false]);
  });

  test('--version prints only the version, also as JSON', async () => {
    expect(await run('--version')).toEqual({ code: 0, out: `${VERSION}\n`, err: '' });
    expect(JSON.parse((await run('--version', '--json')).out)).toEqual({ version: VERSION });
    expect(await run('-v')).toEqual(await run('--version'));
    expect(await run('version')).toEqual(await run('--version'));
    expect(await run('version', '--json')).toEqual(await run('--version', '--json'));
  });
});

describe('a wrong command line ends with exit code 2 and says what to do', () => {
  const CASES: readonly (readonly [string[], string])[] = [
    [['sevre'], 'Unknown command "sevre". Did you mean "serve"?'],
    [['kye', 'list'], 'Unknown command "kye list". Did you mean "key list"?'],
    [['key', 'creat'], 'Unknown command "key creat". Did you mean "key create"?'],
    [['backup', 'verfy'], 'Unknown command "backup verfy". Did you mean "backup verify"?'],
    [['frobnicate'], 'Unknown command "frobnicate". keystile --help lists them all.'],
    [['api', 'list', '--jsn'], 'Unknown flag --jsn. Did you mean --json?'],
    [['key', 'create', '--creditts=3'], 'Unknown flag --creditts. Did you mean --credits?'],
    [['serve', '--prt', '1'], 'Unknown flag --prt. Did you mean --port?'],
    [['serve', '--frobnicate'], 'Unknown flag --frobnicate. --help lists them all.'],
    [['serve', '-x'], 'Unknown flag -x. --help lists them all.'],
    [['api', 'list', '--constructor'], 'Unknown flag --constructor. --help lists them all.'],
    [['key', 'delete', 'key_1', '--ye'], 'Unknown flag --ye. Did you mean --yes?'],
    [['key', 'delete', 'key_1', '--prmnent'], 'Unknown flag --prmnent. --help lists them all.'],
    [['serve', '--port'], '--port needs a value.'],
    [['serve', '--port', '--json'], '--port needs a value.'],
    [['serve', '--port', '1', '--port=2'], '--port is given twice. Give it once.'],
    [['api', 'list', '--json=yes'], '--json takes no value.'],
    [['api', 'list', 'more'], 'api list takes no arguments besides its flags, got 1. See keystile api list --help.'],
    [['key', 'get', 'key_1', 'key_2'], 'key get takes only ID besides its flags, got 2. See keystile key get --help.'],
    [['api', 'create'], 'api create needs NAME. See keystile api create --help.'],
    [['key', 'get'], 'key get needs ID. See keystile key get --help.'],
    [['key', 'create'], 'key create needs --api ID. See keystile key create --help.'],
    [['key', 'list'], 'key list needs --api ID. See keystile key list --help.'],
    [
      ['key', 'update', 'key_1'],
      'key update needs at least one flag that says what to change. See keystile key update --help.',
    ],
    [
      ['key', 'update', 'key_1', '--enable', '--disable'],
      '--enable and --disable exclude each other. Give only one of them.',
    ],
    [
      ['key', 'update', 'key_1', '--limit', '5', '--strict'],
      '--strict is not a flag any more. Write --limit 10/s, or --limit 10/s,strict.',
    ],
    [
      ['key', 'update', 'key_1', '--name', 'x', '--clear', 'name'],
      '--clear name and --name exclude each other. Give only one of them.',
    ],
    [['key', 'update', 'key_1', '--external-id', 'b'], '--external-id is not a flag any more. Write --customer.'],
    [
      ['key', 'update', 'key_1', '--refill', 'yearly:3'],
      '--refill must be an interval and an amount such as daily:100 or monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000, or a JSON object, got "yearly:3".',
    ],
    [
      ['key', 'update', 'key_1', '--refill', 'daily:3,day'],
      '--refill cannot be read at "day". It must be an interval and an amount such as daily:100 or monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000, or a JSON object.',
    ],
    [['key', 'update', 'key_1', '--refill', 'monthly:3,day=1,day=2'], '--refill has day twice. Give it once.'],
    [['key', 'create', '--api', 'api_1', '--disabled'], '--disabled is not a flag any more. Write --disable.'],
    [
      ['key', 'update', 'key_1', '--credits', '-1'],
      '--credits must be a whole number from 0 to 9007199254740991, got "-1".',
    ],
    [
      ['key', 'update', 'key_1', '--credits', '9007199254740992'],
      '--credits must be a whole number from 0 to 9007199254740991, got "9007199254740992".',
    ],
    [
      ['limit', 'take', 'bob', '--limit', '5', '--duration', '5w'],
      '--duration must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "5w".',
    ],
    [
      ['limit', 'take', 'bob', '--limit', '5/s', '--duration', '1s'],
      '--limit 5/s already says the window. Leave out --duration.',
    ],
    [
      ['key', 'update', 'key_1', '--limit', '5'],
      '--limit must be a limit such as 10/s or 100/5m,strict, or a JSON object, got "5".',
    ],
    [
      ['key', 'update', 'key_1', '--limit', '5/w'],
      'The window of --limit must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "5/w".',
    ],
    [
      ['key', 'update', 'key_1', '--ratelimit', '5/s'],
      '--ratelimit must be a name and a limit such as requests=10/s or requests=100/5m,strict, or a JSON object, got "5/s".',
    ],
    [['key', 'update', 'key_1', '--meta', '[1]'], `--meta must be a JSON object such as '{"plan":"free"}', got "[1]".`],
    [
      ['key', 'update', 'key_1', '--meta', '{"a":1e400}'],
      `--meta must be a JSON object such as '{"plan":"free"}' without numbers above 1.8e308, got ${JSON.stringify('{"a":1e400}')}.`,
    ],
    [['root-key', 'create', '--expires', '2001-01-01'], '--expires must be in the future, got "2001-01-01".'],
    [
      ['root-key', 'create', '--name', 'deploy'],
      "root-key create needs --right RIGHT, such as --right 'api.*.read_key'. --right '*' gives every right.",
    ],
    [['root-key', 'create', '--name='], '--name must have 1 to 256 characters, got 0.'],
    [['serve', '--json'], 'serve takes --json only with --show-config. For a JSON log, use --log-format json.'],
  ];
  for (const [words, line] of CASES) {
    test(`keystile ${words.join(' ')}`, async () => {
      const { code, out, err } = await run(...words);
      const isJson = words.includes('--json');
      expect([code, out, err]).toEqual([
        2,
        '',
        isJson ? `${JSON.stringify({ error: { message: line } })}\n` : `${line}\n`,
      ]);
    });
  }

  for (const text of ['tomorrow', '2030-02-30', '2030-13-01', '2030-01-01T00:00:00', '99999999999999999']) {
    test(`--expires ${text} is not a time`, async () => {
      const { code, err } = await run('key', 'update', 'key_1', '--expires', text);
      expect(code).toBe(2);
      expect(err).toMatch(
        /^--expires must be a time span such as 30d or 24h, unix milliseconds or a date such as 2030-12-31 /,
      );
    });
  }

  test('no command, or half of one, lists the commands', async () => {
    const [nothing, half] = [await run(), await run('root-key')];
    expect([nothing.code, nothing.out, half.code, half.out]).toEqual([2, '', 2, '']);
    expect(nothing.err).toContain('key create');
    expect(half.err).toContain('root-key revoke ID');
    expect(half.err).not.toContain('key get');
  });

  test.each([
    [['--data', 'x', 'key', 'list'], '--data'],
    [['-x'], '-x'],
    [['--port=1', 'serve'], '--port'],
  ])('flags before the command are named: %j', async (words, flag) => {
    const { code, err } = await run(...words);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(
        `Flags come after the command: keystile COMMAND [flags], got ${JSON.stringify(flag)} first. See keystile --help.`,
      ),
    ]);
  });

  test('an error does not repeat what may be a secret', async () => {
    const secret = 'root_of_all_that_must_not_be_shown';
    const tries = [
      ['key', 'verify', 'one', secret],
      ['verify', secret],
      ['api', 'list', `--rot-key=${secret}`],
      ['serve', '--metrics-token', secret, '--metrics-token', secret],
    ];
    for (const words of tries) {
      const { code, err } = await run(...words);
      expect([code, err.includes(secret)]).toEqual([2, false]);
    }
  });
});

test('an unknown field of --clear lists all fields and suggests the nearest', async () => {
  const { code, err } = await run('key', 'update', 'key_1', '--clear', 'expire');
  expect([code, err]).toEqual([
    2,
    '--clear must be one of name, meta, environment, customer, role, permission, expires, credits, refill, limit, ratelimit, ip, alerts, got "expire". Did you mean expires?\n',
  ]);
});

test('characters that change a terminal are escaped, and other text is shown as it is', () => {
  expect(visible('a\u0007b\u001b]0;title\u0007\u007f\u2028\u2066')).toBe(
    'a\\u0007b\\u001b]0;title\\u0007\\u007f\\u2028\\u2066',
  );
  expect(visible('Zoë, 東京, 👩‍👧')).toBe('Zoë, 東京, 👩‍👧');
});

describe('docs/cli.md', () => {
  const page = readFileSync('docs/cli.md', 'utf8');

  const written = ALL_COMMANDS.filter((command) => !ENDPOINT_COMMANDS.includes(command));
  for (const { name, flags, operands } of written) {
    test(`describes ${name} with all its flags`, () => {
      const start = page.indexOf(`\n### ${[name, ...operands].join(' ')}\n`);
      expect(start).toBeGreaterThan(0);
      const described = page.slice(start + 1, page.indexOf('\n##', start + 2));
      const missing = Object.keys(flags).filter((flag) => !described.includes(`--${flag}`));
      expect(missing).toEqual([]);
    });
  }

  test('lists every exit code', () => {
    for (const code of Object.values(EXIT)) expect(page).toContain(`\n| ${code} |`);
  });
});

test.each([
  ['keystile', {}],
  ['npm run -s keystile --', { npm_lifecycle_event: 'start', npm_package_name: 'keystile' }],
  ['npx keystile', { npm_lifecycle_event: 'npx' }],
  ['npx --no keystile', { npm_lifecycle_event: 'dev', npm_package_name: 'shop' }],
])('the program is called as %s', (name, environment) => {
  expect(programName(environment)).toBe(name);
});
