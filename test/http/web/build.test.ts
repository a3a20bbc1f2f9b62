import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  BuildFailed,
  BuildOnce,
  buildPages,
  type BuiltPages,
  digestOfSources,
  findOrBuild,
  keep,
} from '../../../src/http/webPages.ts';
import { Log } from '../../../src/log.ts';

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(): URL {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-build-'));
  folders.push(folder);
  return Bun.pathToFileURL(`${folder}/`);
}

const BUILT: BuiltPages = {
  scripts: { dashboard: 'main-1.js', portal: 'portal-1.js' },
  styles: ['main-1.css'],
  assets: new Map([['main-1.js', { type: 'text/javascript', bytes: new Uint8Array([0, 1, 255]) }]]),
};

describe('a build that fails', () => {
  test('says which file and line is wrong', async () => {
    const folder = newFolder();
    writeFileSync(new URL('main.tsx', folder), "const one = 1;\nimport './nothing.ts';\n");
    mkdirSync(new URL('portal', folder));
    writeFileSync(new URL('portal/portal.tsx', folder), '');
    const failure = await buildPages(folder).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BuildFailed);
    expect((failure as Error).message).toMatch(/main\.tsx, line 2: .*nothing\.ts/);
  });

  test('is not tried again until a source changes, and is logged once', async () => {
    const lines: string[] = [];
    const log = new Log({ level: 'info', format: 'json', nowMs: () => 0, write: (line) => lines.push(line) });
    let digest = 'wrong';
    const tried: (string | null)[] = [];
    const once = new BuildOnce(log, {
      currentDigest: async () => digest,
      findOrBuild: async (of) => {
        tried.push(of);
        if (of === 'wrong') throw new BuildFailed('web/app.tsx, line 1: wrong.');
        return BUILT;
      },
    });
    for (let i = 0; i < 3; i++) expect(await once.get().catch((error: unknown) => error)).toBeInstanceOf(BuildFailed);
    expect([tried, lines.length]).toEqual([['wrong'], 1]);
    digest = 'right';
    expect(await Promise.all([once.get(), once.get()])).toEqual([BUILT, BUILT]);
    expect(tried).toEqual(['wrong', 'right']);
  });
});

describe('a build that is kept', () => {
  test('is used as long as its sources are the same, and a file that is cut off is none', async () => {
    const folder = newFolder();
    const [packedPages, cachedPages] = [new URL('packed.json', folder), new URL('cached.json', folder)];
    await keep(packedPages, 'one', BUILT);
    expect(await findOrBuild('one', { packedPages, cachedPages })).toEqual(BUILT);
    expect(await Bun.file(cachedPages).exists()).toBe(false);
    writeFileSync(packedPages, (await Bun.file(packedPages).text()).slice(0, -10));
    const built = await findOrBuild('one', { packedPages, cachedPages });
    expect(Object.values(built.scripts).every((name) => built.assets.has(name))).toBe(true);
    expect(await findOrBuild('one', { packedPages, cachedPages })).toEqual(built);
    expect(await Bun.file(cachedPages).json()).toMatchObject({ digest: 'one', scripts: built.scripts });
  });

  test('is used as it is where there are no sources, and must be there', async () => {
    const folder = newFolder();
    const [packedPages, cachedPages] = [new URL('packed.json', folder), new URL('cached.json', folder)];
    const missing = await findOrBuild(null, { packedPages, cachedPages }).catch((error: unknown) => error);
    expect(missing).toEqual(new BuildFailed('This program was made without its pages.'));
    await keep(packedPages, 'any', BUILT);
    expect(await findOrBuild(null, { packedPages, cachedPages })).toEqual(BUILT);
  });

  test('the digest of the sources is the same as long as they are', async () => {
    const [one, other] = await Promise.all([digestOfSources(), digestOfSources()]);
    expect(one).toBe(other);
    expect(one).toMatch(/^[0-9a-f]{64}$/);
  });

  test('the first page is at most 150 kB of compressed script', async () => {
    const { assets } = await buildPages();
    const bytes = [...assets.values()]
      .filter(({ type }) => type.startsWith('text/javascript'))
      .map((each) => each.bytes);
    expect(bytes.reduce((sum, each) => sum + each.length, 0)).toBeLessThan(150_000);
  });
});
