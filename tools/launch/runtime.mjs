import { accessSync, chmodSync, constants, existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { Complaint } from './complaint.mjs';
import { fromProjectRoot, projectRoot } from './project.mjs';

// Without its install script, bun/bin/bun.exe is a text file of a few hundred bytes. The real binary has at least 90 MB.
const SMALLEST_BINARY_BYTES = 1_000_000;

/** The path of a Bun binary for this machine. It does not need Bun's install script. */
export function findBun() {
  const bunPackage = findBunPackage();
  const binary = [placedByInstallScript(bunPackage), ...shippedForThisPlatform(bunPackage)].find(isBinary);
  if (binary === undefined) throw bunMissing();
  makeExecutable(binary);
  return binary;
}

/** Resolution from package.json also searches parent folders, so it finds Bun when Keystile is itself a dependency. */
function findBunPackage() {
  try {
    return createRequire(fromProjectRoot('package.json')).resolve('bun/package.json');
  } catch {
    throw bunMissing();
  }
}

/** @param {string} bunPackage */
function placedByInstallScript(bunPackage) {
  return join(dirname(bunPackage), 'bin', 'bun.exe');
}

/** @param {string} bunPackage */
function shippedForThisPlatform(bunPackage) {
  const require = createRequire(bunPackage);
  const installed = platformPackages().flatMap((name) => {
    try {
      return [dirname(require.resolve(`@oven/${name}/package.json`))];
    } catch {
      return [];
    }
  });
  // npm before 10.4 ignores the C library and installs both Linux builds. Only then the C library has to be checked.
  if (installed.length > 1 && usesMusl()) installed.reverse();
  return installed.map((folder) => join(folder, 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun'));
}

function platformPackages() {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `bun-${system}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`;
  return system === 'linux' ? [name, `${name}-musl`] : [name];
}

/** @type {boolean | undefined} */
let musl;

export function usesMusl() {
  musl ??= process.platform === 'linux' && !hasGlibc();
  return musl;
}

function hasGlibc() {
  // With slow DNS, listing the network interfaces in the report can take seconds.
  process.report.excludeNetwork = true;
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header.glibcVersionRuntime !== undefined;
}

/** @param {string} path */
function isBinary(path) {
  return existsSync(path) && statSync(path).size >= SMALLEST_BINARY_BYTES;
}

/** @param {string} binary */
function makeExecutable(binary) {
  try {
    accessSync(binary, constants.X_OK);
  } catch {
    try {
      chmodSync(binary, 0o755);
    } catch {
      throw new Complaint(`Bun at ${binary} is not executable. Run \`chmod +x\` on it as the owner of the file.`);
    }
  }
}

function bunMissing() {
  return new Complaint(
    `Bun for ${process.platform}-${process.arch} was not found. Run \`npm ci\` in ${projectRoot} ` +
      '(without --omit=optional) and try again.',
  );
}
