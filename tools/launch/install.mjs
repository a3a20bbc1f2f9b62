import { basename } from 'node:path';

import { Complaint } from './complaint.mjs';
import { whileHoldingInstallLock } from './install-lock.mjs';
import { isInstalled } from './installed.mjs';
import { projectRoot } from './project.mjs';
import { runToEnd } from './run.mjs';

// The errors of npm when it cannot reach the registry.
const NETWORK_FAILURE =
  /\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ESOCKETTIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\b/;
// With its default pauses npm takes 70 seconds until it reports that there is no network.
const RETRY_FLAGS = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'];
const WRITE_FAILURE = /\b(EACCES|EROFS|EPERM)\b/;

/**
 * Installs the packages of package-lock.json. Runs npm only when packages are missing, so a second start needs neither npm
 * nor a network. Installed development packages are kept.
 *
 * @param {{ dev: boolean, sdk?: boolean }} wanted
 */
export async function ensureInstalled(wanted) {
  if (isInstalled(wanted)) return;
  await whileHoldingInstallLock(async () => {
    if (!isInstalled(wanted)) await install(wanted);
  });
}

/** @param {{ dev: boolean, sdk?: boolean }} wanted */
async function install({ dev, sdk = false }) {
  // Written to stderr, because the standard output of `keystile` belongs to the command.
  console.error('Installing the packages of Keystile (only once) ...');
  const [command, ...npmArguments] = npmCommand();
  // Install scripts are not needed (runtime.mjs finds Bun without them). Without them all npm versions behave the same.
  const flags = [dev ? '--include=dev' : '--omit=dev', '--include=optional', '--ignore-scripts', '--loglevel=error'];
  // The frameworks that the SDK is tested with are large. Only its tests need them.
  if (!sdk) flags.push('--workspaces=false');
  const npm = await runToEnd(command, [...npmArguments, 'ci', ...flags, ...RETRY_FLAGS], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (npm.interrupted) throw new Complaint('Stopped before the packages were installed.', npm.code || 1);
  if (npm.code !== 0) throw explainFailure(npm.output);
}

/** The npm that started this process, which may differ from the npm in the PATH. */
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
      'The packages of Keystile could not be downloaded. Check the network, and the registry and proxy settings of npm. ' +
        `Then run the same command again. The error of npm: ${npmReason}`,
    );
  }
  if (WRITE_FAILURE.test(errorOutput)) {
    return new Complaint(
      `Keystile could not install its packages, because npm cannot write to ${deniedFolder(errors)}. ` +
        `Make it writable, or run \`npm ci\` as a user who can write there. The error of npm: ${npmReason}`,
    );
  }
  return new Complaint(
    `Keystile could not install its packages. Run \`npm ci\` in ${projectRoot} to see why. The error of npm: ${npmReason}`,
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
