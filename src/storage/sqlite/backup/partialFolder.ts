import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * A folder beside the result, in which the result is made. Its name ends with the number of the process, so that two processes do not
 * share one, and what a killed process has left is recognized and removed.
 */
export function makePartialFolder(result: string): string {
  const path = `${resolve(result)}.partial-${process.pid}`;
  removeLeftovers(resolve(result));
  mkdirSync(path, { mode: 0o700 });
  chmodSync(path, 0o700);
  return path;
}

function removeLeftovers(result: string): void {
  const parent = dirname(result);
  if (!existsSync(parent)) return;
  const prefix = `${basename(result)}.partial-`;
  for (const name of readdirSync(parent)) {
    const [, pid] = /^(\d{1,10})$/.exec(name.startsWith(prefix) ? name.slice(prefix.length) : '') ?? [];
    if (pid !== undefined && !isRunningElsewhere(Number(pid))) rmSync(join(parent, name), { recursive: true });
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
