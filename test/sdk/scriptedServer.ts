import { createServer, type Server, type Socket } from 'node:net';

/** What the server does with one request: the raw bytes to answer, `silence` or `cut`. */
export type Move = string;

export interface Received {
  readonly path: string;
  readonly body: string;
}

/** Times that only silence can use up, also on a busy machine. */
export function patience(moves: readonly Move[]): { timeoutMs: number; totalTimeoutMs: number } {
  return { timeoutMs: moves.includes('silence') ? 2_000 : 60_000, totalTimeoutMs: 60_000 };
}

/** Answers requests move by move with raw bytes, so that every fault of the way can be played. The last move repeats. */
export class ScriptedServer {
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #moves: Move[];
  readonly #sockets = new Set<Socket>();

  private constructor(moves: readonly Move[]) {
    this.#moves = [...moves];
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(...moves: readonly Move[]): Promise<ScriptedServer> {
    const server = new ScriptedServer(moves);
    await new Promise<void>((done) => server.#server.listen(0, '127.0.0.1', done));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (head < 0 || text.length < head + 4 + length) return;
      this.received.push({ path: text.split(' ')[1] ?? '', body: text.slice(head + 4, head + 4 + length) });
      text = text.slice(head + 4 + length);
      this.#play(socket);
    });
  }

  #play(socket: Socket): void {
    const move = (this.#moves.length > 1 ? this.#moves.shift() : this.#moves[0]) ?? 'silence';
    if (move === 'silence') return;
    if (move === 'cut') socket.destroy();
    else socket.end(move);
  }
}

export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = Object.entries({ 'content-length': String(Buffer.byteLength(text)), connection: 'close', ...headers });
  return `HTTP/1.1 ${status} X\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`;
}

export function error(status: number, code: string, headers: Readonly<Record<string, string>> = {}): string {
  const message = `It is ${code}.`;
  return answer(status, { error: { code, message, docs: `/docs/errors#${code}`, requestId: 'req_1' } }, headers);
}

export const VALID = answer(200, { valid: true, code: 'VALID', requestId: 'req_1', keyId: 'key_1', meta: {} });
