import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));

/** A line of the configuration, and its replacement in a test. */
export type Change = readonly [line: string, instead: string];

type Page = 'http.md' | 'gateways.md';
type Language = 'nginx' | 'haproxy' | 'lua' | 'caddyfile';

/** The configuration that a page of docs recommends, so that the tests run what the page shows. */
export function documented(page: Page, language: Language, changes: readonly Change[]): string {
  const blocks = [...readFileSync(DOCS + page, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const found = blocks.filter(([, name]) => name === language);
  if (found.length !== 1) throw new Error(`${page} must have one block of ${language}, but has ${found.length}`);
  return changes.reduce((text, [line, instead]) => {
    if (text.split(line).length !== 2) throw new Error(`${page}: the ${language} block must contain "${line}" once`);
    return text.replace(line, () => instead);
  }, found[0]?.[2] ?? '');
}
