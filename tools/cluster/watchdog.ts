import { rmSync } from 'node:fs';

/**
 * Ends a process and deletes a folder when this process ends for any reason: an exception, a signal or SIGKILL. It is a shell
 * that reads from a pipe that only this process holds open. The shell has its own session, so that neither Ctrl-C nor a kill
 * of this process's group reaches it. Under Bun's --no-orphans, as in tests, the shell dies with this process. So after a
 * normal exit this process also cleans up by itself.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
while read -r a b; do signal=$a target=$b; done
[ -z "$target" ] || kill -s "$signal" -- "$target"
[ -n "$1" ] || exit 0
# A process that is ending may still write files. Whether it has ended cannot be seen where no parent collects zombies.
tries=0
until rm -rf -- "$1" || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
`;

const watching = new Set<Watchdog>();

/** Ends everything that is still watched. */
export function endAllAtOnce(): void {
  for (const watchdog of watching) watchdog.endAtOnce();
  watching.clear();
}

process.on('exit', endAllAtOnce);

export class Watchdog {
  readonly #folder: string;
  #target: number | null = null;
  readonly #shell: Bun.Subprocess<'pipe', 'ignore', 'ignore'>;

  constructor(folder = '') {
    this.#folder = folder;
    watching.add(this);
    this.#shell = Bun.spawn(['sh', '-c', SCRIPT, 'watchdog', folder], {
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
  }

  /** The process to end: a pid, or a negative one for its whole group. Replaces the one before. */
  watch(pid: number, signal: 'QUIT' | 'KILL'): void {
    this.#target = pid;
    this.#tell(`${signal} ${pid}\n`);
  }

  /** Must be called as soon as the process has ended, because its process id may be reused. */
  forget(): void {
    this.#target = null;
    this.#tell('\n');
  }

  /** Ends the process and deletes the folder now. */
  async end(): Promise<void> {
    watching.delete(this);
    await this.#shell.stdin.end();
    await this.#shell.exited;
  }

  /** The same without waiting, when this process is about to exit. */
  endAtOnce(): void {
    try {
      if (this.#target !== null) process.kill(this.#target, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
    if (this.#folder !== '') rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #tell(line: string): void {
    void this.#shell.stdin.write(line);
    void this.#shell.stdin.flush();
  }
}
