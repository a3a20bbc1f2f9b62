import { spawnSync } from 'node:child_process';

import { projectRoot } from '../launch/project.mjs';

/** @typedef {{ passed: number, failed: number }} Count */

/** A step that hangs fails. The first run of the Go client also compiles its tools. */
const STEP_TIMEOUT_MS = 900_000;

/**
 * A command that passes or fails as a whole.
 *
 * @param {string} program
 * @param {string[]} programArguments
 * @returns {Count}
 */
export function command(program, programArguments) {
  const { output, isDone } = runIn(program, programArguments);
  if (!isDone) console.log(output);
  return { passed: Number(isDone), failed: Number(!isDone) };
}

/** @param {string} program @param {string[]} programArguments */
export function counted(program, programArguments) {
  const { output, isDone } = runIn(program, programArguments);
  const [, passed, failed] = /(\d+) passed, (\d+) failed\s*$/.exec(output) ?? ['', '0', '1'];
  if (!isDone || failed !== '0') console.log(output);
  return { passed: Number(passed), failed: Math.max(Number(failed), Number(!isDone)) };
}

/**
 * Tests of the Node test runner, counted one by one.
 *
 * @param {string[]} files
 * @returns {Count}
 */
export function nodeTests(files) {
  const { output, isDone } = runIn(process.execPath, ['--test', '--test-reporter=tap', ...files]);
  const [passed, failed] = ['pass', 'fail'].map((word) =>
    Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(output)?.[1] ?? 0),
  );
  if (!isDone) console.log(output);
  return { passed, failed: Math.max(failed, Number(!isDone || passed === 0)) };
}

/** @param {string} program @param {string[]} programArguments */
export function runIn(program, programArguments) {
  const { status, stdout, stderr } = spawnSync(program, programArguments, {
    cwd: projectRoot,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    timeout: STEP_TIMEOUT_MS,
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { output: `${stderr ?? ''}${stdout ?? ''}`, isDone: status === 0 };
}

/** @param {string} program @param {string[]} programArguments @param {object} options */
export function runs(program, programArguments, options = {}) {
  return spawnSync(program, programArguments, options).status === 0;
}
