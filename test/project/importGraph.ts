import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export const ROOT = join(import.meta.dir, '../../src');
export const FILES = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));

/** The code of a file without its comments. */
export const CODE = new Map(FILES.map((path) => [path, withoutComments(readFileSync(join(ROOT, path), 'utf8'))]));

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

export interface Import {
  readonly from: string;
  /** A path under src, or the name of a package. */
  readonly to: string;
  readonly isTypeOnly: boolean;
}

function importsOf(path: string): Import[] {
  const found = (CODE.get(path) ?? '').matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"();]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g,
  );
  return [...found].map(([, type, from, dynamic, bare]) => {
    const target = from ?? dynamic ?? bare ?? '';
    const to = target.startsWith('.') ? normalize(join(dirname(path), target)) : target;
    return { from: path, to, isTypeOnly: type !== undefined };
  });
}

export const IMPORTS = FILES.flatMap(importsOf);

/** The files of src that each file imports. */
export const TARGETS = new Map(
  FILES.map((path) => [
    path,
    IMPORTS.filter(({ from, to }) => from === path && FILES.includes(to)).map(({ to }) => to),
  ]),
);

/**
 * Which folder imports which, among folders side by side: from their common parent down, the first part in which two paths differ. A
 * folder and the folders in it are one thing, so a file beside them counts for none of them.
 */
export function folderImports(files: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const [from, targets] of files) {
    for (const to of targets) {
      const [a, b] = [from.split('/'), to.split('/')];
      const depth = a.findIndex((part, i) => part !== b[i]) + 1;
      if (depth === 0 || depth >= a.length || depth >= b.length) continue;
      const folder = a.slice(0, depth).join('/');
      folders.set(folder, [...(folders.get(folder) ?? []), b.slice(0, depth).join('/')]);
    }
  }
  return folders;
}

/** Everything from which imports lead back to itself. */
export function inCycles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const leadsBack = (start: string): boolean => {
    const reached = new Set<string>(imports.get(start) ?? []);
    for (const each of reached) for (const next of imports.get(each) ?? []) reached.add(next);
    return reached.has(start);
  };
  return [...imports.keys()].filter(leadsBack).sort();
}
