import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../../docs/http.md', import.meta.url));

/** A line of a configuration, and what stands there instead in a test. */
export type Change = readonly [line: string, instead: string];

/** The configuration that docs/http.md recommends: what is run is what is shown. */
export function documented(language: 'nginx' | 'haproxy', changes: readonly Change[]): string {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  const found = blocks.filter(([, name]) => name === language);
  if (found.length !== 1) throw new Error(`${PAGE} has ${found.length} blocks of ${language}, not one`);
  return changes.reduce((text, [line, instead]) => {
    if (text.split(line).length !== 2)
      throw new Error(`${PAGE}: "${line}" does not stand once in the ${language} block`);
    return text.replace(line, () => instead);
  }, found[0]?.[2] ?? '');
}
