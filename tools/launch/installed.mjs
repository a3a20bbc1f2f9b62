import { readFileSync } from 'node:fs';

import { fromProjectRoot } from './project.mjs';
import { usesMusl } from './runtime.mjs';

/**
 * @typedef {{ version: string, integrity?: string, dev?: boolean, optional?: boolean,
 *             os?: string[], cpu?: string[], libc?: string[] }} LockedPackage
 */

/**
 * Whether node_modules contains the packages of package-lock.json for this machine. As its last step, npm records in
 * node_modules/.package-lock.json what it has installed. Comparing the two also accepts an `npm ci` that was run by hand or in
 * an image build.
 *
 * @param {{ dev: boolean }} wanted
 */
export function isInstalled({ dev }) {
  const installed = readPackages('node_modules/.package-lock.json');
  if (installed === undefined) return false;
  return Object.entries(readPackages('package-lock.json') ?? {})
    .filter(([path, locked]) => path !== '' && (dev || !locked.dev) && runsHere(locked))
    .every(([path, locked]) => isSamePackage(installed[path], locked));
}

/**
 * @param {string} lockfile
 * @returns {Record<string, LockedPackage> | undefined}
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
