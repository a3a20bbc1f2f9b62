import { fileURLToPath } from 'node:url';

import type { BareOrder } from './bare.ts';
import type { GuardedOrder } from './guarded.ts';
import type { NodeOrder } from './node.ts';
import type { ServerOrder } from './server.ts';

/**
 * Each server under load is a separate process. Its only argument is its order as JSON. It prints the port that it listens
 * on as its first line of output.
 */

export function readOrder(): unknown {
  return JSON.parse(process.argv[2] ?? '');
}

export function reportReady(port: number): void {
  process.stdout.write(`${port}\n`);
}

const running = new Set<Child>();

export class Child {
  readonly pid: number;
  readonly port: number;
  readonly #process: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;

  private constructor(child: Bun.Subprocess<'ignore', 'pipe', 'inherit'>, port: number) {
    this.pid = child.pid;
    this.port = port;
    this.#process = child;
    running.add(this);
  }

  static startService(order: ServerOrder): Promise<Child> {
    return Child.#start('server.ts', order);
  }

  static startBare(order: BareOrder): Promise<Child> {
    return Child.#start('bare.ts', order);
  }

  static startNode(order: NodeOrder): Promise<Child> {
    return Child.#start('node.ts', order);
  }

  static startGuarded(order: GuardedOrder): Promise<Child> {
    return Child.#start('guarded.ts', order);
  }

  /** Uses the flags of this process, which are those of the real service. */
  static async #start(script: string, order: ServerOrder | BareOrder | NodeOrder): Promise<Child> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = Bun.spawn([process.execPath, ...process.execArgv, path, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    const port = Number(await firstLine(child.stdout));
    if (port > 0) return new Child(child, port);
    throw new Error(`tools/bench/${script} ended with code ${await child.exited} before it listened.`);
  }

  /** Stops the process completely, background work included, while another server is measured. */
  pause(): void {
    this.#process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    running.delete(this);
    this.#process.kill('SIGKILL');
    await this.#process.exited;
  }
}

/** Ends all servers when this process exits. A paused server could not notice that its parent has ended. */
process.on('exit', () => {
  for (const { pid } of running) process.kill(pid, 'SIGKILL');
});

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('\n')) break;
  }
  return text.split('\n')[0] ?? '';
}
