import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { VERSION } from '../../src/version.ts';
import { type Target, TARGETS } from '../binary/targets.ts';
import { build } from './build.ts';
import { released, unreleasedNotes } from './changelog.ts';
import { filesWithVersion } from './places.ts';
import { Refused } from './refused.ts';
import { addWorktree, commitAndTag, moveThen, removeWorktree, requireReleasable } from './repository.ts';
import { verify } from './verify.ts';

const USAGE = `npm run release -- VERSION [--dry-run] [--targets PLATFORM,...]
npm run release -- --verify FOLDER

Makes the files of a release in release/VERSION, commits the version and tags it. Publishes nothing.

  --dry-run            no commit and no tag
  --targets PLATFORMS  the executables to make. Default: ${TARGETS.join(', ')}
  --verify FOLDER      checks the files of a release. It runs the program and the executable for this machine:
                       check where they come from first
`;

const PROJECT = join(import.meta.dir, '..', '..');
const RELEASES = join(PROJECT, 'release');

const say = (line: string): void => console.log(line);

/** A signal ends the commands that run; what was begun is then undone as after any failure. */
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => (isInterrupted = true));

interface Wanted {
  readonly version: string;
  readonly targets: readonly Target[];
  readonly isDryRun: boolean;
}

async function release({ version, targets, isDryRun }: Wanted): Promise<void> {
  const worktree = await addWorktree(PROJECT, RELEASES);
  try {
    const read = (path: string): Promise<string> => Bun.file(join(worktree, path)).text();
    const changelog = await read('CHANGELOG.md');
    const notes = unreleasedNotes(changelog);
    const files = new Map(await filesWithVersion(read, VERSION, version));
    files.set('CHANGELOG.md', released(changelog, version, new Date().toISOString().slice(0, 10)));
    for (const [path, text] of files) await Bun.write(join(worktree, path), text);
    const out = join(worktree, 'release', version);
    const step = (line: string): void => {
      if (isInterrupted) throw new Refused('Stopped: nothing was changed.');
      say(line);
    };
    await build({ source: worktree, out, version, targets, notes, say: step });
    step('checking the result');
    if (!(await showVerified(out))) throw new Refused('The release was not made: nothing was changed.');
    step(isDryRun ? 'not committed and not tagged: this is a dry run' : `committing and tagging v${version}`);
    await moveThen(out, join(RELEASES, version), async () => {
      if (!isDryRun) await commitAndTag({ project: PROJECT, worktree }, { version, paths: [...files.keys()], notes });
    });
  } finally {
    await removeWorktree(PROJECT, worktree);
  }
}

async function showVerified(folder: string): Promise<boolean> {
  const { passed, problems, notRun } = await verify(folder, PROJECT);
  for (const title of passed) say(`  ok       ${title}`);
  for (const problem of problems) say(`  FAILED   ${problem}`);
  for (const target of notRun) say(`  NOT RUN  the executable for ${target}: this machine cannot run it`);
  return problems.length === 0;
}

function showPublishing(version: string): void {
  const folder = `release/${version}`;
  const channel = version.includes('-') ? ' --tag next' : '';
  say(`
Version ${version} is in ${folder}. Nothing was published. These commands publish it:

  git push origin main v${version}
  npm publish ${folder}/keystile-${version}.tgz${channel}
  npm publish ${folder}/keystile-sdk-${version}.tgz --access public${channel}
  git push origin v${version}^{}:refs/tags/clients/go/v${version}

Put all files of ${folder} on the page of the release, with RELEASE_NOTES.md as its text.`);
}

function readTargets(given: string | undefined): readonly Target[] {
  if (given === undefined) return TARGETS;
  const names = given.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !TARGETS.some((target) => target === name));
  if (unknown !== undefined) throw new Refused(`--targets must name some of ${TARGETS.join(', ')}, got "${unknown}".`);
  return TARGETS.filter((target) => names.includes(target));
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean' },
      targets: { type: 'string' },
      verify: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    say(USAGE);
    return 0;
  }
  if (values.verify !== undefined) {
    if (positionals.length > 0 || values['dry-run'] === true || values.targets !== undefined) {
      throw new Refused('--verify checks a folder and takes nothing else. Leave the other words out.');
    }
    return (await showVerified(values.verify)) ? 0 : 1;
  }
  if (positionals.length > 1) throw new Refused(`Give one version, got "${positionals.join(' ')}".`);
  const targets = readTargets(values.targets);
  const isDryRun = values['dry-run'] === true;
  const version = await requireReleasable(PROJECT, { given: positionals[0], present: VERSION });
  unreleasedNotes(await Bun.file(join(PROJECT, 'CHANGELOG.md')).text());
  await release({ version, targets, isDryRun });
  if (!isDryRun) showPublishing(version);
  return 0;
}

process.exit(
  await main().catch((error: unknown) => {
    // parseArgs adds advice that does not fit here.
    const isUnread = error instanceof TypeError;
    const message = error instanceof Error ? error.message : String(error);
    console.error(isUnread ? `${message.split('. ')[0]}. npm run release -- --help shows what there is.` : message);
    return error instanceof Refused || isUnread ? 2 : 1;
  }),
);
