import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

import { makeBundle } from '../bundle.mjs';
import { fromProjectRoot, projectRoot } from '../project.mjs';
import { runToEnd } from '../run.mjs';
import { findBun } from '../runtime.mjs';
import { readJunit } from './junit.mjs';
import { groupOf } from './selection.mjs';

const PRELOADED = ['test/support/endWithLauncher.ts', 'test/support/bundledThread.ts'];
/** One more than there are cores: tests often wait for a process, a database or the disk. */
const WORKERS = availableParallelism() + 1;
/** From so many files on, they start enough processes and threads to gain from a compiled program. */
const MANY_FILES = 20;
/**
 * About how many seconds a file of each folder takes. Bun gives each worker folders that follow each other, as many as these numbers
 * say, and starts its longest files first. So one worker has most tests of HTTP, which keep a processor busy, one has PostgreSQL,
 * and one the processes, which are mostly waited for.
 */
const SECONDS = { process: 3, postgres: 2.5, browser: 4, sdk: 1.5, http: 1, tools: 0.8, engine: 0.5, core: 0.3 };
const OTHER_SECONDS = 0.1;
const TIMES_LONG = 10;
/** What takes longer, and would keep all others waiting if it began last. */
const LONGEST = [
  [/(?:revocation|analyticsSums|credits|migratingStart)\.long\.test\.ts$/, 60],
  [/(?:fairness|findService|parallelBounds|resume|sockets|nodes\/(?:analytics|nodes))\.test\.ts$/, 9],
];

/** `temporary`: variables that say where temporary files go. */
export async function runBunTest(files, { titlePattern, seed, temporary }) {
  const isParallel = files.length > 1 && groupOf(files[0]) !== 'alone';
  const folder = mkdtempSync(join(tmpdir(), 'keystile-test-'));
  const [junit, timings] = [join(folder, 'junit.xml'), join(folder, 'timings.json')];
  writeFileSync(timings, JSON.stringify({ version: 1, files: Object.fromEntries(files.map(guessMs)) }));
  const flags = [
    '--no-env-file',
    '--no-install',
    '--only-failures',
    '--timeout=60000',
    ...PRELOADED.map((path) => `--preload=${fromProjectRoot(path)}`),
    '--reporter=junit',
    `--reporter-outfile=${junit}`,
    ...(process.env.KEYSTILE_TEST_SNAPSHOTS === 'write' ? ['--update-snapshots'] : []),
    ...(titlePattern === undefined ? [] : [`--test-name-pattern=${titlePattern}`]),
    // The files that one worker runs share their modules, and with them one PostgreSQL.
    ...(isParallel ? [`--parallel=${WORKERS}`, '--no-isolate', `--timings=${timings}`] : []),
  ];
  try {
    const command = ['test', ...flags, ...files.map((file) => `./${file}`)];
    const program = await makeBundle(folder, { isCompiled: files.length >= MANY_FILES });
    const env = { ...testEnvironment(seed), ...temporary, KEYSTILE_TEST_PROGRAM: program };
    const ending = await runToEnd(findBun(), command, { cwd: projectRoot, env, stdio: ['ignore', 1, 1] });
    return { interrupted: ending.interrupted, ...judge(files, ending.code, { titlePattern, ...readJunit(junit) }) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function guessMs(file) {
  const [, longest] = LONGEST.find(([pattern]) => pattern.test(file)) ?? [];
  const usual = (SECONDS[groupOf(file)] ?? OTHER_SECONDS) * (file.endsWith('.long.test.ts') ? TIMES_LONG : 1);
  return [file, Math.round(1_000 * (longest ?? usual))];
}

/**
 * Settings of the shell must not leak into the tests, nor colours into what they compare. With `CI`, a snapshot that is
 * missing fails instead of being written. The last step of the compiler (FTL) takes a tenth to a third of the processor time of the
 * tests, and few run long enough to gain.
 */
function testEnvironment(seed) {
  const kept = Object.entries(process.env).filter(([name]) => !/^KEYSTILE_(?!TEST_)|^FORCE_COLOR$/.test(name));
  const own = { NODE_ENV: 'test', CI: '1', NO_COLOR: '1', TZ: 'Etc/UTC', BUN_JSC_useFTLJIT: '0' };
  const run = { KEYSTILE_TEST_SEED: seed, KEYSTILE_TEST_LAUNCHER: String(process.pid) };
  return { ...Object.fromEntries(kept), ...own, ...run };
}

/**
 * Bun's exit code alone is no verdict: it is 0 when a test is skipped. A file that does not load is missing from the
 * report, and a process that ends early writes none. With a title, Bun skips all other tests.
 */
function judge(files, code, { titlePattern, tests, seconds }) {
  const groups = new Map(files.map((file) => [groupOf(file), { seconds: 0, passed: 0 }]));
  const failures = [];
  for (const { file, title, outcome } of tests) {
    if (outcome === 'passed') groups.get(groupOf(file)).passed += 1;
    else if (outcome === 'failed' || titlePattern === undefined)
      failures.push({ file, title: outcome === 'skipped' ? `${title} (skipped)` : title });
  }
  for (const file of files) {
    if (seconds.has(file)) groups.get(groupOf(file)).seconds += seconds.get(file);
    else failures.push({ file, title: 'no test of this file was reported' });
  }
  const isNothingSelected = titlePattern !== undefined && [...groups.values()].every(({ passed }) => passed === 0);
  if (code !== 0 && failures.length === 0 && !isNothingSelected)
    failures.push({ file: files[0], title: `bun test ended with exit code ${code}` });
  return { groups, failures };
}
