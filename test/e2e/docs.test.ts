import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROUTES } from '../../src/http/routeTable.ts';
import { PROJECT, runToEnd, TempFolder } from './process.ts';
import { Server } from './server.ts';
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

/** Pages that show calls of a running service. */
const PAGES = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md'))
  .filter((page) => blocksOf(page).some(({ language, text }) => language === 'sh' && text.includes(SHOWN_URL)));

/** A line that tells where the output of one block ends. */
const END = '--- end of block';

/** All shell blocks of a page in one shell, one after the other, as someone who reads it would paste them. */
function script(blocks: readonly Block[], server: Server, api: string): string {
  const preamble = `ROOT='${server.rootKey}'\napi='${api}'\nexport ROOT api\n`;
  return (
    preamble + blocks.map(({ text }) => `${text.replaceAll(SHOWN_URL, server.url)}\necho; echo '${END}'\n`).join('')
  );
}

async function runTypeScript(text: string, server: Server, api: string): Promise<number | null> {
  // Beside the sources, so that packages are found.
  const file = join(PROJECT, `docs-example-${crypto.randomUUID()}.ts`);
  writeFileSync(file, text.replaceAll(SHOWN_URL, server.url));
  try {
    const command = ['env', `ROOT=${server.rootKey}`, `api=${api}`, process.execPath, file];
    return (await runToEnd({ command })).code;
  } finally {
    rmSync(file);
  }
}

describe.each(PAGES.map((page) => [page]))('docs/%s', (page) => {
  test('everything that it shows works, and answers in the shape that it shows', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'from the docs' })) as { apiId: string };
    const shell = blocksOf(page).filter(({ language, text }) => language === 'sh' && text.includes(SHOWN_URL));
    const outputs = (await paste(script(shell, server, apiId), folder)).split(`${END}\n`);
    for (const [i, { text, answer }] of shell.entries()) {
      const output = outputs[i] ?? '';
      expect([text, /"error":|not found|rror/.exec(output)?.[0]]).toEqual([text, undefined]);
      if (answer === undefined) continue;
      const last = JSON.parse(
        output
          .trim()
          .split('\n')
          .at(-1)
          ?.replace(/^.*?\}(?=\{)/, '') ?? '',
      ) as object;
      expect([text, Object.keys(last).toSorted()]).toEqual([text, Object.keys(answer as object).toSorted()]);
    }
    for (const { text } of blocksOf(page).filter(({ language }) => language === 'ts')) {
      expect([text, await runTypeScript(text, server, apiId)]).toEqual([text, 0]);
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
