import { join } from 'node:path';

import { freePort } from '../cluster/ports.ts';
import { Watchdog } from '../cluster/watchdog.ts';
import { PROJECT, TempFolder } from '../../test/process/process.ts';
import { Server } from '../../test/process/server.ts';

/** The service, started as users start it, with its own database. It trusts the gateways on this machine. */
export class Node implements AsyncDisposable {
  readonly server: Server;
  /** Where its database is. */
  readonly dataFolder: string;
  readonly #metricsPort: number;
  readonly #started: AsyncDisposableStack;

  private constructor(server: Server, dataFolder: string, metricsPort: number, started: AsyncDisposableStack) {
    this.server = server;
    this.dataFolder = dataFolder;
    this.#metricsPort = metricsPort;
    this.#started = started;
  }

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Node> {
    await using started = new AsyncDisposableStack();
    const folder = started.use(new TempFolder());
    const metricsPort = freePort();
    const server = started.use(
      await Server.start(folder, {
        command: ['node', join(PROJECT, 'bin/keystile.mjs'), 'serve'],
        // The launcher and the service are two processes. Signals go to both.
        ownGroup: true,
        settings: {
          KEYSTILE_METRICS_PORT: String(metricsPort),
          KEYSTILE_TRUSTED_PROXIES: '127.0.0.1',
          KEYSTILE_PUBLIC_URL: 'http://keys.example.com',
          ...settings,
        },
      }),
    );
    const watchdog = new Watchdog();
    watchdog.watch(-server.child.pid, 'KILL');
    started.defer(async () => {
      watchdog.forget();
      await watchdog.end();
    });
    return new Node(server, folder.join('data'), metricsPort, started.move());
  }

  /** The number of verdicts and errors that the node has answered, according to its metrics. */
  async answered(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#metricsPort}/metrics`)).text();
    const counts = [...text.matchAll(/^keystile_(?:verdicts|errors)_total\{[^}]*\} (\d+)/gm)];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#started.disposeAsync();
  }
}
