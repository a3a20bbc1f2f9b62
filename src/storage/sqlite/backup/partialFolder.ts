import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * A folder beside the result, in which the result is made. Its name ends with the number of the process, so that two processes do not
 * share one, and what a killed process has left is recognized and removed.
 */
export function makePartialFolder(result: string): string {
  const whole = resolve(result);
  const path = partialFolderOf(whole);
  removeLeftovers(dirname(whole), (name) => name === basename(whole));
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  return path;
}

/** Where this process makes the result. */
export function partialFolderOf(result: string): string {
  return `${resolve(result)}.partial-${process.pid}`;
}

/** Removes what killed processes have left in a folder of the results that `isOurs` names. */
export function removeLeftovers(folder: string, isOurs: (result: string) => boolean): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const [, result = '', pid] = /^(.+)\.partial-(\d{1,10})$/.exec(name) ?? [];
    if (pid === undefined || !isOurs(result) || isRunningElsewhere(Number(pid))) continue;
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** A folder with the number of this process is from an earlier one: this process makes one result at a time. */
function isRunningElsewhere(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}
