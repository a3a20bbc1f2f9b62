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

/**
 * Runs the selected groups one after the other. The closing line counts every test of every group.
 *
 * @param {string[]} commandArguments
 */
export async function runTests(commandArguments) {
  const seed = chooseSeed();
  let passed = 0;
  let failed = 0;
  for (const group of selectGroups(commandArguments)) {
    const startedAtMs = performance.now();
    const result = group.name === 'check' ? await runCheckGroup() : await runBunGroup(group, seed);
    if (result.interrupted) throw new Complaint(`Stopped during ${group.name}.`, 130);
    result.failures.forEach(printFailure);
    printGroup({ name: group.name, result, seconds: (performance.now() - startedAtMs) / 1_000, seed });
    passed += result.passed;
    failed += result.failures.length;
  }
  console.log(`\n${passed} passed, ${failed} failed`);
  return { code: failed === 0 && passed > 0 ? 0 : 1 };
}

function chooseSeed() {
  const given = process.env.KEYSTILE_TEST_SEED;
  if (given === undefined || given === '') return randomInt(1, 2 ** 31);
  if (!/^\d{1,10}$/.test(given)) throw new Complaint(`KEYSTILE_TEST_SEED must be a whole number, not "${given}".`);
  return Number(given);
}
