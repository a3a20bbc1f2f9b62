import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { addWorktree, commitAndTag, refuseState, removeWorktree, tagsOf } from '../../../tools/release/repository.ts';
import { TempFolder } from '../../process/process.ts';

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
