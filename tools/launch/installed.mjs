import { readFileSync } from 'node:fs';

import { fromProjectRoot } from './project.mjs';
import { usesMusl } from './runtime.mjs';

/**
 * @typedef {{ version?: string, integrity?: string, resolved?: string, link?: boolean, optional?: boolean,
 *             dependencies?: Record<string, string>, devDependencies?: Record<string, string>,
 *             optionalDependencies?: Record<string, string>, peerDependencies?: Record<string, string>,
 *             os?: string[], cpu?: string[], libc?: string[] }} LockedPackage
 * @typedef {Record<string, LockedPackage>} Packages
 */

/**
 * Whether node_modules contains the packages of package-lock.json for this machine. As its last step, npm records in
 * node_modules/.package-lock.json what it has installed. Comparing the two also accepts an `npm ci` that was run by hand or in
 * an image build.
 *
 * @param {{ dev: boolean, sdk?: boolean }} wanted sdk: with what only the tests of sdk/ need
 */
export function isInstalled({ dev, sdk = false }) {
  const installed = readPackages('node_modules/.package-lock.json');
  const locked = readPackages('package-lock.json');
  if (installed === undefined || locked === undefined) return false;
  const starts = sdk ? ['', 'sdk'] : [''];
  return [...neededPaths(locked, starts, dev)].every((path) => isSamePackage(installed[path], locked[path]));
}

/**
 * The paths of all packages that those at `starts` need on this machine, directly or through others.
 *
 * @param {Packages} packages
 * @param {string[]} starts
 * @param {boolean} dev
 */
function neededPaths(packages, starts, dev) {
  const needed = new Set();
  const visit = (path, names) => {
    for (const name of names) {
      const found = resolve(packages, path, name);
      if (found === undefined || needed.has(found) || !runsHere(packages[found])) continue;
      needed.add(found);
      visit(found, namesOf(packages[found]));
    }
  };
  for (const start of starts) {
    visit(start, namesOf(packages[start]));
    if (dev) visit(start, Object.keys(packages[start].devDependencies ?? {}));
  }
  return needed;
}

/** @param {LockedPackage} locked */
function namesOf({ dependencies, optionalDependencies, peerDependencies }) {
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
}

/**
 * Where Node finds a package: in the nearest node_modules. A package that is nowhere is an optional peer.
 *
 * @param {Packages} packages
 * @param {string} from
 * @param {string} name
 * @returns {string | undefined}
 */
function resolve(packages, from, name) {
  const path = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
  if (packages[path] !== undefined) return path;
  return from === ''
    ? undefined
    : resolve(packages, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), name);
}

/**
 * @param {string} lockfile
 * @returns {Packages | undefined}
 */
function readPackages(lockfile) {
  try {
    return JSON.parse(readFileSync(fromProjectRoot(lockfile), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** @param {LockedPackage} locked */
function runsHere({ optional, os, cpu, libc }) {
  if (!optional) return true;
  if (os && !os.includes(process.platform)) return false;
  if (cpu && !cpu.includes(process.arch)) return false;
  return !libc || libc.includes(usesMusl() ? 'musl' : 'glibc');
}

/**
 * @param {LockedPackage | undefined} installed
 * @param {LockedPackage} locked
 */
function isSamePackage(installed, locked) {
  return installed?.version === locked.version && installed.integrity === locked.integrity;
}
