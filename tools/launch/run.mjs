import { spawn } from 'node:child_process';
import { constants } from 'node:os';

import { Complaint } from './complaint.mjs';
import { fromProjectRoot } from './project.mjs';
import { findBun } from './runtime.mjs';

/**
 * @typedef {{ code: number, interrupted: boolean, output: string }} Ending
 *   code: the exit code, or 128 + the number of the signal that ended the child
 *   interrupted: whether the launcher received a signal while the child ran
 *   output: what the child wrote to piped streams
 */

const FORWARDED_SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']);
// With Ctrl-C, the launcher receives a signal from the terminal and a moment later a second one from npm.
const SAME_SIGNAL_WITHIN_MS = 1_000;
const PARENT_CHECK_MS = 1_000;
const ILLEGAL_INSTRUCTION = 128 + 4;

const BUN_FLAGS = [
  `--config=${fromProjectRoot('bunfig.toml')}`,
  '--no-env-file',
  '--no-install',
  // Ends the service when the launcher is killed with SIGKILL and cannot forward a signal.
  '--no-orphans',
];

/** @param {string[]} bunArguments */
export async function runBun(bunArguments) {
  // Bun.serve shows error pages with source code unless NODE_ENV is production.
  const env = { ...process.env, NODE_ENV: process.env.NODE_ENV || 'production' };
  const ending = await runToEnd(findBun(), [...BUN_FLAGS, ...bunArguments], { stdio: 'inherit', env });
  refuseOldProcessor(ending);
  return ending;
}

/**
 * A processor that lacks an instruction ends Bun at once, and Bun says nothing itself.
 *
 * @param {Pick<Ending, 'code'>} ending
 */
export function refuseOldProcessor({ code }) {
  if (code !== ILLEGAL_INSTRUCTION) return;
  throw new Complaint(
    'The processor of this machine has ended Bun (illegal instruction). On x64, Bun needs SSE4.2 and POPCNT: Intel since 2008, AMD since 2011. ' +
      'A virtual machine may hide them: give it the processor of its host (such as `host` instead of `kvm64`). docs/deployment.md names the processors.',
    code,
  );
}

/**
 * Runs a child until it exits. The launcher forwards signals and outlives the child, so that npm reports the exit code of the
 * child.
 *
 * @param {string} command
 * @param {string[]} commandArguments
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<Ending>}
 */
export function runToEnd(command, commandArguments, options) {
  const child = spawn(command, commandArguments, options);
  const forwarding = forwardSignals(child);
  const parentWatch = stopWhenParentDies(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => (output += text));
  }
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new Complaint(`${command} could not be started: ${error.message}`)));
    child.on('close', (code, signal) => {
      clearInterval(parentWatch);
      const exitCode = code ?? 128 + constants.signals[/** @type {NodeJS.Signals} */ (signal)];
      resolve({ code: exitCode, interrupted: forwarding.end(), output });
    });
  });
}

/**
 * @param {Pick<Ending, 'code'>} ending
 * @returns {never}
 */
export function exitLikeChild(ending) {
  process.exit(ending.code);
}

/** @param {import('node:child_process').ChildProcess} child */
function forwardSignals(child) {
  let interrupted = false;
  const listeners = FORWARDED_SIGNALS.map((signal) => {
    let forwardedAtMs = -Infinity;
    const forward = () => {
      interrupted = true;
      if (performance.now() - forwardedAtMs < SAME_SIGNAL_WITHIN_MS) return;
      forwardedAtMs = performance.now();
      child.kill(signal);
    };
    process.on(signal, forward);
    return () => process.off(signal, forward);
  });
  return {
    end() {
      for (const stopListening of listeners) stopListening();
      return interrupted;
    },
  };
}

/**
 * Ends the child when the parent of the launcher dies. When npm is killed with SIGKILL, or when a signal of npm kills the shell
 * between npm and the launcher, the launcher only sees that it has a new parent. This is checked only under npm, because a
 * server that was started by hand in the background may outlive its shell.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function stopWhenParentDies(child) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill('SIGTERM');
  }, PARENT_CHECK_MS);
  return watch.unref();
}
