import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Lockfile, Manifest } from '../audit/pinned.ts';
import { fileName, type Target } from '../binary/targets.ts';
import { run } from './run.ts';
import { runtimeOnly, type Sbom, withoutOrigins } from './sbom.ts';
import { SUMS, sumsOf } from './sums.ts';

export interface BuildOptions {
  /** The checkout to build from, with the version of the release in its files. */
  readonly source: string;
  readonly out: string;
  readonly version: string;
  readonly targets: readonly Target[];
  readonly notes: string;
  readonly say: (line: string) => void;
}

/** Makes all files of a release. */
export async function build({ source, out, version, targets, notes, say }: BuildOptions): Promise<void> {
  mkdirSync(out, { recursive: true });
  say('packing keystile and @keystile/sdk');
  await run(['npm', 'pack', '--pack-destination', out], source);
  await run(['npm', 'pack', '--pack-destination', out], join(source, 'sdk'));
  for (const [i, target] of targets.entries()) {
    say(`making the executable for ${target} (${i + 1} of ${targets.length})`);
    const file = join(out, fileName(version, target));
    await run(['node', 'tools/launch/develop.mjs', 'binary', '--target', target, '--out', file], source);
  }
  say('copying the files of deploy, listing the packages, adding checksums');
  cpSync(join(source, 'deploy'), join(out, 'deploy'), { recursive: true });
  await Bun.write(join(out, sbomName(version)), `${JSON.stringify(await makeSbom(source), null, 2)}\n`);
  await Bun.write(join(out, 'RELEASE_NOTES.md'), `# Keystile ${version}\n\n${notes}\n`);
  await Bun.write(join(out, SUMS), await sumsOf(out));
}

export function sbomName(version: string): string {
  return `keystile-${version}.cdx.json`;
}

/** The packages that the program runs with, as CycloneDX. */
async function makeSbom(source: string): Promise<Sbom> {
  const read = (name: string): Promise<unknown> => Bun.file(join(source, name)).json();
  const runtime = runtimeOnly((await read('package.json')) as Manifest, (await read('package-lock.json')) as Lockfile);
  const folder = mkdtempSync(join(tmpdir(), 'keystile-sbom-'));
  try {
    // npm calls the program by the name of its folder.
    const named = join(folder, 'keystile');
    await Bun.write(join(named, 'package.json'), JSON.stringify(runtime.manifest));
    await Bun.write(join(named, 'package-lock.json'), JSON.stringify(runtime.lockfile));
    const command = ['npm', 'sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    return withoutOrigins(JSON.parse(await run(command, named)) as Sbom);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
