import { expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { fileName, HERE } from '../../../tools/binary/targets.ts';
import { SUMS, sumsOf } from '../../../tools/release/sums.ts';
import { verify } from '../../../tools/release/verify.ts';
import { PROJECT, TempFolder } from '../../process/process.ts';

const VERSION = '1.2.3';
const SBOM = {
  bomFormat: 'CycloneDX',
  metadata: { component: { name: 'keystile', version: VERSION } },
  components: [],
};
const SAYS_VERSION = `#!/bin/sh\necho ${VERSION}\n`;
const CRASHES = '#!/bin/sh\necho "Error: no such module" >&2\necho "    at load (main.js:1:2)" >&2\nexit 3\n';

interface Faked {
  readonly program?: string;
  readonly executable?: string;
  readonly sbom?: string;
  /** A script of the package that runs when it is installed. */
  readonly script?: string;
}

function pack(folder: TempFolder, out: string, files: Readonly<Record<string, string>>): void {
  const source = folder.join('package');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true });
    writeFileSync(join(source, name), text);
    chmodSync(join(source, name), 0o755);
  }
  const { success, stderr } = Bun.spawnSync(['tar', '-czf', out, '-C', folder.path, 'package']);
  if (!success) throw new Error(stderr.toString());
}

/** The files of a release that say what they are asked to. */
async function makeRelease(folder: TempFolder, faked: Faked): Promise<string> {
  const { program = SAYS_VERSION, executable = SAYS_VERSION, sbom = JSON.stringify(SBOM), script = 'true' } = faked;
  const out = folder.join('release');
  mkdirSync(out);
  const manifest = { version: VERSION, scripts: { install: script, postinstall: script } };
  pack(folder, join(out, `keystile-${VERSION}.tgz`), {
    'package.json': JSON.stringify({ ...manifest, name: 'keystile', bin: 'keystile.sh' }),
    'keystile.sh': program,
  });
  pack(folder, join(out, `keystile-sdk-${VERSION}.tgz`), {
    'package.json': JSON.stringify({ ...manifest, name: '@keystile/sdk', type: 'module', exports: './sdk.js' }),
    'sdk.js': 'export class Keystile {}',
  });
  writeFileSync(join(out, fileName(VERSION, HERE)), executable);
  chmodSync(join(out, fileName(VERSION, HERE)), 0o755);
  writeFileSync(join(out, `keystile-${VERSION}.cdx.json`), sbom);
  writeFileSync(join(out, SUMS), await sumsOf(out));
  return out;
}

test('a release is installed without running what its packages want to run then', async () => {
  using folder = new TempFolder();
  const out = await makeRelease(folder, { script: `touch ${folder.join('ran')}` });
  const { passed, problems } = await verify(out, PROJECT);
  expect([problems, passed.length]).toEqual([[], 5]);
  expect(existsSync(folder.join('ran'))).toBe(false);
});

test.each<[string, Faked, RegExp]>([
  [
    'a program that crashes',
    { program: CRASHES },
    /^The packages cannot be installed and run \(\S+\/keystile --version ended with exit code 3: Error: no such module\)\.$/,
  ],
  [
    'an executable that crashes',
    { executable: CRASHES },
    /^The executable for \S+ cannot be run \(\S+ --version ended with exit code 3: Error: no such module\)\.$/,
  ],
  ['an SBOM that is none', { sbom: '{}' }, /^keystile-1\.2\.3\.cdx\.json is not a CycloneDX document\.$/],
  ['an SBOM that is torn', { sbom: '{"components": [' }, /^keystile-1\.2\.3\.cdx\.json is not a CycloneDX document\.$/],
])('%s is told in one sentence', async (_title, faked, sentence) => {
  using folder = new TempFolder();
  const { problems } = await verify(await makeRelease(folder, faked), PROJECT);
  expect(problems).toEqual([expect.stringMatching(sentence)]);
});
