import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ALL_COMMANDS, COMMANDS, ENDPOINT_COMMANDS } from '../../../src/cli/cli.ts';
import { toBody } from '../../../src/cli/endpoint/body.ts';
import endpoints from '../../../src/cli/endpoint/endpoints.json';
import { parseFlags } from '../../../src/cli/flags.ts';
import { CLIENT_SETTINGS, COMMON_FLAGS, flagsOf } from '../../../src/cli/help.ts';
import { isSettingFlag } from '../../../src/cli/settings.ts';
import { openApi } from '../../../src/http/docs/openApi.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { fieldsOf } from '../../../tools/scripts/endpointFields.ts';
import { DESCRIBED } from '../../../tools/scripts/endpointNames.ts';
import { endpointTable } from '../../../tools/scripts/endpointTable.ts';
import { keystile } from '../../process/cli/cliRun.ts';

const TABLE = endpointTable();
/** What commands are made from. */
const COMMANDED = DESCRIBED.filter((route) => TABLE.some(({ path }) => route.path === `/v1/${path}`));
const WITHOUT_COMMAND = ['keys.forwardAuth', 'keys.verifyKeys', 'liveness', 'readiness'];

describe('the command line has every endpoint', () => {
  test('each endpoint of /openapi.json has one command, except those that docs/cli.md names', () => {
    const paths = Object.keys(openApi(null).paths).map((path) => path.replace('/v1/', ''));
    const commanded = ALL_COMMANDS.flatMap(({ endpoint }) => endpoint ?? []);
    const without = paths.filter((path) => !commanded.includes(path));
    expect(without.toSorted()).toEqual(WITHOUT_COMMAND);
    expect(commanded.toSorted()).toEqual(paths.filter((path) => !without.includes(path)).toSorted());
    const page = readFileSync(join(import.meta.dir, '../../../docs/cli.md'), 'utf8');
    for (const path of without) expect(page).toContain(`\`${path}\``);
  });

  test('no two commands have one name', () => {
    const names = ALL_COMMANDS.map(({ name }) => name);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  });

  test('src/cli/endpoint/endpoints.json equals the routes; if not, run `npm run docs`', () => {
    expect(endpoints as unknown).toEqual(JSON.parse(JSON.stringify(TABLE)));
  });

  test('no flag hides a setting of the command line or a flag that every command has', () => {
    const taken = [...CLIENT_SETTINGS, ...Object.keys(COMMON_FLAGS)];
    const hiding = ALL_COMMANDS.filter(({ name }) => name !== 'serve').flatMap(({ name, flags }) =>
      Object.keys(flags).flatMap((flag) => (taken.includes(flag) ? `${name} --${flag}` : [])),
    );
    expect(hiding).toEqual([]);
  });

  test('a flag with the name of a setting of the service is that of the command', () => {
    const command = ALL_COMMANDS.find(({ name }) => name === 'customer create');
    const table = command === undefined ? {} : flagsOf(command);
    const { flags } = parseFlags(['acme', '--max-keys', '9', '--timezone', 'UTC'], table);
    expect([isSettingFlag('max-keys', flags.specOf('max-keys')), flags.text('max-keys')]).toEqual([false, '9']);
    expect(isSettingFlag('timezone', flags.specOf('timezone'))).toBe(true);
    // Help shows them in this order: its own, then those of all commands.
    const own = Object.keys(command?.flags ?? {});
    expect(Object.keys(table).slice(0, own.length)).toEqual(own);
  });

  test('a number of milliseconds is a duration or a time', () => {
    const requests = new Map(ROUTES.map(({ path, request }) => [path.replace('/v1/', ''), request]));
    const plain = TABLE.flatMap(({ path, fields }) => {
      const { properties = {} } = (requests.get(path) ?? {}) as {
        properties?: Record<string, { description?: string }>;
      };
      const isMs = (member: string): boolean => /milliseconds/.test(properties[member]?.description ?? '');
      return fields.filter(({ kind, member }) => kind === 'count' && isMs(member)).map(({ flag }) => `${path} ${flag}`);
    });
    expect(plain).toEqual([]);
  });

  test('what deletes, revokes or ends asks first, and nothing that only reads does', () => {
    const commands = ALL_COMMANDS.filter(({ endpoint }) => endpoint !== undefined);
    const destructive = commands.filter(({ isDestructive }) => isDestructive === true);
    expect(destructive.filter(({ flags }) => !('yes' in flags))).toEqual([]);
    const named = commands.filter(({ name }) => /\b(?:delete|revoke|end)\b/.test(name)).map(({ name }) => name);
    expect(destructive.map(({ name }) => name)).toEqual(named);
    expect(TABLE.filter(({ isRead, asksFirst }) => isRead && asksFirst !== undefined)).toEqual([]);
  });
});

