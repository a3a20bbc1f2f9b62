import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { Gate } from '../gate.ts';
import { Child, PROGRAM, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

// Each import waits for the disk of a busy machine.
setDefaultTimeout(60_000);

let folder: TempFolder;
let server: Server;

beforeAll(async () => {
  folder = new TempFolder();
  server = await Server.start(folder);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const keystile = (settings: Record<string, string>, ...words: string[]): Child =>
  new Child({ settings, command: [...PROGRAM, ...words] });

describe('an import of 3,000 keys that is killed in the middle', () => {
  test('continues where it was; keys stored without an answer are recognised; every key exists once', async () => {
    await using gate = new Gate(server.url);
    const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'imported' })) as { apiId: string };
    const path = folder.join('keys.csv');
    const secrets = Array.from({ length: 3000 }, (_, i) => `secret-of-a-long-import-${i}`);
    // The 1,500th cannot be imported.
    const rows = secrets.map((secret, i) => `${secret},${i === 1499 ? 'x' : i}`);
    writeFileSync(path, ['plaintext,remaining', ...rows].join('\n'));
    const settings = { KEYSTILE_URL: gate.url, KEYSTILE_ROOT_KEY: server.rootKey };
    const words = ['import', path, '--api', apiId];

    const heldUp = gate.closeAt(20);
    await using first = keystile(settings, ...words);
    await heldUp;
    await first.kill9();
    const state = JSON.parse(readFileSync(`${path}.keystile-import`, 'utf8')) as {
      mark: { imported: number; failed: number };
    };
    expect(state.mark.imported + state.mark.failed).toBeGreaterThanOrEqual(1500);
    expect(state.mark.failed).toBe(1);
    expect(readFileSync(`${path}.keystile-import`, 'utf8')).not.toContain('secret-of');

    gate.open();
    await using second = keystile(settings, ...words);
    expect([await second.exited(), second.stderr]).toEqual([1, expect.any(String)]);
    expect(second.stderr).toStartWith(`Continuing after ${state.mark.imported + state.mark.failed} keys.\n`);
    const [, imported, present, failed] =
      /imported +(\d+)\nalready there +(\d+)\nfailed +(\d+)\n/.exec(second.stdout) ?? [];
    expect(Number(imported) + Number(present)).toBe(2999);
    // At least the batch whose answer was held back.
    expect(Number(present)).toBeGreaterThanOrEqual(100);
    expect(Number(failed)).toBe(1);
    expect(readFileSync(`${path}.failed.jsonl`, 'utf8')).toBe(
      '{"line":1501,"reason":"remaining must be a whole number of at least 0"}\n',
    );
    expect(existsSync(`${path}.keystile-import`)).toBe(false);
    const { total } = (await server.ok('/v1/apis.listKeys', { apiId, limit: 1 })) as { total: number };
    expect(total).toBe(2999);
    for (const i of [1, 1498, 1500, 2999]) {
      expect(await server.verify(secrets[i] ?? '')).toMatchObject({ valid: true, remaining: i - 1 });
    }
  });

  test('starts again when the file has changed: no key is left out', async () => {
    await using gate = new Gate(server.url);
    const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'imported' })) as { apiId: string };
    const path = folder.join('keys.jsonl');
    const rows = (prefix: string) =>
      Array.from({ length: 1000 }, (_, i) => `{"plaintext":"${prefix}-secret-of-a-key-${i}"}`);
    writeFileSync(path, rows('first').join('\n'));
    const settings = { KEYSTILE_URL: gate.url, KEYSTILE_ROOT_KEY: server.rootKey };
    const heldUp = gate.closeAt(8);
    await using first = keystile(settings, 'import', path, '--api', apiId);
    await heldUp;
    await first.kill9();
    writeFileSync(path, [...rows('another'), ...rows('first')].join('\n'));
    gate.open();
    await using second = keystile(settings, 'import', path, '--api', apiId, '--json');
    expect(await second.exited()).toBe(0);
    const done = JSON.parse(second.stdout) as { imported: number; present: number; failed: number };
    expect([done.imported + done.present, done.failed]).toEqual([2000, 0]);
    expect(((await server.ok('/v1/apis.listKeys', { apiId, limit: 1 })) as { total: number }).total).toBe(2000);
  });
});

test('a real pipe is imported chunk by chunk', async () => {
  const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'imported' })) as { apiId: string };
  const script = `for i in $(seq 1 250); do echo '{"plaintext":"piped-secret-of-a-key-'$i'"}'; done | "$@"`;
  await using child = new Child({
    settings: { KEYSTILE_URL: server.url, KEYSTILE_ROOT_KEY: server.rootKey },
    command: ['sh', '-c', script, 'sh', ...PROGRAM, 'import', '-', '--format', 'jsonl', '--api', apiId, '--json'],
    cwd: folder.path,
  });
  expect(await child.exited()).toBe(0);
  expect(JSON.parse(child.stdout)).toEqual({ imported: 250, present: 0, failed: 0 });
});
