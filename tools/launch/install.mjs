import { basename } from 'node:path';

import { Complaint } from './complaint.mjs';
import { whileHoldingInstallLock } from './install-lock.mjs';
import { isInstalled } from './installed.mjs';
import { isCheckout, projectRoot } from './project.mjs';
import { runToEnd } from './run.mjs';

// What npm reports when it cannot reach the registry.
const NETWORK_FAILURE =
  /\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ESOCKETTIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\b/;
// npm's own pauses between tries add up to 70 seconds before it admits that there is no network.
const RETRY_FLAGS = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'];
const WRITE_FAILURE = /\b(EACCES|EROFS|EPERM)\b/;

/**
 * Makes node_modules fit package-lock.json. Runs npm only when it does not, so a second start
 * needs neither npm nor a network. Development packages that are already there stay.
 *
 * @param {{ dev: boolean }} wanted
 */
export async function ensureInstalled(wanted) {
  if (!isCheckout() || isInstalled(wanted)) return;
  await whileHoldingInstallLock(async () => {
    if (!isInstalled(wanted)) await install(wanted);
  });
}

/** @param {{ dev: boolean }} wanted */
async function install({ dev }) {
  // stderr, because the standard output of `keystile` belongs to the command that was asked for.
  console.error('Installing what Keystile needs (once) ...');
  const [command, ...npmArguments] = npmCommand();
  // Scripts are not needed (runtime.mjs finds Bun without them), and skipping them makes every npm version act alike.
  const flags = [dev ? '--include=dev' : '--omit=dev', '--include=optional', '--ignore-scripts', '--loglevel=error'];
  const npm = await runToEnd(command, [...npmArguments, 'ci', ...flags, ...RETRY_FLAGS], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (npm.interrupted) throw new Complaint('Stopped before the packages were installed.', npm.code || 1);
  if (npm.code !== 0) throw explainFailure(npm.output);
}

/** The npm that started us where there is one: it may not be the one on the PATH. */
function npmCommand() {
  const startedBy = process.env.npm_execpath;
  if (startedBy && basename(startedBy) === 'npm-cli.js') return [process.execPath, startedBy];
  return process.platform === 'win32' ? ['cmd', '/c', 'npm'] : ['npm'];
}

/** @param {string} errorOutput */
function explainFailure(errorOutput) {
  const errors = errorOutput.split('\n').filter((line) => /^npm (error|ERR!)/.test(line));
  const npmReason = tellingLine(errors);
  if (NETWORK_FAILURE.test(errorOutput)) {
    return new Complaint(
      'The packages Keystile needs could not be downloaded; check the network (or the npm registry and proxy ' +
        `settings) and run the same command again. npm said: ${npmReason}`,
    );
  }
  if (WRITE_FAILURE.test(errorOutput)) {
    return new Complaint(
      `Keystile could not install its packages because npm may not write to ${deniedFolder(errors)}; ` +
        `make it writable or run \`npm ci\` as a user who can. npm said: ${npmReason}`,
    );
  }
  return new Complaint(
    `Keystile could not install its packages; \`npm ci\` in ${projectRoot} shows why. npm said: ${npmReason}`,
  );
}

/** @param {string[]} errors */
function tellingLine(errors) {
  const telling = errors
    .map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim())
    .filter(
      (line) =>
        line !== '' &&
        !/^(A complete log|Log files were not|You can rerun|code |errno |syscall |path |\[|\{|\}|at )/.test(line),
    );
  return telling.find((line) => NETWORK_FAILURE.test(line) || WRITE_FAILURE.test(line)) ?? telling[0] ?? 'nothing';
}

/** @param {string[]} errors */
function deniedFolder(errors) {
  const path = errors.map((line) => /^npm (?:error|ERR!) path (.+)$/.exec(line)?.[1]).find((found) => found);
  return path ?? projectRoot;
}
