import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

import { childrenOf } from '../cluster/processes.ts';

/** What the operating system says of a process: from /proc where there is one, else from `ps`. */

const LINUX_TICKS_PER_SECOND = 100;
const UTIME_FIELD = 11;
const STIME_FIELD = 12;
/** Of children that have ended. */
const CHILDREN_UTIME_FIELD = 13;
const CHILDREN_STIME_FIELD = 14;

export function residentMebibytes(pid: number): number {
  const kibibytes =
    process.platform === 'linux'
      ? /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      : askPs('rss=', pid);
  return Number(kibibytes) / 1024;
}

/** Processor time of all threads so far; in steps of 10 ms. */
export function processorSeconds(pid: number): number {
  if (process.platform !== 'linux') return parseMinutes(askPs('time=', pid));
  return secondsIn(`/proc/${pid}/stat`);
}

/** Processor time so far of a process and of its children, also of those that have ended where the system tells of them. */
export function familySeconds(pid: number): number {
  const ended =
    process.platform === 'linux' ? secondsIn(`/proc/${pid}/stat`, [CHILDREN_UTIME_FIELD, CHILDREN_STIME_FIELD]) : 0;
  return childrenOf(pid).reduce((sum, child) => sum + secondsOrNone(child), processorSeconds(pid) + ended);
}

/** One may have ended meanwhile. */
function secondsOrNone(pid: number): number {
  try {
    return processorSeconds(pid);
  } catch {
    return 0;
  }
}

function secondsIn(path: string, parts: readonly number[] = [UTIME_FIELD, STIME_FIELD]): number {
  // The name, in brackets, may hold spaces: the fields are counted from behind it.
  const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return parts.reduce((sum, part) => sum + Number(fields[part]), 0) / LINUX_TICKS_PER_SECOND;
}

/** Processor time of the thread that answers requests so far; null where the system does not tell. */
export function mainThreadSeconds(pid: number): number | null {
  return process.platform === 'linux' ? secondsIn(`/proc/${pid}/task/${pid}/stat`) : null;
}

/** The same to the nanosecond. */
export function mainThreadNanoseconds(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]);
}

/** Processor time of the whole machine so far, with what its host took away from it (steal) where that is told. */
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
