import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

import { Complaint } from '../complaint.mjs';
import { projectRoot } from '../project.mjs';
import { runBunTest } from './bunTest.mjs';
import { runChecks } from './checks.mjs';
import { withTemporaryFolder } from './temporaryFolder.mjs';
import { GROUPS, groupOf, select } from './selection.mjs';

/**
 * @typedef {{ group: string, title: string, rerun: string }} Failure
 * @typedef {{ interrupted: boolean, groups: Map<string, { seconds: number, passed: number }>, failures: Failure[] }} Result
 */

/**
 * Runs the checks, then all files side by side, then the files of test/alone one after the other. The checks and Bun
 * print what fails and why; below it stands how to run each failed test alone. The last line counts every test.
 *
 * @param {string[]} commandArguments
 */
export async function runTests(commandArguments) {
  const { checks, files, titlePattern } = select(commandArguments);
  const seed = chooseSeed();
  const sideBySide = files.filter((file) => groupOf(file) !== 'alone');
  const alone = files.filter((file) => groupOf(file) === 'alone');
  const results = [];
  if (checks) results.push(unlessInterrupted(await runChecks()));
  await withTemporaryFolder(async (temporary) => {
    const options = { titlePattern, seed, temporary };
    if (sideBySide.length > 0) results.push(unlessInterrupted(await runBunTest(sideBySide, options)));
    if (alone.length > 0) results.push(unlessInterrupted(await runBunTest(alone, { ...options, workers: 1 })));
  });
  const failures = results.flatMap((result) => result.failures);
  for (const { title, rerun } of failures) console.log(`FAILED ${title}\n  run it alone: ${rerun}\n`);
  const passed = printGroups(new Map(results.flatMap((result) => [...result.groups])), failures);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  return { code: failures.length === 0 && passed > 0 ? 0 : 1 };
}

/** @param {Result} result */
function unlessInterrupted(result) {
  if (result.interrupted) throw new Complaint(`Stopped during ${[...result.groups.keys()].join(', ')}.`, 130);
  return result;
}

/**
 * @param {Result['groups']} groups
 * @param {Failure[]} failures
 */
function printGroups(groups, failures) {
  let sum = 0;
  for (const name of GROUPS.filter((group) => groups.has(group))) {
    const { passed, seconds } = groups.get(name);
    const failed = failures.filter(({ group }) => group === name).length;
    const count = `${String(passed).padStart(5)} passed${failed > 0 ? `, ${failed} failed` : ''}`;
    console.log(`${name.padEnd(12)} ${count.padEnd(24)} ${seconds.toFixed(1).padStart(7)} s`);
    sum += passed;
  }
  return sum;
}

/**
 * The tree of the last commit decides the random cases. So one commit always plays the same ones, and the next commit plays others.
 * KEYSTILE_TEST_SEED=random plays cases that were never played.
 */
function chooseSeed() {
  const given = process.env.KEYSTILE_TEST_SEED;
  if (given === undefined || given === '') return seedOfCommit();
  if (given === 'random') return randomInt(1, 2 ** 31);
  if (/^\d{1,10}$/.test(given)) return Number(given);
  throw new Complaint(`KEYSTILE_TEST_SEED must be a whole number or "random", got "${given}".`);
}

function seedOfCommit() {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD^{tree}'], { cwd: projectRoot, encoding: 'utf8' });
  const digits = /^[0-9a-f]{7}/.exec(stdout ?? '');
  return digits === null ? 1 : Number.parseInt(digits[0], 16) + 1;
}
