import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { fromProjectRoot, projectRoot } from '../project.mjs';
import { runToEnd } from '../run.mjs';
import { findBun } from '../runtime.mjs';
import { readJunit } from './junit.mjs';
import { lastWordsOf, splitByTest } from './output.mjs';
import { rerunFile, rerunGroup, rerunTest } from './rerun.mjs';

const TEST_TIMEOUT_MS = 60_000;

/**
 * @typedef {import('./selection.mjs').SelectedGroup} SelectedGroup
 * @typedef {import('./junit.mjs').TestCase} TestCase
 * @typedef {{ code: number, interrupted: boolean, output: string, tests: TestCase[] | undefined }} BunRun
 */

/**
 * @param {SelectedGroup} group
 * @param {number} seed
 * @returns {Promise<import('./tests.mjs').GroupResult>}
 */
export async function runBunGroup(group, seed) {
  if (group.files.length === 0) {
    const output = `There is no *.test.ts file to run in test/${group.name}.`;
    return {
      passed: 0,
      failures: [{ title: group.name, output, rerun: rerunGroup(group.name, seed) }],
      interrupted: false,
    };
  }
  const run = await runBunTest(group, seed);
  return { ...judge(run, group, seed), interrupted: run.interrupted };
}

/**
 * @param {SelectedGroup} group
 * @param {number} seed
 * @returns {Promise<BunRun>}
 */
async function runBunTest({ files, titlePattern }, seed) {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-test-'));
  const junitFile = join(folder, 'junit.xml');
  // One file for both streams keeps what a test printed in order with Bun's own lines.
  const outputFile = join(folder, 'output.txt');
  const output = openSync(outputFile, 'w');
  const cleanUp = `--preload=${fromProjectRoot('test/support/cleanUp.ts')}`;
  const flags = ['--no-env-file', '--no-install', '--no-orphans', cleanUp, `--timeout=${TEST_TIMEOUT_MS}`];
  const reporter = ['--reporter=junit', `--reporter-outfile=${junitFile}`];
  const titles = titlePattern === undefined ? [] : [`--test-name-pattern=${titlePattern}`];
  try {
    const bun = await runToEnd(
      findBun(),
      ['test', ...flags, ...reporter, ...titles, ...files.map((file) => `./${file}`)],
      { cwd: projectRoot, env: testEnvironment(seed), stdio: ['ignore', output, output] },
    );
    return { ...bun, output: readFileSync(outputFile, 'utf8'), tests: readJunit(junitFile) };
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Settings of the shell must not leak into the tests, nor colours into the output that is split by test.
 *
 * @param {number} seed
 */
function testEnvironment(seed) {
  const kept = Object.entries(process.env).filter(
    ([name]) => (!name.startsWith('KEYSTILE_') || name.startsWith('KEYSTILE_TEST_')) && name !== 'FORCE_COLOR',
  );
  return {
    ...Object.fromEntries(kept),
    NODE_ENV: 'test',
    NO_COLOR: '1',
    TZ: 'Etc/UTC',
    KEYSTILE_TEST_SEED: String(seed),
  };
}

/**
 * Bun's exit code alone is no verdict: it is 0 when a test calls process.exit(0) or is skipped, and a
 * file that does not load is missing from the junit report.
 *
 * @param {BunRun} run
 * @param {SelectedGroup} group
 * @param {number} seed
 */
function judge({ code, output, tests }, { name, files, titlePattern }, seed) {
  const outputs = splitByTest(output, files);
  if (tests === undefined) {
    const { file, text } = lastWordsOf(outputs);
    const title = `${file ?? name}: bun test ended without a report, exit code ${code}`;
    return {
      passed: 0,
      failures: [{ title, output: text, rerun: file ? rerunFile(file, seed) : rerunGroup(name, seed) }],
    };
  }
  const wanted =
    titlePattern === undefined ? tests : tests.filter((test) => new RegExp(titlePattern).test(test.matchedName));
  const failures = wanted
    .filter((test) => test.outcome !== 'passed')
    .map((test) => ({
      title: `${test.file}: ${test.title}`,
      output: explain(test, outputs),
      rerun: rerunTest(test, tests, seed),
    }));
  for (const file of files.filter((candidate) => !tests.some((test) => test.file === candidate))) {
    const reason = outputs.outsideTests(file) || 'It contains no test.';
    failures.push({ title: `${file}: no test of this file ran`, output: reason, rerun: rerunFile(file, seed) });
  }
  const explained = code === 0 || failures.length > 0 || (wanted.length === 0 && titlePattern !== undefined);
  if (!explained) {
    const title = `${name}: every test passed, but bun test ended with exit code ${code}`;
    failures.push({ title, output, rerun: rerunGroup(name, seed) });
  }
  return { passed: wanted.filter((test) => test.outcome === 'passed').length, failures };
}

/**
 * @param {TestCase} test
 * @param {import('./output.mjs').SplitOutput} outputs
 */
function explain(test, outputs) {
  if (test.outcome === 'skipped') return 'This test is skipped or still to do; a skipped test counts as failed.';
  return outputs.ofTest(test.file, test.title) ?? test.failure;
}
