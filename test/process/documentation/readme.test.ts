import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { PROJECT, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { paste } from './shell.ts';

const README = readFileSync('README.md', 'utf8');

/** The first group of the first match in the README. */
function shown(pattern: RegExp): string {
  const found = pattern.exec(README)?.[1];
  if (found === undefined) throw new Error(`The README has no match for ${pattern}.`);
  return found;
}

let folder: TempFolder;
let server: Server;

beforeAll(async () => {
  folder = new TempFolder();
  server = await Server.start(folder, { settings: { KEYSTILE_ROOT_KEY: '' }, onTerminal: true });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test('the pasted lines print what the README shows', async () => {
  const lines = /another terminal:\n(.*)\nCtrl-C/s.exec(server.child.stdout)?.[1] ?? '';
  const printed = (await paste(lines, folder)).replaceAll(/"requestId":.*?(?="remaining")/g, '...,');
  expect(printed.trim()).toBe(shown(/```\n(\{"valid"[\s\S]*?)\n```/));
});

test('the curl line of the README verifies a key', async () => {
  const { key } = await server.createKey({ prefix: 'demo' });
  const line = shown(/^(curl .*verifyKey.*)$/m)
    .replace('http://127.0.0.1:7878', server.url)
    .replace('demo_...', key);
  expect(JSON.parse(await paste(line, folder))).toMatchObject({ valid: true, code: 'VALID' });
});

test('the fields that the README shows make the keys that it describes', async () => {
  const credits = JSON.parse(shown(/`(\{"remaining"[^`]*)`/)) as Record<string, unknown>;
  const ratelimit = JSON.parse(`{${shown(/`("ratelimit"[^`]*)`/)}}`) as { ratelimit: object };
  const { keyId } = await server.createKey(credits);
  expect(await server.ok('/v1/keys.getKey', { keyId })).toMatchObject({
    remaining: 100,
    refill: { interval: 'daily', amount: 100 },
  });
  const [local, strict] = [
    await server.createKey(ratelimit),
    await server.createKey({ ratelimit: { ...ratelimit.ratelimit, async: false } }),
  ];
  expect(await server.verify(local.key)).toMatchObject({ ratelimits: [{ limit: 10, remaining: 9, async: true }] });
  expect(await server.verify(strict.key)).toMatchObject({ ratelimits: [{ limit: 10, remaining: 9, async: false }] });
});

const PROGRAMS = [...README.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');

test('the README shows a program with the SDK and one with the client library', () => {
  expect(PROGRAMS.map((program) => [program.includes('@keystile/sdk'), program.includes('@unkey/api')])).toEqual([
    [true, false],
    [false, true],
  ]);
});

test.each(PROGRAMS.map((program, i) => [i + 1, program]))(
  'program %d of the README verifies a key',
  async (_, shownProgram) => {
    const { key } = await server.createKey({ prefix: 'demo' });
    const program = shownProgram
      .replace('http://127.0.0.1:7878', server.url)
      .replace('demo_...', key)
      // The package itself is tested by `npm run test:clients`.
      .replace('@keystile/sdk', './sdk/src/index.ts');
    // Beside the sources, so that packages are found.
    const file = join(PROJECT, `readme-example-${crypto.randomUUID()}.ts`);
    writeFileSync(file, program);
    try {
      const command = ['env', `ROOT_KEY=${server.rootKey}`, process.execPath, file];
      expect((await runToEnd({ command })).stdout).toMatch(/(^|pass )VALID\n$/);
    } finally {
      rmSync(file);
    }
  },
);
