import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';

import { VERSION } from '../../src/version.ts';
import { PROJECT, TempFolder } from './process.ts';
import { Server } from './server.ts';

// Everything is waited for, and nothing takes a given time: a busy machine takes longer.
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

async function run(command: readonly string[], cwd: string, environment: Record<string, string> = {}) {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

/** An empty project with the SDK as the service hands it out. The registry has nothing, and is not asked for Keystile. */
async function installed(name: string): Promise<string> {
  const asked: string[] = [];
  using registry = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch({ url }) {
      asked.push(new URL(url).pathname);
      return new Response('{}', { status: 404 });
    },
  });
  const project = folder.join(name);
  mkdirSync(project);
  writeFileSync(`${project}/package.json`, '{"private":true,"type":"module"}');
  const sdk = `${server.url}/sdk/keystile-sdk-${VERSION}.tgz`;
  const nowhere = [`--registry=${registry.url.origin}`, `--cache=${folder.join('cache')}`];
  const { code, out, err } = await run(['npm', 'install', '--no-audit', '--no-fund', ...nowhere, sdk], project);
  expect([code, out + (code === 0 ? '' : err)]).toEqual([0, expect.stringContaining('added 1 package')]);
  // The frameworks that it can protect, if they were there.
  expect(asked.filter((path) => !['/fastify', '/hono'].includes(path))).toEqual([]);
  return project;
}

test('Node protects a route with the SDK that the service hands out', async () => {
  const project = await installed('node');
  const { key } = await server.createKey({ remaining: 1, externalId: 'acme' });
  writeFileSync(
    `${project}/app.js`,
    `import { protect } from '@keystile/sdk/fetch';
import { FakeKeystile } from '@keystile/sdk/testing';

const route = protect({ cost: 1 }, (_, verdict) => Response.json({ owner: verdict.ownerId, left: verdict.remaining }));
for (const headers of [{}, { authorization: 'Bearer ${key}' }, { 'x-api-key': '${key}' }]) {
  const response = await route(new Request('http://shop.test/search', { headers }));
  console.log(response.status, JSON.stringify(await response.json()));
}
console.log(typeof new FakeKeystile().advance);
`,
  );
  const { code, out, err } = await run(['node', 'app.js'], project, { KEYSTILE_URL: server.url });
  expect([code, err]).toEqual([0, '']);
  const [missing = '', passed, spent = '', fake] = out.trim().split('\n');
  expect([missing, spent].map((line) => /"code":"(\w+)"/.exec(line)?.[1])).toEqual(['NOT_FOUND', 'USAGE_EXCEEDED']);
  expect([passed, fake]).toEqual(['200 {"owner":"acme","left":0}', 'function']);
});

test('TypeScript knows all that the SDK exports, also where it checks the declarations of others', async () => {
  const project = await installed('types');
  writeFileSync(
    `${project}/app.ts`,
    `import { Keystile, type KeyDetails, type RefusalResponse, refusalOf, verifyWebhook } from '@keystile/sdk';
import { protect } from '@keystile/sdk/express';
import { protect as protectFetch } from '@keystile/sdk/fetch';
import { protect as protectNext } from '@keystile/sdk/next';
import { FakeKeystile } from '@keystile/sdk/testing';

const keystile = new Keystile({ url: 'http://127.0.0.1:7878' });
const verdict = await keystile.verify('demo_key', { cost: 2 });
const left: number | undefined = verdict.code === 'VALID' ? verdict.remaining : undefined;
const refusal: RefusalResponse | null = refusalOf(verdict);
const key: KeyDetails = await keystile.keys.get({ keyId: 'key_1' });
// @ts-expect-error: there is no such field.
key.nothing;
// @ts-expect-error: an api is needed.
await keystile.keys.create({ name: 'Ada' });
// What a verdict says of its key is there to be read, also where there may be none.
export const GET = protectFetch({ cost: 2 }, (request, { remaining, keyId }) => Response.json({ remaining, keyId }));
export { left, refusal, protect, protectFetch, protectNext, verifyWebhook, FakeKeystile };
`,
  );
  expect(await compiled(project, ['app.ts'])).toEqual([0, '']);
});

/** The code of the pages that newcomers copy from, by the name of its file. */
const SHOWN: Readonly<Record<string, string>> = {
  'protectARoute.ts': shownIn('docs/protect-a-route.md', /```js app\.js\n([\s\S]*?)```/),
  'readme.ts': `import express from 'express';
const app = express();
${shownIn('README.md', /```js\n([\s\S]*?)```/)}`,
  'example.ts': shownIn('examples/express/app.js', /([\s\S]*)/),
};

function shownIn(page: string, code: RegExp): string {
  return code.exec(readFileSync(`${PROJECT}/${page}`, 'utf8'))?.[1] ?? '';
}

test.each([
  ['express', Object.keys(SHOWN)],
  // What the page listens with is of Express 5, which it installs.
  ['express4', ['readme.ts', 'example.ts']],
])('the documented routes compile as TypeScript with @types/%s', async (types, files) => {
  const project = await installed(types);
  for (const file of files) {
    const code = SHOWN[file] ?? '';
    expect(code).toContain('request.keystile.remaining');
    writeFileSync(`${project}/${file}`, code);
  }
  mkdirSync(`${project}/node_modules/@types`);
  symlinkSync(`${PROJECT}/node_modules/@types/${types}`, `${project}/node_modules/@types/express`);
  symlinkSync(`${PROJECT}/node_modules/@types/node`, `${project}/node_modules/@types/node`);
  expect(await compiled(project, files, ['node'])).toEqual([0, '']);
});

/** What the compiler says of files of the project. */
async function compiled(project: string, files: readonly string[], types: readonly string[] = []) {
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types,
    strict: true,
    // The declarations of a framework are not ours to check.
    skipLibCheck: types.length > 0,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  };
  writeFileSync(`${project}/tsconfig.json`, JSON.stringify({ compilerOptions, files }));
  const { code, out } = await run(['node', `${PROJECT}/node_modules/typescript/bin/tsc`, '-p', '.'], project);
  return [code, out];
}
