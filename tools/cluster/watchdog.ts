import { rmSync } from 'node:fs';

/**
 * Ends a process and deletes a folder when this process has gone, however it went: by an exception, a signal or SIGKILL.
 * It is a shell that reads from a pipe which only this process holds open. In a session of its own, so that neither
 * Ctrl-C nor a kill of this process's group reaches it. Where this process runs under Bun's --no-orphans, as the tests do,
 * the shell dies with it: an orderly exit is therefore also cleaned up after by this process itself.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
while read -r a b; do signal=$a target=$b; done
[ -z "$target" ] || kill -s "$signal" -- "$target"
[ -n "$1" ] || exit 0
# A process that is about to end may still write; that it has ended cannot be seen where nobody collects the dead.
tries=0
until rm -rf -- "$1" || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.1; done
`;

const watching = new Set<Watchdog>();

/** Everything that is still watched ends now. */
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

  /** To be said as soon as the process has gone: its number may be another's soon. */
  forget(): void {
    this.#target = null;
    this.#tell('\n');
  }

  /** Does now what it was there for. */
  async end(): Promise<void> {
    watching.delete(this);
    await this.#shell.stdin.end();
    await this.#shell.exited;
  }

  /** The same without waiting for anything, for a process that is about to end. */
  endAtOnce(): void {
    try {
      if (this.#target !== null) process.kill(this.#target, 'SIGKILL');
    } catch {
      // It has gone already.
    }
    if (this.#folder !== '') rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #tell(line: string): void {
    void this.#shell.stdin.write(line);
    void this.#shell.stdin.flush();
  }
}
