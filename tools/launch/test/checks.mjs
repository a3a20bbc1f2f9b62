import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { fromProjectRoot, projectRoot } from '../project.mjs';
import { runToEnd } from '../run.mjs';

/** Each tool with its arguments. */
const CHECKS = {
  types: ['typescript', '--noEmit', '--pretty', 'false'],
  'types of the dashboard': ['typescript', '-p', 'web', '--noEmit', '--pretty', 'false'],
  lint: ['oxlint', '--type-aware', '--deny-warnings'],
  format: ['oxfmt', '--check'],
  'exports that nobody uses': ['knip', '--no-progress', '--no-config-hints'],
};

/** All of them, also after one has failed: one run shows everything that is wrong. */
export async function runChecks() {
  const startedAtMs = performance.now();
  const failures = [];
  for (const [title, tool] of Object.entries(CHECKS)) {
    const { code, interrupted } = await runTool(...tool);
    if (interrupted) return { interrupted, failures, groups: new Map() };
    if (code !== 0) failures.push({ file: 'check', title });
  }
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const passed = Object.keys(CHECKS).length - failures.length;
  return { interrupted: false, failures, groups: new Map([['check', { seconds, passed }]]) };
}

/** Runs a development package's command through Node: its file in node_modules/.bin differs by platform. */
export function runTool(tool, ...toolArguments) {
  const manifest = fromProjectRoot(`node_modules/${tool}/package.json`);
  const [binary] = Object.values(JSON.parse(readFileSync(manifest, 'utf8')).bin);
  const command = [join(dirname(manifest), binary), ...toolArguments];
  return runToEnd(process.execPath, command, { cwd: projectRoot, stdio: 'inherit' });
}
