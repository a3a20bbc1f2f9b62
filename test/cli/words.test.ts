import { describe, expect, test } from 'bun:test';

import { ALL_COMMANDS, runCli } from '../../src/cli/cli.ts';
import { answerText } from '../../src/cli/endpoint/answerText.ts';
import type { Endpoint } from '../../src/cli/endpoint/endpoint.ts';
import endpoints from '../../src/cli/endpoint/endpoints.json';
import { FORMER_FLAGS } from '../../src/cli/words.ts';

const TABLE = endpoints as unknown as readonly Endpoint[];

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

describe('a former word answers with the present one', () => {
  for (const [former, flag] of FORMER_FLAGS) {
    const taking = ALL_COMMANDS.filter(({ flags }) => flag in flags);
    test.each(taking.map(({ name }) => [name]))(`%s --${former}`, async (name) => {
      const message = `--${former} is not a flag any more. Write --${flag}.\n`;
      expect(await run(...name.split(' '), `--${former}`, 'x')).toEqual({ code: 2, out: '', err: message });
    });

    const clearing = TABLE.filter(({ fields }) => fields.some((each) => each.flag === flag && each.isNullable));
    test.each(clearing.map(({ command }) => [command]))(`%s --clear ${former}`, async (command) => {
      const { code, err } = await run(...command.split(' '), 'x', '--clear', former);
      expect([code, err]).toEqual([2, expect.stringMatching(new RegExp(`Did you mean ${flag}\\?\\n$`))]);
    });
  }

  const customer = ALL_COMMANDS.filter(({ name }) => name.startsWith('customer ')).map(({ name }) => name);
  test.each(customer.map((name) => [name.replace('customer', 'identity'), name]))('%s', async (former, name) => {
    expect(await run(...former.split(' '), 'acme')).toEqual({
      code: 2,
      out: '',
      err: `${former} is not a command any more. Write keystile ${name}.\n`,
    });
  });

  test('key update-remaining, and the noun alone', async () => {
    expect((await run('key', 'update-remaining', 'key_1')).err).toBe(
      'key update-remaining is not a command any more. Write keystile key update-credits.\n',
    );
    expect((await run('identity', '--help')).err).toBe(
      'Unknown command "identity". keystile customer --help lists the commands of customer.\n',
    );
    expect((await run('identity', 'creat')).err).toBe(
      'Unknown command "identity creat". Did you mean "customer create"?\n',
    );
  });

  test('a value of --group-by', async () => {
    const { err } = await run('analytics', 'verifications', '--api', 'api_1', '--group-by', 'identity');
    expect(err).toStartWith('--group-by must be one of');
    expect(err).toContain('customer');
    expect(err).toEndWith('got "identity". Did you mean customer?\n');
  });
});

/** A flag, a field or a command by the name that it has in the API. */
const OF_THE_API =
  /keystile identity|--(?:identity|owner|external-id|remaining)\b|\b(?:identityId|externalId|ownerId|remaining)\b/gi;
/** JSON has the fields of the API. */
const JSON_OBJECT = /'\{.*?\}'/g;

describe('the words of the API are not those of people', () => {
  test('no command, flag, argument or value of a flag is called identity, owner or remaining', () => {
    const wrong = ALL_COMMANDS.flatMap(({ name, flags, operands }) => {
      const values = Object.values(flags).map(({ value }) => value ?? '');
      const names = [name, ...Object.keys(flags), ...operands, ...values].map((each) => each.toLowerCase());
      return names
        .filter((each) => /\b(?:identit|external|owner|remaining)/.test(each))
        .map((each) => `${name}: ${each}`);
    });
    expect(wrong).toEqual([]);
  });

  // The help of serve describes settings.
  test.each(ALL_COMMANDS.filter(({ name }) => name !== 'serve').map(({ name }) => [name]))(
    'the help of %s names no flag, field or command as the API does',
    async (name) => {
      const { out } = await run(...name.split(' '), '--help');
      expect(out.replaceAll(JSON_OBJECT, '').match(OF_THE_API)).toBeNull();
    },
  );
});

describe('answers for people', () => {
  const text = (command: string, answer: object): string => {
    const endpoint = TABLE.find((each) => each.command === command);
    return endpoint === undefined ? '' : answerText(endpoint, answer, '');
  };

  test('a key has a customer, which is told once, and credits', () => {
    const identity = { id: 'id_1', externalId: 'acme', meta: {} };
    const key = { id: 'key_1', ownerId: 'acme', remaining: 3, identity };
    expect(text('key get', key)).toBe('id        key_1\ncredits   3\ncustomer  acme\nexpires   never\n');
    expect(text('key list', { keys: [key], total: 1 })).toMatch(
      /^ID +START +NAME +CUSTOMER +ENABLED +CREDITS .*\nkey_1 +- +- +acme +- +3 .*\n1 of 1 keys\.\n$/,
    );
  });

  test('a customer is called customer wherever it stands', () => {
    expect(text('customer create', { identityId: 'id_1' })).toBe('customer id  id_1\n');
    expect(text('customer get', { id: 'id_1', externalId: 'acme', remaining: 3 })).toBe(
      'id        id_1\ncustomer  acme\ncredits   3\n',
    );
    expect(text('customer list', { identities: [], total: 0 })).toMatch(
      /^ID +CUSTOMER .* CREDITS .*\n0 of 0 customers\.\n$/,
    );
    const identity = { id: 'id_1', externalId: 'acme' };
    expect(text('analytics verifications', [{ identity }])).toStartWith('CUSTOMER  ');
    expect(text('event list', { events: [{ data: { identityId: 'id_1' } }] })).toMatch(
      /^TIME +TYPE +CUSTOMER ID +ID\n/,
    );
  });

  test('what is left of a limit is not called credits', () => {
    const taken = { success: true, limit: 5, remaining: 4 };
    expect(text('limit take', taken)).toBe('success  yes\nlimit    5\nleft     4\n');
    expect(text('key verify', { remaining: 3, ratelimit: { limit: 5, remaining: 4 } })).toBe(
      'credits    3\nratelimit  4 left of 5\n',
    );
  });
});
