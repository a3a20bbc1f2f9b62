import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { asPublished, sdkEntries } from '../../src/http/clientPackages.ts';

/**
 * The declarations of what the SDK exports, by their paths in `dist`. They stand in sdk/types, because a service that hands out the SDK has no
 * compiler. The types of the frameworks need not be installed: nothing is checked here.
 */
export async function sdkDeclarations(): Promise<Map<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-types-'));
  try {
    const compiler = ['node', 'node_modules/typescript/bin/tsc', '-p', 'sdk/tsconfig.build.json', '--outDir', folder];
    const { exitCode, stdout } = Bun.spawnSync(compiler);
    if (exitCode !== 0) throw new Error(`The declarations of the SDK cannot be made:\n${stdout.toString()}`);
    return await reachable(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function reachable(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const waiting = await sdkEntries();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    // The file of types stands for itself.
    if (found.has(`${path}.d.ts`) || path === 'generated/api') continue;
    const made = path.startsWith('core/') ? `src/${path}.d.ts` : `sdk/src/${path}.d.ts`;
    const text = asPublished(await Bun.file(join(folder, made)).text());
    found.set(`${path}.d.ts`, text);
    const base = new URL(`http://dist/${path}`);
    for (const [, specifier = ''] of text.matchAll(/(?:from |import\()['"](\.{1,2}\/[^'"]+)\.js['"]/g))
      waiting.push(new URL(specifier, base).pathname.slice(1));
  }
  return found;
}
