/**
 * Ends a process and deletes a folder when this process has gone, however it went: by an exception, a signal or SIGKILL.
 * It is a shell that reads from a pipe which only this process holds open. In a session of its own, so that neither
 * Ctrl-C nor a kill of this process's group reaches it.
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

export class Watchdog {
  readonly #shell: Bun.Subprocess<'pipe', 'ignore', 'ignore'>;

  constructor(folder = '') {
    this.#shell = Bun.spawn(['sh', '-c', SCRIPT, 'watchdog', folder], {
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
  }

  /** The process to end: a pid, or a negative one for its whole group. Replaces the one before. */
  watch(pid: number, signal: 'QUIT' | 'KILL'): void {
    this.#tell(`${signal} ${pid}\n`);
  }

  /** To be said as soon as the process has gone: its number may be another's soon. */
  forget(): void {
    this.#tell('\n');
  }

  /** Does now what it was there for. */
  async end(): Promise<void> {
    await this.#shell.stdin.end();
    await this.#shell.exited;
  }

  #tell(line: string): void {
    void this.#shell.stdin.write(line);
    void this.#shell.stdin.flush();
  }
}
