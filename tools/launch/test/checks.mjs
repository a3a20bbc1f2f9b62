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

/** `npm run check`: every check with its own output, so that one run shows all that is wrong. */
export async function runAllChecks() {
  let code = 0;
  for (const { tool, toolArguments } of CHECKS) {
    const ending = await runTool(tool, toolArguments, { cwd: projectRoot, stdio: 'inherit' });
    if (ending.interrupted) return ending;
    code ||= ending.code;
  }
  return { code };
}

/** The same checks as a group of `npm test`, quiet unless one fails. */
export async function runCheckGroup() {
  let passed = 0;
  /** @type {import('./tests.mjs').Failure[]} */
  const failures = [];
  for (const { title, tool, toolArguments } of CHECKS) {
    const ending = await runTool(tool, toolArguments, { cwd: projectRoot, stdio: ['ignore', 'pipe', 'pipe'] });
    if (ending.interrupted) return { passed, failures, interrupted: true };
    if (ending.code === 0) passed += 1;
    else failures.push({ title: `check: ${title}`, output: ending.output, rerun: 'npm run check' });
  }
  return { passed, failures, interrupted: false };
}

/**
 * Runs a development package's command through Node: its file in node_modules/.bin differs by platform.
 *
 * @param {string} tool
 * @param {string[]} toolArguments
 * @param {import('node:child_process').SpawnOptions} options
 */
export function runTool(tool, toolArguments, options) {
  const manifest = createRequire(fromProjectRoot('package.json')).resolve(`${tool}/package.json`);
  const [binary] = Object.values(JSON.parse(readFileSync(manifest, 'utf8')).bin);
  return runToEnd(process.execPath, [join(dirname(manifest), binary), ...toolArguments], options);
}
