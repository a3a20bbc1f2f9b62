import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { sha256 } from '../binary/sha256.ts';

export const SUMS = 'SHA256SUMS';

/** Every file of a release but the list of checksums, sorted. */
export function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path !== SUMS && statSync(join(folder, path)).isFile())
    .toSorted();
}

/** The text that `sha256sum --check` reads. */
export async function sumsOf(folder: string): Promise<string> {
  const lines: string[] = [];
  for (const path of filesOf(folder)) lines.push(`${await sha256(join(folder, path))}  ${path}\n`);
  return lines.join('');
}

/** What is wrong between the list of a release and its files, one sentence each. */
export function sumProblems(listed: string, found: string): string[] {
  const [expected, present] = [read(listed), read(found)];
  const problems: string[] = [];
  for (const [path, sum] of expected) {
    if (!present.has(path)) problems.push(`${path} is in ${SUMS} and not in the folder.`);
    else if (present.get(path) !== sum) problems.push(`${path} is not the file that ${SUMS} names.`);
  }
  for (const path of present.keys()) if (!expected.has(path)) problems.push(`${path} is not in ${SUMS}.`);
  return problems;
}

function read(text: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  );
}
