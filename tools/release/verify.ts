import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import type { Manifest } from '../audit/pinned.ts';
import { fileName, HERE, TARGETS } from '../binary/targets.ts';
import { sbomName } from './build.ts';
import { Refused } from './refused.ts';
import { run } from './run.ts';
import { runtimePackages, type Sbom, sbomProblems } from './sbom.ts';
import { SUMS, sumProblems, sumsOf } from './sums.ts';

export interface Verified {
  readonly passed: readonly string[];
  readonly problems: readonly string[];
  /** Executables that this machine cannot run. */
  readonly notRun: readonly string[];
}

/** Checks the files of a release: as what they say they are, and by installing and running them. */
export async function verify(given: string, project: string): Promise<Verified> {
  const folder = resolve(given);
  const version = versionOf(folder, given);
  const passed: string[] = [];
  const problems: string[] = [];
  const note = (title: string, found: readonly string[]): void => {
    if (found.length === 0) passed.push(title);
    problems.push(...found);
  };
  const listed = await Bun.file(join(folder, SUMS)).text();
  note('every file has the checksum that SHA256SUMS names', sumProblems(listed, await sumsOf(folder)));
  // What is not the file that was built is not run.
  if (problems.length > 0) return { passed, problems, notRun: [] };
  const installed = await install(folder, version).catch(shortly);
  if (typeof installed === 'string') {
    note('', [`The packages cannot be installed and run (${installed}).`]);
    return { passed, problems, notRun: [] };
  }
  note(`keystile-${version}.tgz, installed in an empty folder, is version ${version}`, installed.program);
  note(`keystile-sdk-${version}.tgz, installed in an empty folder, is loaded by Node`, installed.sdk);
  const expected = {
    name: 'keystile',
    version,
    dependencies: installed.dependencies,
    installed: installed.names,
    private: [project, homedir(), tmpdir()],
  };
  const sbom = await readSbom(join(folder, sbomName(version)));
  note(
    'the SBOM has every package with its version, licence and checksum',
    sbom === null ? [`${sbomName(version)} is not a CycloneDX document.`] : sbomProblems(sbom, expected),
  );
  const made = TARGETS.filter((target) => existsSync(join(folder, fileName(version, target))));
  if (made.some((target) => target === HERE)) {
    note(`the executable for ${HERE} runs by itself and is version ${version}`, await runAlone(folder, version));
  }
  return { passed, problems, notRun: made.filter((target) => target !== HERE) };
}

/** What went wrong, in a few words. Programs that fail tell a long story. */
function shortly(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split('\n').map((line) => line.trim());
  const [first = '', ...told] = lines;
  const reason = told.find((line) => /error/i.test(line));
  return reason === undefined ? first.replace(/\.$/, '') : `${first.replace(/\.$/, '')}: ${reason}`;
}

async function readSbom(path: string): Promise<Sbom | null> {
  const read = (await Bun.file(path)
    .json()
    .catch(() => null)) as Partial<Sbom> | null;
  const isWhole = Array.isArray(read?.components) && read.metadata?.component !== undefined;
  return isWhole ? (read as Sbom) : null;
}

function versionOf(folder: string, given: string): string {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const [found] = names.flatMap((name) => /^keystile-(\d.*)\.tgz$/.exec(name)?.[1] ?? []);
  if (found === undefined || !names.includes(SUMS)) {
    throw new Refused(`--verify needs the folder of a release such as release/1.2.3, and ${given} is none.`);
  }
  return found;
}

interface Installed {
  readonly program: readonly string[];
  readonly sdk: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly names: readonly string[];
}

async function install(folder: string, version: string): Promise<Installed> {
  const empty = mkdtempSync(join(tmpdir(), 'keystile-release-'));
  try {
    await Bun.write(join(empty, 'package.json'), '{"private":true}');
    const packages = [`keystile-${version}.tgz`, `keystile-sdk-${version}.tgz`].map((name) => join(folder, name));
    // Nothing of the program needs them.
    await run(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], empty);
    const manifestOf = async (name: string) =>
      (await Bun.file(join(empty, 'node_modules', name, 'package.json')).json()) as Manifest & { version: string };
    const said = await run([join(empty, 'node_modules/.bin/keystile'), '--version'], empty);
    const exported = 'const { Keystile } = await import("@keystile/sdk"); console.log(typeof Keystile);';
    const loaded = await run(['node', '--input-type=module', '-e', exported], empty);
    const sdk = await manifestOf('@keystile/sdk');
    return {
      program: said === version ? [] : [`The installed keystile says that it is version ${said}, not ${version}.`],
      sdk:
        sdk.version === version && loaded === 'function'
          ? []
          : [
              `The installed @keystile/sdk is version ${sdk.version} and exports a ${loaded}, not ${version} and a function.`,
            ],
      dependencies: runtimePackages(await manifestOf('keystile')),
      names: await namesIn(empty),
    };
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

/** Of every package in node_modules but our own. */
async function namesIn(folder: string): Promise<string[]> {
  const { packages } = (await Bun.file(join(folder, 'node_modules/.package-lock.json')).json()) as {
    packages: Record<string, unknown>;
  };
  const names = Object.keys(packages).map((path) =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  return [...new Set(names)].filter((name) => name !== 'keystile' && name !== '@keystile/sdk');
}

async function runAlone(folder: string, version: string): Promise<string[]> {
  const empty = mkdtempSync(join(tmpdir(), 'keystile-release-'));
  try {
    const said = await run([join(folder, fileName(version, HERE)), '--version'], empty);
    return said === version ? [] : [`The executable for ${HERE} says that it is version ${said}, not ${version}.`];
  } catch (error) {
    return [`The executable for ${HERE} cannot be run (${shortly(error)}).`];
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}
