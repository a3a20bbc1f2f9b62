import { join } from 'node:path';

import type { Reply, Request } from './child.ts';

type Asked = Request extends infer R ? (R extends Request ? Omit<R, 'id'> : never) : never;

/** A service in a process of its own, on a moved clock, that can be killed while it works. */
export class Killable {
  readonly #folder: string;
  #nowMs: number;
  #child: Bun.Subprocess | null = null;
  #waiting = new Map<number, (reply: Reply | null) => void>();
  #next = 0;
  kills = 0;

  constructor(folder: string, startsAt: string) {
    this.#folder = folder;
    this.#nowMs = Date.parse(startsAt);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  async start(): Promise<void> {
    const ready = Promise.withResolvers<void>();
    const waiting = new Map<number, (reply: Reply | null) => void>();
    this.#waiting = waiting;
    const script = join(import.meta.dir, 'child.ts');
    this.#child = Bun.spawn([process.execPath, script, this.#folder, new Date(this.#nowMs).toISOString()], {
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc: (message: Reply) => {
        if (message.id === 0) return ready.resolve();
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
      },
      onExit: () => {
        ready.reject(new Error('the service ended'));
        for (const resolve of waiting.values()) resolve(null);
      },
    });
    await ready.promise;
  }

  /** null: it was killed before it answered. */
  ask(asked: Asked): Promise<Reply | null> {
    const id = ++this.#next;
    const { promise, resolve } = Promise.withResolvers<Reply | null>();
    this.#waiting.set(id, resolve);
    this.#child?.send({ ...asked, id });
    return promise;
  }

  call(path: string, body: unknown): Promise<Reply | null> {
    return this.ask({ kind: 'call', path, body });
  }

  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.ask({ kind: 'advance', ms });
  }

  async kill(): Promise<void> {
    this.kills++;
    this.#child?.kill('SIGKILL');
    await this.#child?.exited;
  }
}
