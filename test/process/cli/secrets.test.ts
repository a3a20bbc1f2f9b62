import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { keystile, type Ran, type Situation, type RunSetup, withoutServer } from './cliRun.ts';
import { PROGRAM } from '../process.ts';

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

describe('secrets come from where others cannot see them', () => {
  let here: Situation;
  let key: string;
  const folder = mkdtempSync(join(tmpdir(), 'keystile-secrets-'));
  beforeAll(async () => {
    here = await withoutServer();
    const { apiId } = await here.json('api', 'create', 'payments');
    key = (await here.json('key', 'create', '--api', apiId as string))['key'] as string;
  });
  afterAll(async () => {
    await here[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  /** Runs a command with no root key in the environment. */
  const bare = (words: readonly string[], { environment = {}, ...rest }: RunSetup = {}): Promise<Ran> => {
    return keystile(words, { ...rest, environment: { ...here.environment, ...environment } });
  };

  test('the root key: the environment, a file, standard input, a prompt', async () => {
    const file = join(folder, 'root-key');
    writeFileSync(file, `${here.rootKey}\n`);
    const ways: Ran[] = [
      await bare(['api', 'list'], { environment: { KEYSTILE_ROOT_KEY: here.rootKey } }),
      await bare(['api', 'list'], { environment: { KEYSTILE_ROOT_KEY_FILE: file } }),
      await bare(['api', 'list', '--root-key', '-'], { stdin: `${here.rootKey}\n` }),
      await bare(['api', 'list'], { typed: here.rootKey }),
    ];
    for (const { code, out, err } of ways) {
      expect([code, err]).toEqual([0, '']);
      expect(out).toMatch(/^ID +NAME .*\napi_/);
    }
  });

  test('a missing root key is an error that says how to give one', async () => {
    for (const setup of [{}, { typed: '' }]) {
      const { code, err } = await bare(['api', 'list'], setup);
      expect(code).toBe(1);
      expect(err).toMatch(
        /^This command needs a root key\.\nSet KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE, or pipe it in/,
      );
    }
    const odd = await bare(['api', 'list'], { typed: 'rööt_key_of_someone_else' });
    expect([odd.code, odd.err]).toEqual([
      1,
      'A root key has only printable ASCII characters and no spaces. Copy the whole root key and nothing else.\n',
    ]);
  });

  test('a file that cannot be read is named', async () => {
    const missing = join(folder, 'missing');
    const { code, err } = await bare(['api', 'list'], { environment: { KEYSTILE_ROOT_KEY_FILE: missing } });
    expect([code, err]).toEqual([78, `The file ${missing} of KEYSTILE_ROOT_KEY_FILE cannot be read (ENOENT).\n`]);
  });

  test('the key to verify: standard input, a pipe, the environment, an env file, a prompt, an argument', async () => {
    const file = join(folder, 'verify.env');
    writeFileSync(file, `# of the test\nexport KEYSTILE_KEY="${key}"\n`);
    const ways: Ran[] = [
      await bare(['key', 'verify', '-'], { stdin: `${key}\n` }),
      await bare(['key', 'verify'], { stdin: key }),
      await bare(['key', 'verify'], { environment: { KEYSTILE_KEY: key } }),
      await bare(['key', 'verify', '--env-file', file]),
      await bare(['key', 'verify'], { typed: key }),
      await bare(['key', 'verify', key]),
    ];
    for (const { code, out } of ways) {
      expect(code).toBe(0);
      expect(out).toMatch(/^valid +yes\ncode +VALID\n/);
    }
  });

  test('no key, or two secrets from standard input, is a wrong command line', async () => {
    const none = await bare(['key', 'verify']);
    expect(none.code).toBe(2);
    expect(none.err).toStartWith('key verify needs a key');
    for (const words of [['-'], []]) {
      const both = await bare(['key', 'verify', ...words, '--root-key', '-'], { stdin: here.rootKey });
      expect(both).toMatchObject({
        code: 2,
        err: 'Only one secret can come from standard input. Give the others as variables or files.\n',
      });
    }
  });

  test('a key as a variable leaves standard input to the root key', async () => {
    const environment = { KEYSTILE_KEY: key, KEYSTILE_VERIFY_AUTH: 'required' };
    const { code } = await bare(['key', 'verify', '--root-key', '-'], { stdin: here.rootKey, environment });
    expect(code).toBe(0);
  });

  test('an api is named by its id where there is no root key, and by its name too where there is one', async () => {
    const { code, err } = await bare(['key', 'verify', key, '--api', 'payments']);
    expect([code, err]).toEqual([
      2,
      '--api must be an id here: without a root key, the names of apis cannot be read.\n',
    ]);
    expect((await here.run(['key', 'verify', key, '--api', 'payments'])).code).toBe(0);
    const webhook = ['webhook', 'create', 'https://198.51.100.7/hook', '--api', 'payments', '--json'];
    const made = await here.run(webhook, { environment: { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' } });
    const { webhookId } = JSON.parse(made.out) as { webhookId: string };
    const shown = await here.json('webhook', 'get', webhookId);
    expect(shown['apis']).toEqual([expect.stringMatching(/^api_/)]);
  });

  test('where verifying needs a root key, the error says how to give one', async () => {
    const environment = { KEYSTILE_VERIFY_AUTH: 'required' };
    const { code, err } = await bare(['key', 'verify', key], { environment });
    expect(code).toBe(1);
    expect(err).toMatch(/^The root key is missing: .*\nSet KEYSTILE_ROOT_KEY or/);
    expect((await here.run(['key', 'verify', key], { environment })).code).toBe(0);
  });

  const environment = (): Record<string, string | undefined> => ({ PATH: process.env['PATH'], ...here.environment });

  test('a real process takes the key from its pipe and ends with the documented code', async () => {
    for (const [text, code] of [
      [key, 0],
      ['no_such_key', 3],
    ] as const) {
      const child = Bun.spawn([...PROGRAM, 'key', 'verify'], {
        env: environment(),
        stdin: new Blob([text]),
        stdout: 'pipe',
      });
      expect(await child.stdout.text()).toStartWith('valid  ');
      expect(await child.exited).toBe(code);
    }
  });

  test('what is typed at the prompt is not shown', async () => {
    let shown = '';
    const asked = Promise.withResolvers<void>();
    const child = Bun.spawn([...PROGRAM, 'api', 'list'], {
      env: environment(),
      terminal: {
        data(_terminal, bytes) {
          shown += new TextDecoder().decode(bytes);
          if (shown.includes('Root key: ')) asked.resolve();
        },
      },
    });
    await asked.promise;
    child.terminal?.write(`${here.rootKey}x\u007f\r`);
    expect(await child.exited).toBe(0);
    expect(shown).toContain('payments');
    expect(shown).not.toContain('root_');
  });

  test('an answer longer than a pipe holds arrives whole', async () => {
    const { apiId } = await here.json('api', 'create', 'long');
    const meta = JSON.stringify({ text: 'x'.repeat(15_000) });
    for (let i = 0; i < 6; i++) await here.ok('key', 'create', '--api', apiId as string, '--meta', meta);
    const child = Bun.spawn([...PROGRAM, 'key', 'list', '--api', apiId as string, '--json'], {
      env: { ...environment(), KEYSTILE_ROOT_KEY: here.rootKey },
      stdout: 'pipe',
    });
    const { keys } = (await child.stdout.json()) as { keys: unknown[] };
    expect(keys).toHaveLength(6);
    expect(await child.exited).toBe(0);
  });
});
