import { BANNER_END, Child, SERVE } from '../../test/process/process.ts';
import { type Answer, ROOT_KEY } from '../../test/process/server.ts';
import { Watchdog } from './watchdog.ts';

export interface NodeOptions {
  /** Absent: the embedded database, in the folder that the settings name. */
  readonly databaseUrl?: string;
  readonly location: string;
  readonly rootKey?: string;
  /** The service alone, unless another command starts it. */
  readonly command?: readonly string[];
  /** Further KEYSTILE_* settings. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A process of Keystile on a database that other nodes may share. Ends with this process at the latest. */
export class KeystileNode implements AsyncDisposable {
  readonly child: Child;
  readonly url: string;
  readonly location: string;
  readonly #rootKey: string;
  readonly #watchdog: Watchdog;

  private constructor(child: Child, watchdog: Watchdog, { location, rootKey = ROOT_KEY }: NodeOptions) {
    this.child = child;
    this.url = /^ {2}API +(http:\S+)/m.exec(child.stdout)?.[1] ?? '';
    this.location = location;
    this.#rootKey = rootKey;
    this.#watchdog = watchdog;
  }

  static async start(options: NodeOptions): Promise<KeystileNode> {
    const child = new Child({
      command: options.command ?? SERVE,
      settings: {
        ...(options.databaseUrl === undefined ? {} : { KEYSTILE_DATABASE_URL: options.databaseUrl }),
        KEYSTILE_LOCATION: options.location,
        KEYSTILE_ROOT_KEY: options.rootKey ?? ROOT_KEY,
        ...options.settings,
      },
      // Signals go to all its processes.
      ownGroup: true,
    });
    const watchdog = new Watchdog();
    watchdog.watch(-child.pid, 'KILL');
    try {
      await child.printed(BANNER_END);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      await watchdog.end();
      throw error;
    }
    return new KeystileNode(child, watchdog, options);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Calls a management endpoint with the root key. */
  async call(route: string, body: unknown): Promise<Answer> {
    const response = await fetch(this.url + route, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#rootKey}` },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  verify(body: Readonly<Record<string, unknown>>): Promise<Answer> {
    return this.call('/v1/keys.verifyKey', body);
  }

  /** Settles when the node has ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.child.signalGroup(signal);
    await this.#ended();
  }

  /** Stops the node, which keeps its connections open. */
  pause(): void {
    this.child.signalGroup('SIGSTOP');
  }

  resume(): void {
    this.child.signalGroup('SIGCONT');
  }

  /** Sends SIGTERM and returns the exit code. */
  async stop(): Promise<number> {
    this.child.signal('SIGTERM');
    return this.#ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
    await this.#ended();
  }

  async #ended(): Promise<number> {
    const code = await this.child.exited();
    this.#watchdog.forget();
    await this.#watchdog.end();
    return code;
  }
}