describe('what a route says about its command agrees with what its documentation says', () => {
  const OLD = /^Older |It has no effect|false is accepted and changes nothing/;
  const SHOWN_ONCE = /shown only in this answer/;
  test.each(COMMANDED.map((route) => [route.path, route] as const))('%s', (_, { command = {}, request, response }) => {
    const fields = Object.entries((request as Described).properties ?? {});
    const old = fields.filter(([, { description = '' }]) => OLD.test(description)).map(([name]) => name);
    const deprecated = fields.filter(([, field]) => field.deprecated === true).map(([name]) => name);
    expect(deprecated).toEqual(old);
    const isSecret = SHOWN_ONCE.test(JSON.stringify(response));
    expect(command.shownOnce !== undefined).toBe(isSecret);
  });

  test('what deletes, revokes or ends always asks, and what replaces a secret asks when the old one ends at once', () => {
    for (const { command, fields, asksFirst } of TABLE) {
      const takesAway = / (?:delete|revoke|end)/.test(command);
      const endsSecret = fields.some(({ member }) => member === 'overlapMs');
      expect([command, asksFirst]).toEqual([command, takesAway ? 'always' : endsSecret ? 'withoutOverlap' : undefined]);
    }
  });

  test('what can say no, alone or of several, ends with its own exit code', () => {
    const saysNo = COMMANDED.filter(({ response }) => {
      const { properties = {} } = response as { properties?: Record<string, { type?: string }> };
      return ['valid', 'success'].some((name) => properties[name]?.type === 'boolean');
    });
    expect(saysNo.map(({ path }) => path)).toContain('/v1/keys.verifyKey');
    for (const { path, command } of saysNo) expect([path, command?.refuses]).toEqual([path, expect.any(String)]);
  });

  test('what is named there is a field of the request or of the answer', () => {
    const unknown = COMMANDED.flatMap(({ path, command = {}, request, response }) => {
      const { flags = {}, columns = [], columnsIfAny = [], absent = {}, shownOnce, refuses } = command;
      const named = [...Object.keys(flags), ...columns, ...columnsIfAny, ...Object.keys(absent), shownOnce, refuses];
      const members = membersIn([request, response]);
      const inEvents = (name: string): boolean => name.startsWith('data.');
      return named
        .filter((name) => name !== undefined && !inEvents(name) && !members.has(name.split('.').at(-1) ?? ''))
        .map((name) => `${path} ${name}`);
    });
    expect(unknown).toEqual([]);
  });
});

interface Described {
  readonly properties?: Readonly<Record<string, { readonly description?: string; readonly deprecated?: boolean }>>;
}

/** The names of all members of these schemas, at all depths. */
function membersIn(schema: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return found;
  const { properties } = schema as { properties?: object };
  for (const name of Object.keys(properties ?? {})) found.add(name);
  for (const inner of Object.values(schema)) membersIn(inner, found);
  return found;
}

describe('the example of each endpoint, as the help shows it, makes the request that the documentation shows', () => {
  const examples = new Map(DESCRIBED.map(({ path, example }) => [path.replace('/v1/', ''), example.request]));
  test.each(TABLE.map((endpoint) => [endpoint.command, endpoint] as const))('%s', (_, endpoint) => {
    const command = ENDPOINT_COMMANDS.find(({ name }) => name === endpoint.command);
    const { flags, operands } = parseFlags(endpoint.example, { ...command?.flags });
    const request = examples.get(endpoint.path) as { readonly key?: string };
    const secret = request.key === undefined ? {} : { secret: request.key };
    expect(toBody(endpoint, { flags, operands, ...secret })).toEqual(request);
  });
});

/** Fields that a command written by hand sets in its own way, or that have no use there. */
const SET_OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  audit: ['start', 'end'],
  'root-key create': ['permission'],
  usage: ['all', 'per', 'start', 'end', 'format', 'limit', 'cursor'],
};

test('a command that is written by hand sets every field of its endpoint', () => {
  const missing = COMMANDS.flatMap(({ name, endpoint, flags, operands }) => {
    const route = ROUTES.find(({ path }) => path === `/v1/${endpoint}`);
    if (route === undefined || name === 'import') return [];
    const fields = fieldsOf(name, route.request).filter(
      ({ operand }) => operand === undefined || operands.length === 0,
    );
    const own = [...Object.keys(flags), ...(SET_OTHERWISE[name] ?? [])];
    return fields.filter(({ flag }) => !own.includes(flag)).map(({ flag }) => `${name} --${flag}`);
  });
  expect(missing).toEqual([]);
});

test('every command that is written by hand is there', () => {
  for (const command of COMMANDS) expect(ALL_COMMANDS).toContain(command);
});

