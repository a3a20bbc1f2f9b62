import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

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
