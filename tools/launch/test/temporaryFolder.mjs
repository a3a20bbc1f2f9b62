import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

import { isRunning } from '../is-running.mjs';

const MEMORY = '/dev/shm';
/** The temporary files of all tests together stay below a third of this. */
const NEEDED_BYTES = 4 * 2 ** 30;
const NAME = /^keystile-test-(\d+)-/;

/**
 * Runs `work` with the temporary files of the tests in memory, where a flush costs nothing: a sixth of the time of the tests is
 * waiting for the disk. TMPDIR chooses another folder. Without enough memory, or without a folder in memory from which
 * programs can run, the system's own folder is used.
 *
 * @template T
 * @param {(temporary: Record<string, string>) => Promise<T>} work
 */
export async function withTemporaryFolder(work) {
  const folder = process.env.TMPDIR ? null : makeMemoryFolder();
  try {
    // The programs of PostgreSQL stay on the disk for the next run.
    return await work(folder === null ? {} : { TMPDIR: folder, KEYSTILE_TEST_KITS: tmpdir() });
  } finally {
    if (folder !== null) remove(folder);
  }
}

function makeMemoryFolder() {
  let folder = null;
  try {
    removeLeftBehind();
    const { bavail, bsize } = statfsSync(MEMORY);
    if (Math.min(bavail * bsize, freemem()) < NEEDED_BYTES) return null;
    folder = mkdtempSync(join(MEMORY, `keystile-test-${process.pid}-`));
    // PostgreSQL runs as another user when the tests run as root.
    chmodSync(folder, 0o711);
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    if (spawnSync(program).status === 0) return folder;
  } catch {
    // There is no such folder on this system, or it cannot be written to.
  }
  if (folder !== null) remove(folder);
  return null;
}

/** Of runs that were killed. What belongs to another user stays. */
function removeLeftBehind() {
  const uid = process.getuid?.();
  for (const name of readdirSync(MEMORY)) {
    const pid = Number(NAME.exec(name)?.[1] ?? process.pid);
    const folder = join(MEMORY, name);
    if (!isRunning(pid) && lstatSync(folder).uid === uid) remove(folder);
  }
}

/** @param {string} folder */
function remove(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
