import { join } from 'node:path';

import { freePort } from '../cluster/ports.ts';
import { Watchdog } from '../cluster/watchdog.ts';
import { PROJECT, TempFolder } from '../../test/process/process.ts';
import { Server } from '../../test/process/server.ts';

/** The service as users start it, on a database in a folder of its own, with the gateways on this machine trusted. */
export class Node implements AsyncDisposable {
  readonly server: Server;
  readonly #metricsPort: number;
  readonly #parts: AsyncDisposableStack;

  private constructor(server: Server, metricsPort: number, parts: AsyncDisposableStack) {
    this.server = server;
    this.#metricsPort = metricsPort;
    this.#parts = parts;
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<Node> {
    await using parts = new AsyncDisposableStack();
    const folder = parts.use(new TempFolder());
    const metricsPort = freePort();
    const server = parts.use(
      await Server.start(folder, {
        command: ['node', join(PROJECT, 'bin/keystile.mjs'), 'serve'],
        // The launcher and the service are two processes.
        ownGroup: true,
        settings: {
          KEYSTILE_METRICS_PORT: String(metricsPort),
          KEYSTILE_TRUSTED_PROXIES: '127.0.0.1',
          ...settings,
        },
      }),
    );
    const watchdog = new Watchdog();
    watchdog.watch(-server.child.pid, 'KILL');
    parts.defer(async () => {
      watchdog.forget();
      await watchdog.end();
    });
    return new Node(server, metricsPort, parts.move());
  }

  /** Requests that were answered by the routes that the cases use: verdicts and errors, by its own account. */
  async answered(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#metricsPort}/metrics`)).text();
    const counts = [...text.matchAll(/^keystile_(?:verdicts|errors)_total\{[^}]*\} (\d+)/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}
