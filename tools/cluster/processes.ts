import { existsSync, readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly isAlive: boolean;
}

export function childrenOf(parent: number): number[] {
  return processes()
    .filter((each) => each.parent === parent)
    .map(({ pid }) => pid);
}

/** Whether one of the processes still runs. A zombie does not. */
export function isAnyAlive(pids: readonly number[]): boolean {
  return processes().some(({ pid, isAlive }) => isAlive && pids.includes(pid));
}

function processes(): Process[] {
  return existsSync('/proc/self/stat') ? fromProc() : fromPs();
}

/** Used on Linux, where small images have no `ps`. */
function fromProc(): Process[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      // The name of the program is in parentheses and may contain any character.
      const [state = '', parent] = readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      return [toProcess(pid, parent, state)];
    } catch {
      return []; // The process has just ended.
    }
  });
}

function fromPs(): Process[] {
  const lines = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,stat=']).stdout.toString().trim().split('\n');
  return lines.map((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/);
    return toProcess(pid, parent, state);
  });
}

function toProcess(pid: string | undefined, parent: string | undefined, state: string): Process {
  return { pid: Number(pid), parent: Number(parent), isAlive: !/^[ZX]/.test(state) };
}
