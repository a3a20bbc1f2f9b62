import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../cli/cliRun.ts';
import { Child, PROGRAM, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { failingMove } from './failingMove.ts';

const ALREADY =
  'The service was already held by an earlier export with --move. Run keystile data release only if that export is not used.\n';

let folder: TempFolder;
let server: Server;
let made: { keyId: string; key: string };

beforeAll(async () => {
  folder = new TempFolder();
  server = await Server.start(folder);
  made = await server.createKey({ remaining: 1_000 });
  await server.createKeys(60, { meta: { text: 'x'.repeat(1000) } });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function startHolder(stage: 'changes' | 'accounts'): Promise<Child> {
  const command = [process.execPath, '--no-env-file', join(import.meta.dir, 'holder.ts'), stage];
  const child = new Child({ command, settings: { KEYSTILE_DATA: folder.join('data') } });
  await child.printed(/^held$/m);
  return child;
}

const change = () => server.call('/v1/apis.createApi', { name: 'any name' });
const spend = () => server.call('/v1/keys.verifyKey', { key: made.key });

describe('an export that dies lets the service go on', () => {
  test.each(['SIGKILL', 'SIGINT'] as const)('while it copies records, by %s', async (signal) => {
    await using child = await startHolder('changes');
    const refused = await change();
    expect([refused.status, refused.body.error.message]).toEqual([
      503,
      'The service is being moved to another database: nothing can be changed until that is done. Verifications go on.',
    ]);
    expect((await spend()).status).toBe(200);
    child.signal(signal);
    await child.exited();
    await until('changes are accepted', async () => (await change()).status === 200);
  });

  test.each(['SIGKILL', 'SIGINT'] as const)('while it copies accounts, by %s', async (signal) => {
    await using child = await startHolder('accounts');
    expect([(await change()).status, (await spend()).status]).toEqual([503, 503]);
    child.signal(signal);
    await child.exited();
    await until('spends are accepted', async () => (await spend()).status === 200);
    expect((await change()).status).toBe(200);
  });
});

test('an export to a disk that is full lets the service go on, and leaves nothing', async () => {
  // Files may have so many blocks of 512 bytes: a longer write fails as on a full disk.
  const limited = `trap '' XFSZ; ulimit -f 80; exec "$@"`;
  const { code, stderr } = await runToEnd({
    command: ['sh', '-c', limited, 'sh', ...PROGRAM, 'data', 'export', folder.join('full'), '--move'],
    settings: { KEYSTILE_DATA: folder.join('data') },
  });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^The export \S+ was not made \(EFBIG/)]);
  await until('spends are accepted', async () => (await spend()).status === 200);
  expect((await change()).status).toBe(200);
  expect(readdirSync(folder.path)).toEqual(['data']);
});

test('an export that fails after an earlier one has moved the service leaves it held, and says what a release would risk', async () => {
  const environment = { KEYSTILE_DATA: folder.join('data') };
  expect((await keystile(['data', 'export', folder.join('first'), '--move'], { environment })).code).toBe(0);
  expect((await failingMove(environment, async () => true)).shown).toEqual([ALREADY]);
  expect([(await change()).status, (await spend()).status]).toEqual([503, 503]);
  expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
  expect([(await change()).status, (await spend()).status]).toEqual([200, 200]);
  rmSync(folder.join('first'));
});

test('a service that dies while its accounts are held does not spend again by itself', async () => {
  using own = new TempFolder();
  const environment = { KEYSTILE_DATA: own.join('data') };
  const other = await Server.start(own);
  const command = [process.execPath, '--no-env-file', join(import.meta.dir, 'holder.ts'), 'accounts'];
  await using child = new Child({ command, settings: environment });
  await child.printed(/^held$/m);
  await other.child.kill9();
  const { code, stderr } = await runToEnd({ settings: environment });
  expect([code, stderr]).toEqual([78, expect.stringContaining('was exported with --move')]);
  expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
  await using again = await Server.start(own);
  expect((await again.call('/v1/apis.createApi', { name: 'any name' })).status).toBe(200);
});

test('of two exports with --move at the same time, the second one is refused', async () => {
  await using child = await startHolder('changes');
  const second = await keystile(['data', 'export', folder.join('second'), '--move'], {
    environment: { KEYSTILE_DATA: folder.join('data') },
  });
  expect(second).toEqual({
    code: 1,
    out: '',
    err: 'Another export with --move is running. Wait until it ends, or stop it.\n',
  });
  const released = await keystile(['data', 'release', '--yes'], {
    environment: { KEYSTILE_DATA: folder.join('data') },
  });
  expect(released.err).toBe('An export with --move is running. Stop it: the service then goes on.\n');
  expect(readdirSync(folder.path)).toEqual(['data']);
  await child.kill9();
  await until('changes are accepted', async () => (await change()).status === 200);
});

test('a command that changes something during a move is refused with the reason alone', async () => {
  await using child = await startHolder('changes');
  const environment = { KEYSTILE_DATA: folder.join('data') };
  expect(await keystile(['root-key', 'create', '--name', 'any', '--right', '*'], { environment })).toEqual({
    code: 1,
    out: '',
    err: 'The service is being moved to another database: nothing can be changed until that is done. Verifications go on.\n',
  });
  await child.kill9();
  await until('changes are accepted', async () => (await change()).status === 200);
});

test('data release asks first, and says when there is nothing to release', async () => {
  const environment = { KEYSTILE_DATA: folder.join('data') };
  expect(await keystile(['data', 'release'], { environment })).toEqual({
    code: 2,
    out: '',
    err: 'data release asks for confirmation, and standard input is not a terminal. Add --yes to confirm.\n',
  });
  expect(await keystile(['data', 'release', '--yes'], { environment })).toEqual({
    code: 1,
    out: '',
    err: 'This database is not held for a move. Nothing was changed.\n',
  });
});
