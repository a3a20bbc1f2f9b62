import { Connection, type FrontContext, type Socket } from '../../src/http/front/front.ts';

/** One request as it is written on the wire. */
export interface SentRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A list is sent in chunks, and each of them arrives by itself. */
  readonly body: string | Uint8Array | readonly string[] | null;
  /** The address that the request comes from. */
  readonly peer: string;
}

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * A client of the front without a port. Requests are written as HTTP/1.1 bytes to the front's own Connection, and its answers are parsed.
 * Like a real client it keeps connections open: a request uses one that is idle, or opens another.
 */
export class FrontClient {
  readonly #context: FrontContext;
  readonly #idle = new Map<string, ClientConnection[]>();

  constructor(context: FrontContext) {
    this.#context = context;
  }

  async send(request: SentRequest): Promise<ReceivedAnswer> {
    const idle = this.#idle.get(request.peer) ?? [];
    this.#idle.set(request.peer, idle);
    const connection = idle.pop() ?? new ClientConnection(this.#context, request.peer);
    const answer = await connection.ask(request);
    if (!connection.isClosed) idle.push(connection);
    return answer;
  }
}

/** The client's end of one connection. It has one request under way at a time. */
class ClientConnection implements Socket {
  readonly remoteAddress: string;
  isClosed = false;
  readonly #connection: Connection;
  #received = Buffer.alloc(0);
  #waiting: { readonly isHead: boolean; answered(answer: ReceivedAnswer): void; failed(reason: Error): void } | null =
    null;

  constructor(context: FrontContext, peer: string) {
    this.remoteAddress = peer;
    this.#connection = new Connection(context, this);
  }

  ask(request: SentRequest): Promise<ReceivedAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedAnswer>();
    this.#waiting = { isHead: request.method === 'HEAD', answered: resolve, failed: reject };
    for (const piece of piecesOf(request)) this.#connection.receive(piece);
    return promise;
  }

  write(bytes: string | Uint8Array): number {
    const more = Buffer.from(bytes as string);
    this.#received = this.#received.length === 0 ? more : Buffer.concat([this.#received, more]);
    const answer = answerIn(this.#received, this.#waiting?.isHead === true);
    if (answer !== null) {
      this.#received = Buffer.alloc(0);
      this.#waiting?.answered(answer);
      this.#waiting = null;
    }
    return more.length;
  }

  /** The client closes its end as soon as the front has closed its own. */
  shutdown(): void {
    this.end();
  }

  end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#connection.closed();
    this.#waiting?.failed(
      new Error(`the front closed the connection after ${this.#received.length} bytes of an answer`),
    );
  }

  terminate(): void {
    this.end();
  }

  timeout(): void {}
  pause(): void {}
  resume(): void {}
}

/** What arrives together. */
function piecesOf({ method, target, headers, body }: SentRequest): Buffer[] {
  const isChunked = Array.isArray(body);
  const all = { host: 'localhost', ...headers, ...(isChunked ? { 'transfer-encoding': 'chunked' } : {}) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  if (body === null) return [head];
  if (!isChunked) return [Buffer.concat([head, Buffer.from(body as string)])];
  const chunks = [...(body as readonly string[]), ''].map((text) =>
    Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`),
  );
  return [head, ...chunks];
}

/** The answer that these bytes are; null while a part of it is missing. */
function answerIn(bytes: Buffer, isHead: boolean): ReceivedAnswer | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Headers();
  for (const line of lines) headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2));
  const bodyStart = end + 4;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(start)?.[1]);
  if (!isHead && headers.get('transfer-encoding') === 'chunked') {
    const text = textOfChunks(bytes.subarray(bodyStart));
    return text === null ? null : { status, headers, text };
  }
  const bodyEnd = bodyStart + (isHead ? 0 : Number(headers.get('content-length') ?? 0));
  if (bytes.length < bodyEnd) return null;
  if (bytes.length > bodyEnd) throw new Error('the front sent more than one answer to one request');
  return { status, headers, text: bytes.toString('utf8', bodyStart) };
}

/** null while a part of it is missing. */
function textOfChunks(bytes: Buffer): string | null {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return null;
    if (bytes.toString('latin1', next - 2, next) !== '\r\n') throw new Error('a chunk is longer than it says');
    if (size === 0 && bytes.length > next) throw new Error('the front sent more than one answer to one request');
    if (size === 0) return Buffer.concat(chunks).toString('utf8');
    chunks.push(bytes.subarray(lineEnd + 2, next - 2));
    at = next;
  }
}
