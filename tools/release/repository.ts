import { readdirSync, renameSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { Refused } from './refused.ts';
import { ask, run } from './run.ts';
import { requireNewVersion } from './version.ts';

/** The branch that releases are made from. */
const BRANCH = 'main';
const SHOWN_CHANGES = 3;

/** Throws when this is not the state that a release is made from. */
export async function refuseState(project: string): Promise<void> {
  const branch = await ask(['git', 'symbolic-ref', '--short', '-q', 'HEAD'], project);
  if (branch !== BRANCH) {
    const where = branch === null ? 'on no branch' : `on the branch ${branch}`;
    throw new Refused(
      `A release is made from the branch ${BRANCH}, and this checkout is ${where}. Run git switch ${BRANCH}.`,
    );
  }
  const changes = (await run(['git', 'status', '--porcelain'], project)).split('\n').filter((line) => line !== '');
  if (changes.length > 0) {
    const shown = changes.slice(0, SHOWN_CHANGES).map((line) => line.trim().replace(/^\S+ +/, ''));
    const more = changes.length > SHOWN_CHANGES ? ` and ${changes.length - SHOWN_CHANGES} more` : '';
    throw new Refused(
      `The checkout has changes that are not committed: ${shown.join(', ')}${more}. Commit or remove them.`,
    );
  }
  const behind = await ask(['git', 'rev-list', '--count', 'HEAD..@{upstream}'], project);
  if (behind !== null && behind !== '0') {
    throw new Refused(`The upstream of ${BRANCH} has newer commits (${behind}). Run git pull first.`);
  }
}

/**
 * The version of a release that can be made now. The state comes first: a tag that a colleague has published is on no branch here until the
 * newer commits are pulled.
 */
export async function requireReleasable(
  project: string,
  { given, present }: { readonly given: string | undefined; readonly present: string },
): Promise<string> {
  await refuseState(project);
  return requireNewVersion(given, {
    present,
    tags: await tagsOf(project),
    unmerged: await unmergedTagsOf(project),
  });
}

export async function tagsOf(project: string): Promise<string[]> {
  return (await run(['git', 'tag', '--list'], project)).split('\n').filter((tag) => tag !== '');
}

/** Tags whose commit the branch does not have: a release was killed after it made its tag, and before it moved the branch. */
async function unmergedTagsOf(project: string): Promise<string[]> {
  return (await run(['git', 'tag', '--list', '--no-merged', BRANCH], project)).split('\n').filter((tag) => tag !== '');
}

/** A second checkout of the present commit, with the packages of this one. What happens in it leaves this one as it is. */
export async function addWorktree(project: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await removeAbandoned(project, folder);
  const worktree = join(folder, `.building-${process.pid}`);
  await run(['git', 'worktree', 'add', '--quiet', '--detach', worktree, 'HEAD'], project);
  await run(['ln', '-s', join(project, 'node_modules'), join(worktree, 'node_modules')], project);
  return worktree;
}

export async function removeWorktree(project: string, worktree: string): Promise<void> {
  rmSync(worktree, { recursive: true, force: true });
  await run(['git', 'worktree', 'prune'], project);
}

/** Of runs that were killed. */
async function removeAbandoned(project: string, folder: string): Promise<void> {
  for (const name of readdirSync(folder).filter((each) => each.startsWith('.building-'))) {
    if (!isRunning(Number(name.slice('.building-'.length)))) await removeWorktree(project, join(folder, name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Moves the files of a release to their folder, then does what makes them a release. A run that is killed in between can be repeated: its
 * files are replaced. When the rest fails, they go.
 */
export async function moveThen(out: string, folder: string, rest: () => Promise<void>): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  renameSync(out, folder);
  try {
    await rest();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Commits these files of the second checkout, tags the commit and brings the branch there. A failure undoes all of it; a kill can leave the tag alone. */
export async function commitAndTag(
  { project, worktree }: { readonly project: string; readonly worktree: string },
  { version, paths, notes }: { readonly version: string; readonly paths: readonly string[]; readonly notes: string },
): Promise<void> {
  await run(['git', 'commit', '--quiet', '-m', `Version ${version}`, '--', ...paths], worktree);
  const commit = await run(['git', 'rev-parse', 'HEAD'], worktree);
  const message = `Version ${version}\n\n${notes}\n`;
  // A line of the notes that begins with # is no comment.
  await run(['git', 'tag', '-a', `v${version}`, '--cleanup=whitespace', '-m', message, commit], worktree);
  try {
    await run(['git', 'merge', '--quiet', '--ff-only', commit], project);
  } catch (error) {
    await run(['git', 'tag', '-d', `v${version}`], project);
    throw error;
  }
}
