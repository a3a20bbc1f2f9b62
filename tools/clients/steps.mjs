import { existsSync, readdirSync, readFileSync } from 'node:fs';

import { fromProjectRoot } from '../launch/project.mjs';
import { findBun } from '../launch/runtime.mjs';
import { EXAMPLE_STEPS } from './exampleSteps.mjs';
import { missingForBrowser, missingForGo, missingForPython, missingForWorkers } from './missing.mjs';
import { command, counted, nodeTests, runIn } from './run.mjs';

/**
 * @typedef {import('./run.mjs').Count} Count
 * @typedef {{ url: string, rootKey: string }} Service
 * @typedef {{ title: string, missing?: () => string | null, run: (service: Service) => Count }} Step
 */

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
  { title: 'SDK: Express 4 and 5, Fastify, Hono, Next.js, fetch', run: () => nodeTests(filesIn('sdk/test')) },
  {
    title: 'SDK: Cloudflare Workers',
    missing: missingForWorkers,
    run: () => nodeTests(['sdk/test/runtimes/workerd.test.mjs']),
  },
  {
    title: 'SDK: a browser',
    missing: missingForBrowser,
    run: () => nodeTests(['sdk/test/runtimes/chromium.test.mjs']),
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
  ...EXAMPLE_STEPS,
];

/** @param {string} folder */
function filesIn(folder) {
  const names = readdirSync(fromProjectRoot(folder)).filter((name) => name.endsWith('.test.mjs'));
  return names.map((name) => `${folder}/${name}`);
}

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
