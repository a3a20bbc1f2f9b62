import { connect, type Socket } from 'node:net';

/** Far longer than any answer takes. */
const TIMEOUT_MS = 20_000;

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A connection that sends raw bytes and reads answers one by one. */
export class Client implements Disposable {
  readonly #socket: Socket;
  #received = '';
  #isClosed = false;
  #wake = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#moved(() => (this.#received += text)));
    // A reset also closes the connection, which is handled below.
    socket.on('error', () => undefined);
    for (const event of ['end', 'close']) socket.on(event, () => this.#moved(() => (this.#isClosed = true)));
  }

  static async open(port: number, localAddress = '127.0.0.1'): Promise<Client> {
    const opened = Promise.withResolvers<void>();
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true });
    socket.once('connect', () => opened.resolve());
    socket.once('error', (error) => opened.reject(error));
    await opened.promise;
    return new Client(socket);
  }

  send(bytes: string): void {
    if (!this.#isClosed) this.#socket.write(bytes, 'latin1');
  }

  /** Closes the sending side. Answers can still be read. */
  halfClose(): void {
    this.#socket.end();
  }

  /** The next answer, including interim ones. Null: the connection was closed instead. */
  async answer(isToHead = false): Promise<Answer | null> {
    let found: Answer | null = null;
    await this.#until('An answer', () => {
      found = this.#take(isToHead);
      return found !== null || this.#isClosed;
    });
    return found;
  }

  /** All remaining bytes until the other side closes. */
  async rest(): Promise<string> {
    await this.#until('The end of the connection', () => this.#isClosed);
    return this.#received;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #moved(note: () => void): void {
    note();
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const late = Promise.withResolvers<'late'>();
    const deadline = setTimeout(() => late.resolve('late'), TIMEOUT_MS);
    try {
      while (!isSo()) {
        if ((await Promise.race([this.#wake.promise, late.promise])) !== 'late') continue;
        throw new Error(
          `${what} did not arrive within ${TIMEOUT_MS / 1000} s. Received: ${JSON.stringify(this.#received.slice(0, 500))}`,
        );
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  #take(isToHead: boolean): Answer | null {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const [start = '', ...lines] = this.#received.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(lines.map(toField));
    const status = Number(start.split(' ')[1]);
    const length = isToHead || status < 200 || status === 204 ? 0 : Number(headers['content-length'] ?? 0);
    if (this.#received.length < end + 4 + length) return null;
    const body = this.#received.slice(end + 4, end + 4 + length);
    this.#received = this.#received.slice(end + 4 + length);
    return { status, headers, body };
  }
}

function toField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** Whether a server accepts connections on this port. */
export async function isListening(port: number): Promise<boolean> {
  try {
    (await Client.open(port))[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}
