import { describe, expect, test } from 'bun:test';
import { readFileSync, existsSync, readdirSync } from 'node:fs';
import { join, basename, dirname } from 'node:path';

import { readSpeed, speedText, withRun } from '../../tools/bench/speed.ts';
import { DRAWN, GENERATED, regenerate } from '../../tools/scripts/generatedDocs.ts';
import type { Results } from '../../tools/bench/goals.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';
import { ALL_COMMANDS } from '../../src/cli/cli.ts';
import { RIGHTS } from '../../src/core/rights.ts';

describe('documentation', () => {
  for (const [path, make] of Object.entries(GENERATED)) {
    test(`${path} equals its source; if not, run \`npm run docs\``, () => {
      const page = readFileSync(path, 'utf8');
      expect(page).toBe(regenerate(page, make()));
    });
  }

  for (const [path, make] of Object.entries(DRAWN)) {
    test(`${path} is drawn from its figures; if not, run \`npm run docs\``, () => {
      expect(readFileSync(path, 'utf8')).toBe(make());
    });
  }

  test('docs/speed.json is written as `npm run bench -- --publish` writes it, which adds a run and keeps the newest five', () => {
    const speed = readSpeed();
    expect(readFileSync('docs/speed.json', 'utf8')).toBe(speedText(speed));
    const subject = { perSecond: 12_345.6, p50Ms: 1.234, p99Ms: 5.678 };
    const comparison = { ratio: { median: 0.333, min: 0, max: 1 }, subject };
    const rows = { local: comparison, strict: comparison, credits: comparison };
    const results = { counters: [], postgres: { oneNode: rows, twoNodes: rows, strictCrowd: comparison } };
    const published = withRun(speed, results as unknown as Results, 'another machine');
    const strict = speed.rows.find(({ name }) => name === 'postgres-strict')?.runs ?? [];
    expect(published.rows.find(({ name }) => name === 'postgres-strict')).toEqual({
      name: 'postgres-strict',
      runs: [...strict.slice(-4), { ratio: 0.33, perSecond: 12_300, p50Ms: 1.23, p99Ms: 5.68 }],
    });
    expect(published.rows.find(({ name }) => name === 'local')).toEqual(
      speed.rows.find(({ name }) => name === 'local'),
    );
  });

  test('the changelog names every endpoint', () => {
    const changelog = readFileSync('CHANGELOG.md', 'utf8');
    const missing = ROUTES.map(({ path }) => path.split('.').at(-1) ?? '').filter((name) => !changelog.includes(name));
    expect(missing).toEqual([]);
  });
});

/** A page, by the reader's measure. */
const MAX_WORDS = 500;
const ADR = 'docs/adr';

const read = (path: string): string => readFileSync(path, 'utf8');
const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
const foldersIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** The folders of the tree in docs/architecture.md, each with the words beside it. A line without a folder continues the one above. */
function treeOfArchitecture(): Map<string, string> {
  const [, tree = ''] = /^## The tree\n\n```\n([\s\S]*?)^```/m.exec(read('docs/architecture.md')) ?? [];
  const found = new Map<string, string>();
  const parents: string[] = [];
  let path = '';
  for (const line of tree.split('\n')) {
    const [, indent, name = '', words = ''] = /^((?: {2}){0,3})(\w+)\/(.*)$/.exec(line) ?? [];
    if (indent === undefined) {
      found.set(path, `${found.get(path) ?? ''}${line}`);
      continue;
    }
    parents.length = indent.length / 2;
    parents.push(name);
    path = parents.join('/');
    found.set(path, words);
  }
  return found;
}