/** No service is asked: the data folder does not exist. */
const environment = { KEYSTILE_DATA: '/nowhere/at/all', KEYSTILE_ROOT_KEY: 'root_that_no_test_here_sends' };

describe('a wrong value of a command that is made from an endpoint is refused in one sentence that names the flag', () => {
  test.each([
    ['key rotate', 'key rotate needs ID. See keystile key rotate --help.'],
    ['key rotate key_1', 'key rotate needs --overlap DURATION. See keystile key rotate --help.'],
    [
      'key rotate key_1 --overlap 40d',
      '--overlap must be a duration from 0 to 30d, such as 250ms, 5s or 1h, got "40d".',
    ],
    ['reservation settle rsv_1', 'reservation settle needs --cost N. See keystile reservation settle --help.'],
    ['reservation settle rsv_1 --cost -1', '--cost must be a whole number from 0 to 9007199254740991, got "-1".'],
    ['reservation settle rsv_1 --cost 1.5', '--cost must be a whole number from 0 to 9007199254740991, got "1.5".'],
    ['plan assign plan_1 --customer a --when later', '--when must be one of now, nextRefill, got "later".'],
    ['plan assign --customer a', 'plan assign needs ID, or --clear plan. See keystile plan assign --help.'],
    ['plan assign plan_1 --customer a --clear plan', '--clear plan and ID exclude each other. Give only one of them.'],
    [
      'plan create pro --refill yearly:5',
      '--refill must be an interval and an amount such as daily:100 or monthly:1000,day=15,timezone=Europe/Berlin,mode=add,max=5000, or a JSON object, got "yearly:5".',
    ],
    [
      'api update api_1 --default-ratelimit fast',
      '--default-ratelimit must be a limit such as 10/s or 100/5m,strict, or a JSON object, got "fast".',
    ],
    [
      'customer create acme --ratelimit requests=10/y',
      'The window of --ratelimit must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "requests=10/y".',
    ],
    [
      'customer create acme --ratelimit requests=10/sec,strict',
      'The window of --ratelimit must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "requests=10/sec,strict". Did you mean /s?',
    ],
    [
      'limit take bob --limit 10/sec',
      'The window of --limit must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "10/sec". Did you mean /s?',
    ],
    [
      'key create --api api_1 --limit 10/5Minutes',
      'The window of --limit must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "10/5Minutes". Did you mean /5m?',
    ],
    [
      'customer create acme --ratelimit requests',
      '--ratelimit must be a name and a limit such as requests=10/s or requests=100/5m,strict, or a JSON object, got "requests".',
    ],
    [
      'customer create acme --ratelimit requests=10/500d',
      'The window of --ratelimit must be a duration from 1s to 366d, such as 5s, 1h or 1d, got "requests=10/500d".',
    ],
    ['customer create acme --meta [1]', `--meta must be a JSON object such as '{"plan":"free"}', got "[1]".`],
    [
      'customer update acme',
      'customer update needs at least one flag that says what to change. See keystile customer update --help.',
    ],
    ['customer update acme --enable --disable', '--enable and --disable exclude each other. Give only one of them.'],
    [
      'customer update acme --name x --clear name',
      '--clear name and --name exclude each other. Give only one of them.',
    ],
    [
      'customer update acme --clear nam',
      '--clear must be one of name, meta, max-keys, alerts, ratelimit, credits, refill, got "nam". Did you mean name?',
    ],
    ['limit take bob --limit 5/s --duration 1s', '--limit 5/s already says the window. Leave out --duration.'],
    ['limit take bob --limit 5', 'limit take needs --duration DURATION. See keystile limit take --help.'],
    ['limit take bob --limit x/s', '--limit must be a whole number from 1 to 9007199254740991, got "x".'],
    [
      'credit grant --customer a --amount 1 --reason x --idempotency-key 12345678 --expires-at soon',
      '--expires-at must be a time span such as 30d or 24h, unix milliseconds or a date such as 2030-12-31 (midnight UTC) or 2030-12-31T18:00:00Z, got "soon".',
    ],
    [
      'key create-many --key demo_secret',
      `--key must be a JSON object such as '{"plan":"free"}', got other text (not shown).`,
    ],
    ['role get', 'role get needs ID. See keystile role get --help.'],
    ['role get a b', 'role get takes only ID besides its flags, got 2. See keystile role get --help.'],
    ['plan list --limt 5', 'Unknown flag --limt. Did you mean --limit?'],
    [
      'reservation create --cost 5',
      'reservation create needs a key. Pipe it in, set KEYSTILE_KEY, or give it as an argument (other users can see arguments).',
    ],
  ])('%s', async (words, line) => {
    expect(await keystile(words.split(' '), { environment })).toEqual({ code: 2, out: '', err: `${line}\n` });
  });
});
