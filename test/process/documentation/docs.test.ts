import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { PROGRAM, PROJECT, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { paste } from './shell.ts';

const DOCS = join(PROJECT, 'docs');
const SHOWN_URL = 'http://127.0.0.1:7878';

interface Block {
  readonly language: string;
  readonly text: string;
  /** The JSON that is shown right after it. */
  readonly answer: unknown;
}

/** The fenced blocks of a page, in order; JSON goes with the block before it. */
function blocksOf(page: string): Block[] {
  const fences = [...readFileSync(join(DOCS, page), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return fences.flatMap(([, language = '', text = ''], i) => {
    if (language === 'json') return [];
    const [, next, answer = ''] = fences[i + 1] ?? [];
    return { language, text, answer: next === 'json' ? (JSON.parse(answer) as unknown) : undefined };
  });
}

/** What talks to a running service; a line that starts one does not. */
function isRun({ language, text }: Block): boolean {
  return language === 'ts' || (language === 'sh' && text.includes(SHOWN_URL));
}

const PAGES = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md'))
  .filter((page) => blocksOf(page).some(isRun));

interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string };
}

/** The page shows that this fails. */
function isError(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'error' in answer;
}

/** A line that tells where the output of one block ends, and how it ended. */
const END = '--- end of block';

/** All blocks of a page in one shell, one after the other, as someone who reads it would go through it. */
function script(blocks: readonly Block[], server: Server, api: string): { text: string; files: string[] } {
  const files: string[] = [];
  const steps = blocks.map(({ language, text }) => {
    // The package is made from these sources.
    const real = text.replaceAll(SHOWN_URL, server.url).replaceAll("'@keystile/sdk'", "'./sdk/src/index.ts'");
    if (language === 'sh') return real;
    // Beside the sources, so that packages are found.
    const file = join(PROJECT, `docs-example-${crypto.randomUUID()}.ts`);
    files.push(file);
    writeFileSync(file, real);
    return `export ROOT api key keyId; '${process.execPath}' '${file}'`;
  });
  const keystile = `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`;
  const preamble = `ROOT='${server.rootKey}'\napi='${api}'\n${keystile}\n`;
  return { text: preamble + steps.map((step) => `${step}\nstatus=$?; echo; echo "${END} $status"\n`).join(''), files };
}

let folder: TempFolder;
let server: Server;

beforeAll(async () => {
  folder = new TempFolder();
  server = await Server.start(folder, { settings: { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' } });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The names that all apis share are free again: nothing on a page works only because another page made it. */
afterEach(async () => {
  const { identities } = (await server.ok('/v1/identities.listIdentities', {})) as { identities: { id: string }[] };
  for (const { id } of identities)
    await server.ok('/v1/identities.deleteIdentity', { identityId: id, keys: 'disable' });
  for (const [noun, list] of [
    ['Role', 'listRoles'],
    ['Permission', 'listPermissions'],
  ] as const) {
    const made = (await server.ok(`/v1/permissions.${list}`, {})) as { id: string }[];
    for (const { id } of made) await server.ok(`/v1/permissions.delete${noun}`, { [`${noun.toLowerCase()}Id`]: id });
  }
});

describe.each(PAGES.map((page) => [page]))('docs/%s', (page) => {
  test('everything that it shows works, and answers in the shape that it shows', async () => {
    const { apiId } = (await server.ok('/v1/apis.createApi', { name: page })) as { apiId: string };
    const blocks = blocksOf(page).filter(isRun);
    const { text: lines, files } = script(blocks, server, apiId);
    const outputs = (await paste(lines, folder)).split(END);
    for (const file of files) rmSync(file);
    for (const [i, { text, answer }] of blocks.entries()) {
      const output = outputs[i]?.replace(/^ \d+\n/, '') ?? '';
      const failure = isError(answer) ? null : (/"error":|rror: /.exec(output)?.[0] ?? null);
      expect([text, failure, outputs[i + 1]?.slice(0, 3)]).toEqual([text, null, ' 0\n']);
      if (answer === undefined) continue;
      const last = JSON.parse(
        output
          .trim()
          .split('\n')
          .at(-1)
          ?.replace(/^.*?\}(?=\{)/, '') ?? '',
      ) as object;
      expect([text, Object.keys(last).toSorted()]).toEqual([text, Object.keys(answer as object).toSorted()]);
      if (isError(answer)) {
        const { code, message } = (answer as ErrorAnswer).error;
        expect((last as ErrorAnswer).error).toMatchObject({ code, message });
      }
    }
  });
});

test('every endpoint is named in a page of the docs', () => {
  const all = readdirSync(DOCS)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(DOCS, name), 'utf8'))
    .join('\n');
  const missing = ROUTES.map(({ path }) => path.replace('/v1/', '')).filter((name) => {
    const [group = '', method = ''] = name.split('.');
    return !all.includes(name) && !(all.includes(group) && new RegExp(`\\b${method}\\b`).test(all));
  });
  expect(missing).toEqual([]);
});
