import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../../docs/http.md', import.meta.url));

/** A line of the configuration, and its replacement in a test. */
export type Change = readonly [line: string, instead: string];

/** The configuration that docs/http.md recommends, so that the tests run what the page shows. */
export function documented(language: 'nginx' | 'haproxy', changes: readonly Change[]): string {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const found = blocks.filter(([, name]) => name === language);
  if (found.length !== 1) throw new Error(`${PAGE} must have one block of ${language}, but has ${found.length}`);
  return changes.reduce((text, [line, instead]) => {
    if (text.split(line).length !== 2) throw new Error(`${PAGE}: the ${language} block must contain "${line}" once`);
    return text.replace(line, () => instead);
  }, found[0]?.[2] ?? '');
}
