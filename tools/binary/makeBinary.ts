import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CLIENT_PACKAGES, packClients, packedAt } from '../../src/http/clientPackages.ts';
import { ASSETS, GUIDES, IMAGES } from '../../src/http/docs/site.ts';
import { buildPages, digestOfSources, keep } from '../../src/http/webPages.ts';
import { PROGRAM_FILES } from '../../src/programFiles.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'src/main.ts');
const THREAD = join(ROOT, 'src/storage/sqlite/thread/thread.ts');

/** The program with the runtime and all files that it reads, in one executable file. `target` null: for this machine. */
export async function makeBinary(outfile: string, target: Bun.Build.CompileTarget | null): Promise<void> {
  await keep(PROGRAM_FILES.packedPages, await digestOfSources(), await buildPages());
  await packClients();
  await mkdir(dirname(outfile), { recursive: true });
  // In the project: what is embedded keeps its path from there. node_modules may be a link that leads out of it.
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'dist/.keystile-binary-'));
  try {
    const entry = join(folder, 'entry.ts');
    await Bun.write(entry, entrySource());
    const built = await Bun.build({
      entrypoints: [entry, THREAD],
      root: ROOT,
      target: 'bun',
      minify: { whitespace: true, syntax: true },
      naming: { entry: '[dir]/[name].[ext]', asset: '[dir]/[name].[ext]' },
      // The folder in which it is started must not change what it does.
      compile: {
        outfile,
        autoloadDotenv: false,
        autoloadBunfig: false,
        autoloadTsconfig: false,
        autoloadPackageJson: false,
        ...(target === null ? {} : { target }),
      },
      throw: false,
    });
    if (!built.success) throw new Error(`The program could not be made: ${built.logs.map(String).join(' ')}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every file that the program reads by its path. */
function embeddedFiles(): string[] {
  const named = [
    ...GUIDES.map((guide) => new URL(`${guide}.md`, PROGRAM_FILES.docs)),
    ...IMAGES.map((image) => new URL(image, PROGRAM_FILES.docs)),
    ...Object.values(ASSETS).map(({ file }) => new URL(file, PROGRAM_FILES.assets)),
    PROGRAM_FILES.packedPages,
    ...Object.keys(CLIENT_PACKAGES).map(packedAt),
  ];
  return named.map((url) => fileURLToPath(url));
}

/** Embeds the files and runs the program. What is exported is not left out. */
function entrySource(): string {
  const files = embeddedFiles();
  const imports = files.map((path, i) => `import file${i} from ${JSON.stringify(path)} with { type: 'file' };`);
  return `${imports.join('\n')}
import ${JSON.stringify(MAIN)};

export default [${files.map((_, i) => `file${i}`).join(', ')}];
`;
}
