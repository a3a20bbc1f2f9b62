import type { Socket } from 'bun';

import { until } from '../../tools/cluster/wait.ts';

/** A connection written to byte by byte, as no HTTP client would. */
export class Connection implements Disposable {
  received = '';
  /** Settled when the other side has closed it. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #onData: () => Promise<void>;

  private constructor(socket: Socket, closed: Promise<void>, onData: () => Promise<void>) {
    this.#socket = socket;
    this.closed = closed;
    this.#onData = onData;
  }

  /** `onBytes` is called as soon as anything arrives. */
  static async open(port: number, firstBytes = '', onBytes?: () => void): Promise<Connection> {
    const closed = Promise.withResolvers<void>();
    let wake = Promise.withResolvers<void>();
    let connection: Connection | null = null;
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data(_socket, bytes) {
          onBytes?.();
          if (connection !== null) connection.received += bytes.toString('latin1');
          wake.resolve();
          wake = Promise.withResolvers();
        },
        end: () => closed.resolve(),
        close: () => closed.resolve(),
        error: () => closed.resolve(),
      },
    });
    connection = new Connection(socket, closed.promise, () => wake.promise);
    if (firstBytes !== '') connection.write(firstBytes);
    return connection;
  }

  write(text: string): void {
    this.#socket.write(text);
    this.#socket.flush();
  }

  /** From now on what arrives stays in the system's buffers. */
  pauseReading(): void {
    this.#socket.pause();
  }

  /** Says that nothing more will come, and goes on reading. */
  halfClose(): void {
    this.#socket.shutdown();
  }

  /** Waits for a whole answer, or for the end of the connection. */
  async answer(): Promise<string> {
    const isWhole = (): boolean => {
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.received)?.[1];
      const start = this.received.indexOf('\r\n\r\n') + 4;
      return length !== undefined && start > 3 && this.received.length >= start + Number(length);
    };
    const end = this.closed.then(() => 'closed' as const);
    while (!isWhole()) {
      if ((await Promise.race([this.#onData(), end])) === 'closed') break;
    }
    return this.received;
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

/** The head of a verification whose body is still to come. */
export function verifyHead(bodyLength: number): string {
  return `POST /v1/keys.verifyKey HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${bodyLength}\r\n\r\n`;
}

/** Waits until nobody takes connections at the port. With pauses: whoever is asked needs the processor to stop listening. */
export function refused(port: number): Promise<void> {
  return until(`port ${port} takes no connections`, async () => {
    try {
      (await Connection.open(port))[Symbol.dispose]();
      return false;
    } catch {
      return true;
    }
  });
}
