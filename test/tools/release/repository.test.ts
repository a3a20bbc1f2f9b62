import { expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  addWorktree,
  commitAndTag,
  moveThen,
  refuseState,
  removeWorktree,
  requireReleasable,
  tagsOf,
} from '../../../tools/release/repository.ts';
import { PROJECT, TempFolder } from '../../process/process.ts';

const REPOSITORY = join(PROJECT, 'tools/release/repository.ts');

/** A repository with one commit, on the branch main. */
function repository(folder: TempFolder): { path: string; git: (...words: string[]) => string } {
  const path = folder.join('project');
  mkdirSync(path);
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  const git = (...words: string[]): string => {
    const { success, stdout, stderr } = Bun.spawnSync(['git', ...identity, ...words], { cwd: path });
    if (!success) throw new Error(stderr.toString());
    return stdout.toString().trim();
  };
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Test');
  git('config', 'user.email', 'test@example.com');
  writeFileSync(join(path, '.gitignore'), 'release\nnode_modules\n');
  writeFileSync(join(path, 'version'), '1\n');
  git('add', '-A');
  git('commit', '--quiet', '-m', 'One');
  return { path, git };
}

test('a release is made from a clean main that has everything of its upstream', async () => {
  using folder = new TempFolder();
  const { path, git } = repository(folder);
  await refuseState(path);
  writeFileSync(join(path, 'version'), '2\n');
  for (const name of ['a', 'b', 'c']) writeFileSync(join(path, name), '');
  expect(await refuseState(path).catch(String)).toBe(
    'Refused: The checkout has changes that are not committed: version, a, b and 1 more. Commit or remove them.',
  );
  git('add', '-A');
  git('commit', '--quiet', '-m', 'Two');
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  git('config', 'remote.origin.url', path);
  git('config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*');
  git('branch', '--quiet', '--set-upstream-to=origin/main');
  await refuseState(path);
  git('reset', '--quiet', '--hard', 'HEAD~1');
  expect(await refuseState(path).catch(String)).toBe(
    'Refused: The upstream of main has newer commits (1). Run git pull first.',
  );
  git('switch', '--quiet', '-c', 'other');
  expect(await refuseState(path).catch(String)).toBe(
    'Refused: A release is made from the branch main, and this checkout is on the branch other. Run git switch main.',
  );
  git('switch', '--quiet', '--detach');
  expect(await refuseState(path).catch(String)).toBe(
    'Refused: A release is made from the branch main, and this checkout is on no branch. Run git switch main.',
  );
});

test('a version that a colleague has published is refused as released; the advice never is to remove its tag', async () => {
  using folder = new TempFolder();
  const { path, git } = repository(folder);
  const accepted = (given: string): Promise<string> => requireReleasable(path, { given, present: '1.0.0' });
  // The tag and the upstream are fetched, and the branch is one commit behind.
  git('commit', '--quiet', '--allow-empty', '-m', 'Version 2.0.0');
  git('tag', 'v2.0.0');
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  git('config', 'remote.origin.url', path);
  git('config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*');
  git('branch', '--quiet', '--set-upstream-to=origin/main');
  git('reset', '--quiet', '--hard', 'HEAD~1');
  expect(await accepted('2.0.0').catch(String)).toBe(
    'Refused: The upstream of main has newer commits (1). Run git pull first.',
  );
  git('merge', '--quiet', '--ff-only', 'origin/main');
  expect(await accepted('2.0.0').catch(String)).toBe(
    'Refused: The tag v2.0.0 exists: version 2.0.0 is released. Choose a newer version.',
  );
  expect(await accepted('2.0.1')).toBe('2.0.1');
});

test('what happens in the second checkout leaves the first one as it is, until it is committed and tagged', async () => {
  using folder = new TempFolder();
  const { path, git } = repository(folder);
  // A run that was killed has left its checkout: no process has this number.
  const abandoned = join(path, 'release/.building-999999999');
  git('worktree', 'add', '--quiet', '--detach', abandoned);
  const worktree = await addWorktree(path, join(path, 'release'));
  expect(existsSync(abandoned)).toBe(false);
  writeFileSync(join(worktree, 'version'), '2\n');
  await refuseState(path);
  const release = { version: '2.0.0', paths: ['version'], notes: '### Keys\n\n- New.' };
  await commitAndTag({ project: path, worktree }, release);
  await removeWorktree(path, worktree);
  await refuseState(path);
  expect(readFileSync(join(path, 'version'), 'utf8')).toBe('2\n');
  expect(await tagsOf(path)).toEqual(['v2.0.0']);
  expect(git('cat-file', '-t', 'v2.0.0')).toBe('tag');
  expect(git('tag', '-l', '--format=%(contents)', 'v2.0.0')).toBe('Version 2.0.0\n\n### Keys\n\n- New.');
  expect(git('rev-parse', 'v2.0.0^{}')).toBe(git('rev-parse', 'main'));
  expect(git('worktree', 'list').split('\n').length).toBe(1);
});

