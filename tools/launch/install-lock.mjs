import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Complaint } from './complaint.mjs';
import { fromProjectRoot, projectRoot } from './project.mjs';
import { isRunning } from './is-running.mjs';

// Only one installer runs at a time. A folder is the lock, because mkdir either creates it or fails. The file inside holds the
// process id of the holder. The lock is free again when the holder removes it, when that process no longer runs, or when it
// is older than any install takes (the process may run in another container, where it cannot be checked).
const LOCK_FOLDER = fromProjectRoot('.install-lock');
const HOLDER_FILE = join(LOCK_FOLDER, 'pid');
const RETRY_MS = 200;
const HOLDER_WRITTEN_WITHIN_MS = 5_000;
const LONGEST_INSTALL_MS = 15 * 60_000;

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function whileHoldingInstallLock(work) {
  let announced = false;
  while (!tryToLock()) {
    if (isAbandoned()) {
      unlock();
      continue;
    }
    if (!announced) console.error(`Waiting for another installation in ${projectRoot} to finish ...`);
    announced = true;
    await sleep(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    unlock();
  }
}

function tryToLock() {
  try {
    mkdirSync(LOCK_FOLDER);
    writeFileSync(HOLDER_FILE, String(process.pid));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error;
    throw new Complaint(
      `Keystile needs to install its packages, but cannot write to ${projectRoot} (${error.code}). ` +
        'Run it once as a user who can write there, or run `npm ci` there first.',
    );
  }
}

function isAbandoned() {
  try {
    const ageMs = Date.now() - statSync(LOCK_FOLDER).mtimeMs;
    const holder = readHolder();
    if (holder === undefined) return ageMs > HOLDER_WRITTEN_WITHIN_MS;
    return !isRunning(holder) || ageMs > LONGEST_INSTALL_MS;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

function readHolder() {
  try {
    return Number(readFileSync(HOLDER_FILE, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function unlock() {
  rmSync(LOCK_FOLDER, { recursive: true, force: true });
}
