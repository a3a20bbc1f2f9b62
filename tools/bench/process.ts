import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

import { childrenOf } from '../cluster/processes.ts';

/** Memory and processor time of a process: from /proc where it exists, otherwise from `ps`. */

const LINUX_TICKS_PER_SECOND = 100;
const UTIME_FIELD = 11;
const STIME_FIELD = 12;
/** Processor time of children that have ended. */
const CHILDREN_UTIME_FIELD = 13;
const CHILDREN_STIME_FIELD = 14;

export function residentMebibytes(pid: number): number {
  const kibibytes =
    process.platform === 'linux'
      ? /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      : askPs('rss=', pid);
  return Number(kibibytes) / 1024;
}

/** Processor time of all threads so far, in steps of 10 ms. */
export function processorSeconds(pid: number): number {
  if (process.platform !== 'linux') return parseMinutes(askPs('time=', pid));
  return secondsIn(`/proc/${pid}/stat`);
}

/** Processor time so far of a process and its children. On Linux, children that have ended are included. */
export function familySeconds(pid: number): number {
  const ended =
    process.platform === 'linux' ? secondsIn(`/proc/${pid}/stat`, [CHILDREN_UTIME_FIELD, CHILDREN_STIME_FIELD]) : 0;
  return childrenOf(pid).reduce((sum, child) => sum + secondsOrNone(child), processorSeconds(pid) + ended);
}

/** 0 when the process has just ended. */
function secondsOrNone(pid: number): number {
  try {
    return processorSeconds(pid);
  } catch {
    return 0;
  }
}

function secondsIn(path: string, indices: readonly number[] = [UTIME_FIELD, STIME_FIELD]): number {
  // The name of the program is in brackets and may contain spaces, so the fields are counted after it.
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return indices.reduce((sum, index) => sum + Number(fields[index]), 0) / LINUX_TICKS_PER_SECOND;
}

/** Processor time so far of the thread that answers requests. Null where the system does not report it. */
export function mainThreadSeconds(pid: number): number | null {
  return process.platform === 'linux' ? secondsIn(`/proc/${pid}/task/${pid}/stat`) : null;
}

/** The same in nanoseconds. */
export function mainThreadNanoseconds(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]);
}

/** Processor time of the whole machine so far. On Linux it includes the time that the host took away (steal). */
export function machineSeconds(): number {
  if (process.platform !== 'linux') {
    return cpus().reduce((sum, { times }) => sum + (times.user + times.nice + times.sys + times.irq) / 1000, 0);
  }
  const [all = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user, nice, system, _idle, _waiting, irq, softIrq, steal] = all.split(/\s+/).slice(1).map(Number);
  const ticks = [user, nice, system, irq, softIrq, steal].reduce<number>((sum, part) => sum + (part ?? 0), 0);
  return ticks / LINUX_TICKS_PER_SECOND;
}

export function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

function askPs(column: string, pid: number): string {
  return spawnSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}

/** [hours:]minutes:seconds.hundredths */
function parseMinutes(text: string): number {
  return text.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0);
}
