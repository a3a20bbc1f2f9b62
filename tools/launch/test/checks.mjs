import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { fromProjectRoot, projectRoot } from '../project.mjs';
import { runToEnd } from '../run.mjs';

const CHECKS = [
  { title: 'types', tool: 'typescript', toolArguments: ['--noEmit', '--pretty', 'false'] },
  { title: 'lint', tool: 'oxlint', toolArguments: ['--type-aware', '--deny-warnings'] },
  { title: 'format', tool: 'oxfmt', toolArguments: ['--check'] },
];

/**
 * All of them, also after one has failed: one run shows everything that is wrong.
 *
 * @returns {Promise<import('./tests.mjs').Result>}
 */
export async function runChecks() {
  const startedAtMs = performance.now();
  const failures = [];
  let interrupted = false;
  for (const { title, tool, toolArguments } of CHECKS) {
    const ending = await runTool(tool, toolArguments);
    interrupted = ending.interrupted;
    if (ending.code !== 0) failures.push({ group: 'check', title: `check: ${title}`, rerun: 'npm run check' });
    if (interrupted) break;
  }
  const count = { seconds: (performance.now() - startedAtMs) / 1_000, passed: CHECKS.length - failures.length };
  return { interrupted, groups: new Map([['check', count]]), failures };
}

/**
 * Runs a development package's command through Node: its file in node_modules/.bin differs by platform.
 *
 * @param {string} tool
 * @param {string[]} toolArguments
 */
export function runTool(tool, toolArguments) {
  const manifest = createRequire(fromProjectRoot('package.json')).resolve(`${tool}/package.json`);
  const [binary] = Object.values(JSON.parse(readFileSync(manifest, 'utf8')).bin);
  const command = [join(dirname(manifest), binary), ...toolArguments];
  return runToEnd(process.execPath, command, { cwd: projectRoot, stdio: 'inherit' });
}
