import { Client } from '../client.ts';

/** What clients were answered: the number of each outcome. */
export type Outcomes = ReadonlyMap<string, number>;

/** After a connection that was refused. */
const PAUSE_MS = 20;

/** Clients that send one request after the other, and send none a second time. */
export class Traffic implements AsyncDisposable {
  readonly #port: number;
  readonly #outcomes = new Map<string, number>();
  /** Of valid answers, by the request. */
  readonly #valid = new Map<string, number>();
  readonly #clients: Promise<void>[];
  #isOver = false;

  /** Each client sends its own of `requests`, over and over. */
  constructor(port: number, requests: readonly string[]) {
    this.#port = port;
    this.#clients = requests.map((request) => this.#send(request));
  }

  /** How often this request was answered as valid. */
  spentBy(request: string): number {
    return this.#valid.get(request) ?? 0;
  }

  get outcomes(): Outcomes {
    return this.#outcomes;
  }

  /** Waits for the answers to what was sent. */
  async stop(): Promise<Outcomes> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return this.#outcomes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #send(request: string): Promise<void> {
    while (!this.#isOver) {
      try {
        using client = await Client.open(this.#port);
        while (!this.#isOver && (await this.#ask(client, request)));
      } catch (error) {
        this.#note((error as { code?: string }).code ?? String(error));
        await Bun.sleep(PAUSE_MS);
      }
    }
  }

  /** False: the gateway has closed the connection, or says that it will. */
  async #ask(client: Client, request: string): Promise<boolean> {
    client.send(request);
    const answer = await client.answer();
    const verdict = /"code":"(\w+)"/.exec(answer?.body ?? '')?.[1];
    const outcome = answer === null ? 'no answer' : `${answer.status} ${verdict ?? ''}`.trim();
    this.#note(outcome);
    if (verdict === 'VALID') this.#valid.set(request, this.spentBy(request) + 1);
    return answer !== null && answer.headers['connection'] !== 'close';
  }

  #note(outcome: string): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }
}

export function shown(outcomes: Outcomes): string {
  return [...outcomes].map(([outcome, count]) => `${count} x ${outcome}`).join(', ');
}
