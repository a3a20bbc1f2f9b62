import { spawn } from 'node:child_process';
import { constants } from 'node:os';

import { Complaint } from './complaint.mjs';
import { fromProjectRoot } from './project.mjs';
import { findBun } from './runtime.mjs';

/**
 * @typedef {{ code: number, interrupted: boolean, output: string }} Ending
 *   code: the exit code, 128 + the signal's number when a signal ended the child
 *   interrupted: whether a signal reached the launcher meanwhile
 *   output: what the child wrote to piped streams
 */

const FORWARDED_SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']);
// Ctrl-C reaches the launcher from the terminal and, a moment later, once more from npm.
const SAME_SIGNAL_WITHIN_MS = 1_000;
const PARENT_CHECK_MS = 1_000;

const BUN_FLAGS = [
  `--config=${fromProjectRoot('bunfig.toml')}`,
  '--no-env-file',
  '--no-install',
  // The last resort when the launcher itself is killed with SIGKILL and can forward nothing.
  '--no-orphans',
];

/** @param {string[]} bunArguments */
export function runBun(bunArguments) {
  // Bun.serve shows error pages with source code unless NODE_ENV says production.
  const env = { ...process.env, NODE_ENV: process.env.NODE_ENV || 'production' };
  return runToEnd(findBun(), [...BUN_FLAGS, ...bunArguments], { stdio: 'inherit', env });
}

/**
 * Runs a child until it has exited, whatever happens to the launcher's own parent: the launcher
 * passes signals on and outlives the child, so that npm reports the child's real exit code.
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
 * npm killed with SIGKILL, or a shell between npm and us killed by npm's signal, tells us nothing:
 * the only trace is a new parent. Watched only under npm, because a server started by hand in the
 * background may well outlive its shell.
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
