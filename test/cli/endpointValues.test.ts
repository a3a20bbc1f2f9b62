import { describe, expect, test } from 'bun:test';

import { keystile } from '../process/cli/cliRun.ts';

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
