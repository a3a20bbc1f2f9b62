import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { fromProjectRoot, projectRoot } from '../launch/project.mjs';
import { findBun } from '../launch/runtime.mjs';

/**
 * @typedef {{ passed: number, failed: number }} Count
 * @typedef {{ url: string, rootKey: string }} Service
 * @typedef {{ title: string, missing?: () => string | null, run: (service: Service) => Count }} Step
 */

/** A step that hangs fails. The first run of the Go client also compiles its tools. */
const STEP_TIMEOUT_MS = 900_000;

/** @type {Step[]} */
export const STEPS = [
  { title: 'SDK: types', run: () => command(process.execPath, [bin('typescript'), '--noEmit', '-p', 'sdk']) },
  {
    title: 'SDK: lint',
    run: () =>
      command(process.execPath, [bin('oxlint'), '--type-aware', '--deny-warnings', '-c', 'sdk/oxlint.json', 'sdk/src']),
  },
  { title: 'SDK: the package', run: () => command(process.execPath, [bin('publint'), 'sdk', '--strict']) },
  {
    title: 'SDK: the types of the package',
    run: () =>
      command(process.execPath, [bin('@arethetypeswrong/cli'), '--pack', 'sdk', '--profile', 'esm-only', '--quiet']),
  },
  ...['Node', 'Bun', 'Deno'].map((runtime) => ({
    title: `SDK: the shared cases in ${runtime}`,
    run: (/** @type {Service} */ service) => runCases(runtime, service),
  })),
  { title: 'SDK: Express 4 and 5, Fastify, Hono, Next.js, fetch', run: () => testFiles(testsIn('sdk/test')) },
  {
    title: 'SDK: Cloudflare Workers',
    missing: missingForWorkers,
    run: () => testFiles(['sdk/test/runtimes/workerd.test.mjs']),
  },
  {
    title: 'SDK: a browser',
    missing: () => (`${process.platform} ${process.arch}` === 'linux x64' ? null : 'its Chromium is for Linux on x64'),
    run: () => testFiles(['sdk/test/runtimes/chromium.test.mjs']),
  },
  {
    title: 'Python client',
    missing: missingForPython,
    run: () => counted('sh', ['clients/python/test.sh']),
  },
  {
    title: 'Go client',
    missing: missingForGo,
    run: () => counted('sh', ['clients/go/test.sh']),
  },
];

/**
 * The file of a package's command. npm puts a package of the SDK beside those of the service, or into sdk/ where versions differ.
 *
 * @param {string} name
 */
function bin(name) {
  const folder = ['sdk/node_modules', 'node_modules']
    .map((each) => fromProjectRoot(`${each}/${name}`))
    .find(existsSync);
  const { bin: bins } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  return `${folder}/${typeof bins === 'string' ? bins : Object.values(bins)[0]}`;
}

/**
 * A command that passes or fails as a whole.
 *
 * @param {string} program
 * @param {string[]} programArguments
 * @returns {Count}
 */
function command(program, programArguments) {
  const { output, isDone } = runIn(program, programArguments);
  if (!isDone) console.log(output);
  return { passed: Number(isDone), failed: Number(!isDone) };
}

/** @param {string} program @param {string[]} programArguments */
function counted(program, programArguments) {
  const { output, isDone } = runIn(program, programArguments);
  const [, passed, failed] = /(\d+) passed, (\d+) failed\s*$/.exec(output) ?? ['', '0', '1'];
  if (!isDone || failed !== '0') console.log(output);
  return { passed: Number(passed), failed: Math.max(Number(failed), Number(!isDone)) };
}

/** @param {string} runtime @param {Service} service */
function runCases(runtime, { url, rootKey }) {
  const commands = { Node: [process.execPath], Bun: [findBun()], Deno: [process.execPath, bin('deno'), 'run', '-A'] };
  const [program, ...programArguments] = commands[runtime];
  const { output, isDone } = runIn(program, [...programArguments, 'sdk/test/cases.mjs', url, rootKey]);
  const line = output.trim().split('\n').at(-1) ?? '';
  const differences = isDone && line.startsWith('[') ? JSON.parse(line) : [output];
  for (const difference of differences) console.log(difference);
  const { cases } = JSON.parse(readFileSync(fromProjectRoot('clients/cases.json'), 'utf8'));
  return { passed: cases.length - Math.min(cases.length, differences.length), failed: differences.length };
}

/** @param {string} folder */
function testsIn(folder) {
  const names = readdirSync(fromProjectRoot(folder)).filter((name) => name.endsWith('.test.mjs'));
  return names.map((name) => `${folder}/${name}`);
}

/** @param {string[]} files */
function testFiles(files) {
  const { output, isDone } = runIn(process.execPath, ['--test', '--test-reporter=tap', ...files]);
  const [passed, failed] = ['pass', 'fail'].map((word) =>
    Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(output)?.[1] ?? 0),
  );
  if (!isDone) console.log(output);
  return { passed, failed: Math.max(failed, Number(!isDone)) };
}

/** @param {string} program @param {string[]} programArguments */
function runIn(program, programArguments) {
  const { status, stdout, stderr } = spawnSync(program, programArguments, {
    cwd: projectRoot,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: STEP_TIMEOUT_MS,
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { output: `${stderr ?? ''}${stdout ?? ''}`, isDone: status === 0 };
}

function missingForWorkers() {
  const isThere = runs(process.execPath, ['-e', 'require("workerd")'], { cwd: fromProjectRoot('sdk') });
  return isThere ? null : 'workerd, their runtime, has no program for this machine';
}

function missingForPython() {
  const isFit = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  if (!runs('python3', ['-c', isFit])) return 'Python 3.10 or later with venv is not installed';
  const folder = mkdtempSync(join(tmpdir(), 'keystile-pip-'));
  const isReached = runs('python3', [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--retries=1',
    '--dest',
    folder,
    'httpx',
  ]);
  rmSync(folder, { recursive: true, force: true });
  return isReached ? null : 'the packages that it needs cannot be downloaded by pip';
}

function missingForGo() {
  const options = { cwd: fromProjectRoot('clients/go'), env: { ...process.env, GOTOOLCHAIN: 'local' } };
  return runs('go', ['list', './...'], options) ? null : 'Go 1.23 or later is not installed';
}

/** @param {string} program @param {string[]} programArguments @param {object} options */
function runs(program, programArguments, options = {}) {
  return spawnSync(program, programArguments, options).status === 0;
}
