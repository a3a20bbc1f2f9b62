import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeBundle } from '../bundle.mjs';
import { fromProjectRoot, projectRoot } from '../project.mjs';
import { runToEnd } from '../run.mjs';
import { findBun } from '../runtime.mjs';
import { readJunit } from './junit.mjs';
import { rerunFile, rerunTest } from './rerun.mjs';
import { FOLDERS, groupOf } from './selection.mjs';

const TEST_TIMEOUT_MS = 60_000;
const PRELOADED = ['test/support/endWithLauncher.ts', 'test/support/bundledThread.ts'];
/** One more than there are cores: tests often wait for a process, a database or the disk. */
const WORKERS = availableParallelism() + 1;
/** Bun starts the longest files first, which leaves none for the end. The other files are guessed by their folder. */
const LONGEST = /(?:randomBatches|analyticsSums|tagBytes|faultStandby|credits|crash|stop)\.test\.ts$/;

/**
 * @param {string[]} files
 * @param {{ titlePattern?: string, seed: number, temporary: Record<string, string>, workers?: number }} options
 *   temporary: variables that say where temporary files go
 * @returns {Promise<import('./tests.mjs').Result>}
 */
export async function runBunTest(files, { titlePattern, seed, temporary, workers = files.length > 1 ? WORKERS : 1 }) {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-test-'));
  const [junit, timings] = [join(folder, 'junit.xml'), join(folder, 'timings.json')];
  writeFileSync(timings, JSON.stringify({ version: 1, files: Object.fromEntries(files.map(guessMs)) }));
  const flags = [
    '--no-env-file',
    '--no-install',
    '--only-failures',
    ...PRELOADED.map((path) => `--preload=${fromProjectRoot(path)}`),
    `--timeout=${TEST_TIMEOUT_MS}`,
    '--reporter=junit',
    `--reporter-outfile=${junit}`,
    ...(process.env.KEYSTILE_TEST_SNAPSHOTS === 'write' ? ['--update-snapshots'] : []),
    ...(titlePattern === undefined ? [] : [`--test-name-pattern=${titlePattern}`]),
    // The files that one worker runs share their modules, and with them one PostgreSQL.
    ...(workers === 1 ? [] : [`--parallel=${workers}`, '--no-isolate', `--timings=${timings}`]),
  ];
  try {
    const program = { KEYSTILE_TEST_PROGRAM: await makeBundle(folder) };
    const env = { ...testEnvironment(seed), ...temporary, ...program };
    const options = { cwd: projectRoot, env, stdio: ['ignore', 1, 1] };
    const ending = await runToEnd(findBun(), ['test', ...flags, ...files.map((file) => `./${file}`)], options);
    return {
      interrupted: ending.interrupted,
      ...judge(files, { code: ending.code, ...readJunit(junit) }, { titlePattern, seed }),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} file */
function guessMs(file) {
  return [file, LONGEST.test(file) ? 60_000 : 1_000 * (FOLDERS.length - FOLDERS.indexOf(groupOf(file)))];
}

/**
 * Settings of the shell must not leak into the tests, nor colours into what they compare. With `CI`, a snapshot that is
 * missing fails instead of being written.
 */
function testEnvironment(seed) {
  const isKept = (name) => !/^KEYSTILE_(?!TEST_)|^FORCE_COLOR$/.test(name);
  const own = {
    KEYSTILE_TEST_SEED: String(seed),
    KEYSTILE_TEST_LAUNCHER: String(process.pid),
    // The last step of the compiler takes a tenth to a third of the processor time of the tests, and few run long enough to gain.
    BUN_JSC_useFTLJIT: '0',
  };
  const kept = Object.entries(process.env).filter(([name]) => isKept(name));
  return { ...Object.fromEntries(kept), NODE_ENV: 'test', CI: '1', NO_COLOR: '1', TZ: 'Etc/UTC', ...own };
}

/**
 * Bun's exit code alone is no verdict: it is 0 when a test is skipped. A file that does not load is missing from the
 * report, and a process that ends early writes none.
 *
 * @param {string[]} files
 * @param {{ code: number, tests: import('./junit.mjs').TestCase[], seconds: Map<string, number> }} run
 * @param {{ titlePattern?: string, seed: number }} options
 */
function judge(files, { code, tests, seconds }, { titlePattern, seed }) {
  const groups = new Map(files.map((file) => [groupOf(file), { seconds: 0, passed: 0 }]));
  const failures = [];
  const fail = (file, title, rerun = rerunFile(file, seed)) =>
    failures.push({ group: groupOf(file), title: `${file}: ${title}`, rerun });
  const pattern = new RegExp(titlePattern ?? '');
  for (const test of tests.filter(({ matchedName, isNameless }) => isNameless || pattern.test(matchedName))) {
    if (test.outcome === 'passed') groups.get(groupOf(test.file)).passed += 1;
    else fail(test.file, test.title + (test.outcome === 'skipped' ? ' (skipped)' : ''), rerunTest(test, seed));
  }
  for (const file of files) {
    if (seconds.has(file)) groups.get(groupOf(file)).seconds += seconds.get(file);
    else fail(file, 'no test of this file was reported');
  }
  const isNothingSelected = titlePattern !== undefined && [...groups.values()].every(({ passed }) => passed === 0);
  if (code !== 0 && failures.length === 0 && !isNothingSelected)
    fail(files[0], `bun test ended with exit code ${code}`);
  return { groups, failures };
}