test('a branch that has moved meanwhile gets neither the commit nor the tag', async () => {
  using folder = new TempFolder();
  const { path, git } = repository(folder);
  const worktree = await addWorktree(path, join(path, 'release'));
  writeFileSync(join(worktree, 'version'), '2\n');
  writeFileSync(join(path, 'other'), '');
  git('add', '-A');
  git('commit', '--quiet', '-m', 'Meanwhile');
  const before = git('rev-parse', 'main');
  const made = commitAndTag({ project: path, worktree }, { version: '2.0.0', paths: ['version'], notes: '- New.' });
  expect(await made.catch(String)).toContain('git merge --quiet --ff-only');
  await removeWorktree(path, worktree);
  expect([git('rev-parse', 'main'), await tagsOf(path)]).toEqual([before, []]);
  expect(readFileSync(join(path, 'version'), 'utf8')).toBe('1\n');
});

test('a release that is killed between the tag and the branch can be repeated, after the tag that it names is removed', async () => {
  using folder = new TempFolder();
  const { path, git } = repository(folder);
  const release = { version: '2.0.0', paths: ['version'], notes: '- New.' };
  const make = async (): Promise<void> => {
    const worktree = await addWorktree(path, join(path, 'release'));
    writeFileSync(join(worktree, 'version'), '2\n');
    await commitAndTag({ project: path, worktree }, release);
    await removeWorktree(path, worktree);
  };
  const accepted = (): Promise<string> => requireReleasable(path, { given: '2.0.0', present: '1.0.0' });
  // The script is killed as soon as the tag stands: git runs this when a reference has changed.
  const program = `const { addWorktree, commitAndTag } = await import(${JSON.stringify(REPOSITORY)});
    const worktree = await addWorktree(${JSON.stringify(path)}, ${JSON.stringify(join(path, 'release'))});
    await Bun.write(worktree + '/version', '2\\n');
    await Bun.write(${JSON.stringify(folder.join('pid'))}, String(process.pid));
    await commitAndTag({ project: ${JSON.stringify(path)}, worktree }, ${JSON.stringify(release)});`;
  const hook = join(path, '.git/hooks/reference-transaction');
  const kill = `#!/bin/sh\nif [ "$1" = committed ] && grep -q refs/tags/; then kill -9 "$(cat ${folder.join('pid')})"; fi\n`;
  mkdirSync(join(path, '.git/hooks'), { recursive: true });
  writeFileSync(hook, kill);
  chmodSync(hook, 0o755);
  const killed = Bun.spawnSync([process.execPath, '-e', program]);
  expect(killed.signalCode).toBe('SIGKILL');
  writeFileSync(hook, '#!/bin/sh\n');
  expect([await tagsOf(path), git('show', 'main:version')]).toEqual([['v2.0.0'], '1']);
  expect(await accepted().catch(String)).toContain('Run git tag -d v2.0.0, then try again.');
  git('tag', '-d', 'v2.0.0');
  expect(await accepted()).toBe('2.0.0');
  await make();
  expect(await accepted().catch(String)).toContain('version 2.0.0 is released.');
  expect(git('show', 'main:version')).toBe('2');
});

test('the files are in their folder before the release is tagged, and gone when that fails', async () => {
  using folder = new TempFolder();
  const [out, target] = [folder.join('out'), folder.join('2.0.0')];
  const made = (name: string): void => {
    mkdirSync(out);
    writeFileSync(join(out, name), '');
  };
  made('first');
  await moveThen(out, target, async () => expect(readdirSync(target)).toEqual(['first']));
  made('second');
  await moveThen(out, target, async () => expect(readdirSync(target)).toEqual(['second']));
  made('third');
  expect(await moveThen(out, target, () => Promise.reject(new Error('no tag'))).catch(String)).toBe('Error: no tag');
  expect([existsSync(out), existsSync(target)]).toEqual([false, false]);
});
