import { join } from 'node:path';

import { type Lockfile, type Manifest, unlocked, unpinned, withoutChecksum } from './pinned.ts';
import { askNpm } from './askNpm.ts';
import { auditReport } from './report.ts';

/** Checks that every package is pinned, and asks the registry what is known against the pinned versions. */
const PROJECT = join(import.meta.dir, '..', '..');
const WORKSPACES = ['', 'sdk'];

const read = async (path: string): Promise<unknown> => Bun.file(join(PROJECT, path)).json();

async function pinningProblems(): Promise<string[]> {
  const lockfile = (await read('package-lock.json')) as Lockfile;
  const ofWorkspaces = await Promise.all(
    WORKSPACES.map(async (folder) => {
      const path = join(folder, 'package.json');
      const manifest = (await read(path)) as Manifest;
      return [...unpinned(path, manifest), ...unlocked(folder, manifest, lockfile)];
    }),
  );
  return [...ofWorkspaces.flat(), ...withoutChecksum(lockfile)];
}

const problems = await pinningProblems();
const report = auditReport(await askNpm(PROJECT), await askNpm(PROJECT, ['--omit=dev']));
const pinning = problems.length === 0 ? ['Every package has an exact version and a checksum.'] : problems;
for (const line of [...pinning, ...report.lines]) console.log(line);
process.exit(problems.length > 0 ? 1 : report.code);
