import { randomInt } from 'node:crypto';

import { Complaint } from '../complaint.mjs';
import { runCheckGroup } from './checks.mjs';
import { runBunGroup } from './group.mjs';
import { printFailure, printGroup } from './report.mjs';
import { selectGroups } from './selection.mjs';

/**
 * @typedef {{ title: string, output: string, rerun: string }} Failure
 * @typedef {{ passed: number, failures: Failure[], interrupted: boolean }} GroupResult
 */

/** Groups that hold nothing against the real clock: they may wait for each other, so they run side by side. */
const SIDE_BY_SIDE = ['postgres', 'http', 'process'];

/**
 * Runs the selected groups, one after the other but for those above. The closing line counts every test of every group.
 *
 * @param {string[]} commandArguments
 */
export async function runTests(commandArguments) {
  const seed = chooseSeed();
  let passed = 0;
  let failed = 0;
  for (const stage of inStages(selectGroups(commandArguments))) {
    const startedAtMs = performance.now();
    for (const running of stage.map((group) => ({ group, ended: runGroup(group, seed) }))) {
      const result = await running.ended;
      if (result.interrupted) throw new Complaint(`Stopped during ${running.group.name}.`, 130);
      result.failures.forEach(printFailure);
      printGroup({ name: running.group.name, result, seconds: (performance.now() - startedAtMs) / 1_000, seed });
      passed += result.passed;
      failed += result.failures.length;
    }
  }
  console.log(`\n${passed} passed, ${failed} failed`);
  return { code: failed === 0 && passed > 0 ? 0 : 1 };
}

/**
 * @param {import('./selection.mjs').SelectedGroup} group
 * @param {number} seed
 */
function runGroup(group, seed) {
  return group.name === 'check' ? runCheckGroup() : runBunGroup(group, seed);
}

/** @param {readonly import('./selection.mjs').SelectedGroup[]} groups */
function inStages(groups) {
  /** @type {import('./selection.mjs').SelectedGroup[][]} */
  const stages = [];
  for (const group of groups) {
    const last = stages.at(-1);
    const first = last?.[0];
    if (last !== undefined && first !== undefined && [first, group].every(({ name }) => SIDE_BY_SIDE.includes(name))) {
      last.push(group);
    } else stages.push([group]);
  }
  return stages;
}

function chooseSeed() {
  const given = process.env.KEYSTILE_TEST_SEED;
  if (given === undefined || given === '') return randomInt(1, 2 ** 31);
  if (!/^\d{1,10}$/.test(given)) throw new Complaint(`KEYSTILE_TEST_SEED must be a whole number, not "${given}".`);
  return Number(given);
}
