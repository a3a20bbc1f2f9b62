import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { Keystile } from '../../../sdk/src/index.ts';
import { openApi } from '../../../src/http/docs/openApi.ts';
import { queryToBody } from '../../../src/http/request/body.ts';
import { forwardAuth } from '../../../src/http/routes/keys.forwardAuth.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { EXAMPLE } from '../../../src/model/schema/examples.ts';
import { ENDPOINTS } from './endpoints.ts';

/** The samples of /openapi.json: every one is run, and the request that arrives is the example of its operation. */

interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | null;
  readonly body: unknown;
}

const arrived: Arrived[] = [];
let server: ReturnType<typeof Bun.serve>;
/** Answers of the examples, by path. Lists must be of the shape that the SDK goes through. */
const answers = new Map(ENDPOINTS.map(({ path, example }) => [path, withoutNextPage(example.response)]));

function withoutNextPage(response: object): object {
  const { cursor: _next, ...last } = response as { cursor?: unknown };
  return Array.isArray(response) ? response : last;
}

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    async fetch(request) {
      const { pathname: path, searchParams: query } = new URL(request.url);
      const text = await request.text();
      const body = text === '' ? null : (JSON.parse(text) as unknown);
      arrived.push({ method: request.method, path, query, authorization: request.headers.get('authorization'), body });
      return Response.json(answers.get(path) ?? {});
    },
  });
});

afterAll(() => server.stop(true));

const SAMPLES = Object.entries(openApi('http://keystile.test').paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const [shell, typescript] = operation['x-codeSamples'] ?? [];
    return { path, method, id: operation.operationId, shell, typescript };
  }),
);

/** The key of a gateway's client. */
const FORWARDED = `Bearer ${EXAMPLE.secret}`;

const exampleOf = (path: string): object =>
  [...ENDPOINTS, forwardAuth].find((endpoint) => endpoint.path === path)?.example.request ?? {};
const authorizationOf = (path: string): string | null =>
  ROUTES.some((route) => route.path === path) ? 'Bearer root_1' : path === forwardAuth.path ? FORWARDED : null;
/** The query as the service reads it. */
const queryOf = ({ path, query }: Arrived): object => {
  const { request } = [...ROUTES, forwardAuth].find((route) => route.path === path) ?? {};
  return request === undefined ? {} : queryToBody(request, query);
};

/** The one request that this made. */
async function sentBy(work: () => Promise<unknown>): Promise<Arrived> {
  arrived.length = 0;
  await work();
  const [only, ...others] = arrived;
  if (only === undefined || others.length > 0) throw new Error(`${arrived.length} requests arrived`);
  return only;
}

test('every operation has one in curl and one in TypeScript', () => {
  expect(SAMPLES.length).toBeGreaterThan(60);
  for (const { id, shell, typescript } of SAMPLES) {
    expect([id, shell?.label, shell?.lang, typescript?.label]).toEqual([id, 'curl', 'Shell', 'TypeScript']);
  }
});

test.each(SAMPLES.map((sample) => [`${sample.method} ${sample.id}`, sample] as const))(
  'curl of %s sends its example',
  async (_title, { path, method, shell }) => {
    const command = (shell?.source ?? '').replace('http://keystile.test', server.url.origin);
    const sent = await sentBy(async () => {
      const child = Bun.spawn(['sh', '-c', command.replace('curl ', 'curl -sS ')], {
        env: { ...process.env, KEYSTILE_ROOT_KEY: 'root_1' },
        stdout: 'ignore',
      });
      expect(await child.exited).toBe(0);
    });
    expect(sent).toMatchObject({ method: method.toUpperCase(), path, authorization: authorizationOf(path) });
    expect(method === 'get' ? queryOf(sent) : sent.body).toEqual(exampleOf(path));
  },
);

/** A sample without its import, as a function of what it uses. */
const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => (...used: unknown[]) => Promise<void>;

class KeystileOfTest extends Keystile {
  constructor() {
    super({ url: server.url.origin, rootKey: 'root_1', batch: false });
  }
}

test.each(SAMPLES.map((sample) => [`${sample.method} ${sample.id}`, sample] as const))(
  'TypeScript of %s sends its example',
  async (_title, { path, typescript }) => {
    const source = (typescript?.source ?? '')
      .replace(/^import .*\n/, '')
      .replace('http://keystile.test', server.url.origin);
    const script = new Bun.Transpiler({ loader: 'ts', target: 'bun' }).transformSync(`export {};\n${source}`);
    const run = new AsyncFunction('Keystile', 'console', script.replace(/^export \{\s*\};?\n/gm, ''));
    const sent = await sentBy(() => run(KeystileOfTest, { log() {} }));
    expect([sent.path, sent.body ?? queryOf(sent)]).toEqual([path, exampleOf(path)]);
    const isOfSdk = path !== forwardAuth.path;
    expect(sent.authorization).toBe(isOfSdk ? 'Bearer root_1' : FORWARDED);
  },
);

test('TypeScript checks every sample against the types of the SDK', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-samples-'));
  try {
    for (const [i, { typescript }] of SAMPLES.entries()) {
      writeFileSync(join(folder, `sample${i}.ts`), `${typescript?.source}\nexport {};\n`);
    }
    const { compilerOptions } = (await Bun.file('tsconfig.json').json()) as { compilerOptions: object };
    const found = {
      paths: { '@keystile/sdk': [resolve('sdk/src/index.ts')] },
      typeRoots: [resolve('node_modules/@types')],
    };
    const config = { compilerOptions: { ...compilerOptions, ...found }, include: ['*.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const child = Bun.spawn(['node', compiler(), '-p', folder, '--pretty', 'false'], { cwd: resolve('.') });
    expect([await child.stdout.text(), await child.exited]).toEqual(['', 0]);
    // It would also see a field that does not exist.
    writeFileSync(join(folder, 'wrong.ts'), `${CREATE_KEY.replace('apiId:', 'appId:')}\nexport {};\n`);
    const wrong = Bun.spawn(['node', compiler(), '-p', folder, '--pretty', 'false'], { cwd: resolve('.') });
    expect(await wrong.stdout.text()).toMatch(/wrong\.ts.*appId/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const CREATE_KEY = SAMPLES.find(({ id }) => id === 'keys.createKey')?.typescript?.source ?? '';

function compiler(): string {
  const manifest = createRequire(resolve('package.json')).resolve('typescript/package.json');
  return join(dirname(manifest), 'bin/tsc');
}
