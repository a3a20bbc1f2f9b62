import { expect, test } from 'bun:test';
import { join } from 'node:path';

const SDK = join(import.meta.dir, '../../sdk/src/index.ts');

/** What a program prints as warnings that makes these clients. */
function warnings(clients: readonly object[], environment: Record<string, string> = {}): string[] {
  const program = `import { Keystile } from ${JSON.stringify(SDK)};
    for (const options of ${JSON.stringify(clients)}) new Keystile(options);`;
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, '-e', program], {
    env: { PATH: process.env['PATH'], ...environment },
  });
  expect(exitCode).toBe(0);
  return stderr
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}

const SENT =
  'Keystile: the root key is sent to http://keys.internal:7878 over plain HTTP, and everyone on the way can read it. Use an https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.';
const rootKey = 'root_secretsecret';

test('a root key over plain HTTP to another machine is warned of, once, without the root key', () => {
  const open = { url: 'http://keys.internal:7878', rootKey };
  expect(warnings([open, open, { ...open, url: 'http://10.0.0.1' }])).toEqual([SENT]);
  expect(warnings([{ url: ['https://keys.example.com', 'http://keys.internal:7878/base'], rootKey }])).toEqual([SENT]);
  const environment = { KEYSTILE_URL: 'http://keys.internal:7878', KEYSTILE_ROOT_KEY: rootKey };
  expect(warnings([{}], environment)).toEqual([SENT]);
  expect(warnings([{}], { ...environment, KEYSTILE_NETWORK: 'private' })).toEqual([]);
});

test('what crosses no network in plain text is not warned of', () => {
  const urls = [
    'https://keys.example.com',
    'http://localhost:7878',
    'http://127.0.0.1:7878',
    'http://127.1.2.3',
    'http://[::1]:7878',
  ];
  expect(warnings([...urls.map((url) => ({ url, rootKey })), { url: 'http://keys.internal' }])).toEqual([]);
});