describe('the shape of the documentation', () => {
  test.each(readdirSync(ADR))('%s fits on a page, with its measurements in an appendix', (name) => {
    const [page = '', ...appendix] = read(join(ADR, name)).split(/^## Appendix/m);
    expect(wordsIn(page)).toBeLessThanOrEqual(MAX_WORDS);
    expect(appendix.length).toBeLessThanOrEqual(1);
    const headings = [...page.matchAll(/^## (\w+)/gm)].map(([, heading]) => heading);
    expect([...new Set(headings)]).toEqual(['Context', 'Decision', 'Consequences']);
  });

  test('the tree of docs/architecture.md has every folder of src, two levels deep, and names the folders in those', () => {
    const tree = treeOfArchitecture();
    const first = foldersIn('src').map((name) => `src/${name}`);
    const second = first.flatMap((folder) => foldersIn(folder).map((name) => `${folder}/${name}`));
    expect([...first, ...second].filter((folder) => !tree.has(folder))).toEqual([]);
    const unnamed = second.flatMap((folder) =>
      foldersIn(folder)
        .filter((name) => !new RegExp(`\\b${name}\\b`).test(tree.get(folder) ?? ''))
        .map((name) => `${folder}/${name}`),
    );
    expect(unnamed).toEqual([]);
    expect([...tree.keys()].filter((folder) => folder !== '' && !existsSync(folder))).toEqual([]);
  });

  test('the glossary is sorted, and each word has one row', () => {
    const words = [...read('docs/glossary.md').matchAll(/^\| ([a-z][^|]*) \|/gm)].map(([, word = '']) => word);
    expect(words.length).toBeGreaterThan(50);
    expect(words).toEqual([...new Set(words)].toSorted((a, b) => (a < b ? -1 : 1)));
  });

  test('CONTRIBUTING.md has every folder of test that does not mirror src', () => {
    const page = read('CONTRIBUTING.md');
    const own = foldersIn('test').filter((name) => !existsSync(join('src', name)));
    expect(own.filter((name) => !page.includes(`| \`test/${name}\` |`))).toEqual([]);
  });
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));

const FOLDERS = ['src', 'test', 'tools', 'docs', 'examples', 'bin', '.ci'];
const FILES = FOLDERS.filter((folder) => existsSync(folder)).flatMap(filesIn);
const BASENAMES = new Set(FILES.map((path) => basename(path)));
const READMES = ['README.md', 'sdk/README.md', 'clients/python/README.md', 'clients/go/README.md'];
const PAGES = [
  ...READMES,
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...FILES.filter((path) => /^(docs|examples)\/.*\.md$/.test(path) && !path.includes('/node_modules/')),
];
const SCRIPTS = new Set(Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts));
const TEST_GROUPS = new Set(['check', 'long', ...readdirSync('test')]);

const KEYSTILE_COMMANDS = new Set(ALL_COMMANDS.map(({ name }) => name));

/** Code in backticks and in fenced blocks, line by line. */
function codeIn(page: string): string[] {
  const text = read(page);
  const fenced = [...text.matchAll(/^ *```[^\n]*\n([\s\S]*?)^ *```/gm)].flatMap((match) =>
    (match[1] ?? '').split('\n'),
  );
  const inline = [...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    (match) => match[1] ?? '',
  );
  return [...fenced, ...inline].map((code) => code.trim());
}

/** GitHub's way to make an anchor of a heading. */
function anchorsOf(page: string): Set<string> {
  const headings = [...read(page).matchAll(/^#+ +(.*)$/gm)].map((match) => match[1] ?? '');
  const slugs = headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set(slugs);
}

function brokenLinks(page: string): string[] {
  const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
  });
}

/** Commands of npm whose script, group or file of tests does not exist. */
function brokenNpmCommands(page: string): string[] {
  const commands = codeIn(page).flatMap((code) => [
    ...code.matchAll(/\bnpm (?:run (?:-\S+ )*(\S+)|(test|start))([^|;&#]*)/g),
  ]);
  return commands.flatMap(([command, script = '', short, rest = '']) => {
    if (short !== undefined ? !SCRIPTS.has(short) : !SCRIPTS.has(script)) return [command];
    const targets =
      short === 'test' ? (rest.split(' -t ')[0] ?? '').split(/\s+/).filter((word) => /^[\w./]+$/.test(word)) : [];
    return targets.every((target) => TEST_GROUPS.has(target) || existsSync(target) || /^[A-Z]+$/.test(target))
      ? []
      : [command.trim()];
  });
}

function keystileCommandsIn(page: string): string[] {
  const calls = /(?:^|\$ |npx |npm run )keystile(?: --)?((?: [a-z][a-z-]*)+)/g;
  return codeIn(page).flatMap((code) => [...code.matchAll(calls)].map((match) => (match[1] ?? '').trim()));
}

/** Commands that the command line does not know; words behind a command are its operands. */
function brokenKeystileCommands(page: string): string[] {
  return keystileCommandsIn(page).filter((command) => {
    const words = command.split(' ');
    return !words.some((_, i) => KEYSTILE_COMMANDS.has(words.slice(0, i + 1).join(' ')));
  });
}

/** Commands write it, and git ignores it. */
function isMadeByCommand(path: string): boolean {
  const ignored = read('.gitignore')
    .split('\n')
    .filter((line) => line.includes('/'));
  return ignored.some((line) => `${path}/`.startsWith(line.replace(/^\//, '')));
}

/** Paths and bare names of files and folders of this project that do not exist. */
function brokenNames(page: string): string[] {
  return codeIn(page)
    .flatMap((code) => code.split(/[\s,;:()"'=]+/))
    .filter((word) => {
      if (/[*<>{}$…]|\.\.\./.test(word)) return false;
      const path = word.replace(/^\.\//, '').replace(/\/$/, '');
      if (/^(src|test|tools|docs|examples)\//.test(path)) return !existsSync(path) && !isMadeByCommand(path);
      if (/^[\w.-]+(\.test)?\.(ts|mjs)$/.test(path)) return !BASENAMES.has(path);
      return false;
    });
}

describe('the documentation', () => {
  test('what this file looks for is found where it stands', () => {
    expect(PAGES).toContain('docs/architecture.md');
    expect(codeIn('README.md')).toContain('npm run bench');
    expect(codeIn('docs/architecture.md').filter((code) => code.startsWith('src/'))).not.toEqual([]);
    expect(PAGES.flatMap(keystileCommandsIn)).toContain('root-key create');
    expect(anchorsOf('README.md').size).toBeGreaterThan(2);
  });

  test('wherever the other client library is shown, its version is named: the current major version does not work here', () => {
    const imports = PAGES.flatMap((page) => codeIn(page).filter((code) => /^import .*'@unkey\/api'/.test(code)));
    expect(imports.length).toBeGreaterThan(10);
    expect(imports.filter((line) => !line.endsWith('// npm i @unkey/api@0'))).toEqual([]);
    const naming = PAGES.filter((page) => read(page).includes('@unkey/api'));
    expect(naming.filter((page) => !read(page).includes('npm i @unkey/api@0'))).toEqual([]);
    // No command installs another version.
    const installs = PAGES.flatMap(
      (page) => read(page).match(/\b(?:npm|bun|pnpm|yarn) (?:i|install|add)\b[^\n`]*@unkey\/api\S*/g) ?? [],
    );
    expect(installs.filter((command) => !/@unkey\/api@0\b/.test(command))).toEqual([]);
  });

  test('no page runs bun through npx: the packages are installed without their scripts, so npx finds no program', () => {
    expect(PAGES.filter((page) => codeIn(page).some((code) => /\bnpx bun\b/.test(code)))).toEqual([]);
  });

  test('no program that is shown needs a newer Node than 20, the oldest that the SDK runs on', () => {
    const usesUsing = (text: string): boolean => /\busing \w+ =/.test(text);
    const shown = PAGES.flatMap((page) =>
      (read(page).match(/^```(?:js|ts|mjs)\b[\s\S]*?^```/gm) ?? []).map((text) => [page, text]),
    );
    expect(shown.length).toBeGreaterThan(10);
    expect(shown.filter(([, text = '']) => usesUsing(text))).toEqual([]);
    const examples = [...new Bun.Glob('examples/**/*.{js,ts,mjs}').scanSync('.')];
    expect(examples.length).toBeGreaterThan(3);
    expect(examples.filter((file) => usesUsing(read(file)))).toEqual([]);
  });

  test('nothing takes Keystile from a registry: it is not published, and whoever has the name there runs code at our users', () => {
    const globs = ['{src,web,bin}/**/*.{ts,tsx,mjs}', '{deploy,examples}/**/*'];
    const files = [...PAGES, ...globs.flatMap((glob) => [...new Bun.Glob(glob).scanSync('.')])];
    expect(files.length).toBeGreaterThan(300);
    const taken = [
      /\bnpx (?:-y |--yes )?keystile\b/,
      /\b(?:npm|pnpm|yarn|bun) (?:i|install|add)\b[^\n`|]*(?<![\w/.-])(?:@keystile\/sdk|keystile)(?![\w/.-])/,
      /\bpip install\b[^\n`|]*(?<![\w/.-])keystile(?:\[\w+\])?(?![\w/.[-])(?! @ )/,
      /^keystile(?:\[\w+\])?$/m,
      /\bgo get github\.com\/keystile\b/,
      /"@keystile\/sdk": "(?!http:\/\/127)/,
      /\bimage: keystile\b(?!.*\n.*\n\s*pull_policy: build)/,
      /\bdocker run (?!--pull=never)[^\n`]*\bkeystile\b/,
    ];
    const found = files.flatMap((file) =>
      taken.flatMap((pattern) => pattern.exec(read(file))?.[0] ?? []).map((text) => `${file}: ${text}`),
    );
    // It names how npx was called, to whoever has called it.
    expect(found).toEqual(['src/cli/output/print.ts: npx keystile']);
    expect(read('README.md').split('\n').slice(0, 4).join(' ')).toContain('Version 0.1, not yet published');
  });

  test('the first code of the README is the SDK', () => {
    expect(/^```[^\n]*\n([\s\S]*?)^```/m.exec(read('README.md'))?.[1]).toStartWith(
      "import { protect } from '@keystile/sdk/",
    );
  });

  test('docs/README.md links every page of docs, and the README links it', () => {
    const pages = readdirSync('docs').filter((name) => name.endsWith('.md') && name !== 'README.md');
    const index = read('docs/README.md');
    expect(pages.filter((name) => !index.includes(`](${name})`))).toEqual([]);
    expect(read('README.md')).toContain('](docs/README.md)');
  });

  test('docs/promises.md has a test for every promise of the README, in its order', () => {
    const withoutEnd = (title = ''): string => title.replace(/\.$/, '');
    const promises = [...read('README.md').matchAll(/^- \*\*(.*?)\*\*/gm)].map((match) => match[1]);
    const tested = [...read('docs/promises.md').matchAll(/^\| \*\*(.*?)\*\*.*`npm /gm)].map((match) => match[1]);
    expect(promises.length).toBe(10);
    expect(tested.map(withoutEnd)).toEqual(promises.map(withoutEnd));
  });

  test('docs/root-keys.md lists every right', () => {
    const page = read('docs/root-keys.md');
    const rows = Object.entries(RIGHTS).map(([resource, actions]) => {
      return `| \`${resource}\` | ${actions.map((action) => `\`${action}\``).join(' ')} |`;
    });
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  describe.each(PAGES)('%s names only what exists', (page) => {
    test('links and their anchors', () => expect(brokenLinks(page)).toEqual([]));
    test('commands of npm', () => expect(brokenNpmCommands(page)).toEqual([]));
    test('commands of keystile', () => expect(brokenKeystileCommands(page)).toEqual([]));
    test('files and folders', () => expect(brokenNames(page)).toEqual([]));
  });
});
