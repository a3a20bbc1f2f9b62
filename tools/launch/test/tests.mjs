import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

import { Complaint } from '../complaint.mjs';
import { projectRoot } from '../project.mjs';
import { runBunTest } from './bunTest.mjs';
import { runChecks } from './checks.mjs';
import { withTemporaryFolder } from './temporaryFolder.mjs';
import { GROUPS, groupOf, select } from './selection.mjs';

/**
 * Runs the checks, then the files side by side, then those of test/alone one after the other. The checks and Bun print what fails and
 * why; below it stands how to run each failed file alone. The last line counts every test.
 */
export async function runTests(commandArguments) {
  const { checks, files, titlePattern } = select(commandArguments);
  const seed = chooseSeed();
  const isAlone = (file) => groupOf(file) === 'alone';
  const parts = [files.filter((file) => !isAlone(file)), files.filter(isAlone)].filter(({ length }) => length > 0);
  const testing = (part) => () =>
    withTemporaryFolder((temporary) => runBunTest(part, { titlePattern, seed, temporary }));
  const runs = [...(checks ? [runChecks] : []), ...parts.map(testing)];
  const failures = [];
  const groups = new Map();
  for (const run of runs) {
    const result = await run();
    if (result.interrupted) throw new Complaint('Stopped.', 130);
    failures.push(...result.failures);
    for (const [name, group] of result.groups) groups.set(name, group);
  }
  for (const { file, title } of failures)
    console.log(`FAILED ${file}: ${title}\n  run it alone: KEYSTILE_TEST_SEED=${seed} npm test -- ${file}\n`);
  let sum = 0;
  for (const name of GROUPS.filter((group) => groups.has(group))) {
    const { passed, seconds } = groups.get(name);
    const failed = failures.filter(({ file }) => groupOf(file) === name).length;
    const count = `${String(passed).padStart(5)} passed${failed > 0 ? `, ${failed} failed` : ''}`;
    console.log(`${name.padEnd(12)} ${count.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s`);
    sum += passed;
  }
  if (sum + failures.length === 0) console.log('No test was selected.');
  console.log(`\n${sum} passed, ${failures.length} failed`);
  return { code: failures.length === 0 && sum > 0 ? 0 : 1 };
}

/**
 * The tree of the last commit decides the random cases. So one commit always plays the same ones, and the next commit plays others.
 * KEYSTILE_TEST_SEED=random plays cases that were never played.
 */
function chooseSeed() {
  const given = process.env.KEYSTILE_TEST_SEED || seedOfCommit();
  if (given === 'random') return String(randomInt(1, 2 ** 31));
  if (/^\d{1,10}$/.test(given)) return given;
  throw new Complaint(`KEYSTILE_TEST_SEED must be a whole number or "random", got "${given}".`);
}

function seedOfCommit() {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD^{tree}'], { cwd: projectRoot, encoding: 'utf8' });
  return String(Number.parseInt((stdout ?? '').slice(0, 7), 16) || 1);
}
