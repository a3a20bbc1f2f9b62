import type { AppError } from '../../core/errors.ts';
import type { DirectVerification, Handler } from '../app.ts';
import type { WireVerdict } from '../routes/keys.verifyKey.ts';
import type { Asking } from '../service.ts';
import type { AnswerHeads } from './answerHead.ts';
import type { RequestHead } from './head.ts';
import { HeadReader, type WrittenHead } from './headReader.ts';
import { Outlet } from './outlet.ts';
import type { Pipe, ServerBehind } from './pipe.ts';

/** A connection on which nothing moves for so long is closed. The runtime checks every 4 s: 8 means 8 to 12. */
export const CONNECTION_TIMEOUT_SECONDS = 8;
/** Head and body of a request that is read here; longer ones are handed over. */
const MAX_HELD_BYTES = 16 * 1024;
/** A request that comes in more pieces than this is handed over: each costs a look at all of them. */
const MAX_PIECES = 8;

/** What connections work with. */
export interface FrontParts {
  readonly verification: DirectVerification;
  readonly handle: Handler;
  readonly behind: ServerBehind;
  readonly heads: AnswerHeads;
  /** Pages of other origins may ask: their answers have more headers. */
  readonly hasCors: boolean;
}

/**
 * One connection of a client. Requests are answered one after the other, in the order in which they came; a request that
 * is not of the usual shape is handed over to the server of the runtime, and with it the rest of the connection.
 */
export class Connection {
  readonly #parts: FrontParts;
  readonly #socket: Bun.Socket<Connection>;
  readonly #outlet: Outlet;
  readonly #peer: Asking['peer'];
  #pipe: Pipe | null = null;
  /** What has come and is not read yet: the beginning of a request, or what came while another one is answered. */
  #held: Buffer | null = null;
  #pieces = 0;
  #isHeadRead = false;
  #isAnswering = false;
  #isClosing = false;
  #isClosed = false;
  readonly #heads: HeadReader;

  constructor(parts: FrontParts, socket: Bun.Socket<Connection>) {
    this.#parts = parts;
    this.#socket = socket;
    this.#outlet = new Outlet(socket);
    this.#peer = () => socket.remoteAddress;
    this.#heads = new HeadReader(parts.hasCors, this.#peer);
    socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** A request has begun to be answered, or its body is on the way. */
  get isInFlight(): boolean {
    return this.#isAnswering || this.#outlet.isBlocked || this.#isHeadRead || this.#pipe?.isOpening === true;
  }

  receive(bytes: Buffer): void {
    if (this.#pipe !== null) return this.#pipe.fromClient(bytes);
    const held = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = null;
    if (!this.#isAnswering && !this.#outlet.isBlocked) return this.#read(held);
    // It was sent before the answer to the request before it: its turn comes.
    this.#held = held;
    if (held.length > MAX_HELD_BYTES) this.#socket.pause();
  }

  /** Answers this to whatever it may ask, and closes. */
  refuse(failure: AppError): void {
    this.#fail(failure, true);
  }

  /** The client takes more of what it is sent. */
  drain(): void {
    if (this.#pipe !== null) return this.#pipe.clientTakesMore();
    if (!this.#outlet.isBlocked) return;
    this.#outlet.drain();
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    if (!this.#outlet.isBlocked) this.#answered();
  }

  /** Nothing has moved for a while. What is being answered is waited for: that has limits of its own. */
  timedOut(): void {
    if (this.#isAnswering) this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    else this.#socket.terminate();
  }

  closed(): void {
    this.#isClosed = true;
    this.#held = null;
    this.#pipe?.clientClosed();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Answers one request after the other, as far as they are there. */
  #read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#isClosing) return;
      const asked = this.#heads.read(rest);
      if (asked === null) return this.#handOver(rest);
      if (asked === undefined) return rest.length > MAX_HELD_BYTES ? this.#handOver(rest) : this.#waitForMore(rest);
      const start = asked.text.length;
      const end = start + asked.head.bodyBytes;
      if (end > MAX_HELD_BYTES) return this.#handOver(rest);
      this.#isHeadRead = true;
      if (rest.length < end) return this.#waitForMore(rest);
      this.#isHeadRead = false;
      this.#pieces = 0;
      this.#answer(asked, rest, start, end);
      if (rest.length === end) return;
      rest = rest.subarray(end);
      if (this.#isAnswering || this.#outlet.isBlocked) {
        this.#held = rest;
        return;
      }
    }
  }

  #waitForMore(bytes: Buffer): void {
    if (++this.#pieces > MAX_PIECES) return this.#handOver(bytes);
    this.#held = bytes;
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#isHeadRead = false;
    // The server behind has time limits of its own, and closes.
    socket.timeout(0);
    this.#pipe = this.#parts.behind.join(
      {
        remoteAddress: socket.remoteAddress,
        write: (some) => socket.write(some),
        pause: () => socket.pause(),
        resume: () => socket.resume(),
        end: () => this.#close(),
        terminate: () => socket.terminate(),
      },
      bytes,
    );
  }

  #answer({ head, isVerification, asking }: WrittenHead, bytes: Buffer, start: number, end: number): void {
    try {
      if (!isVerification) return this.#answerAny(head, bytes.subarray(start, end));
      const verdict = this.#parts.verification.ask(asking, textOf(bytes, start, end));
      if (!(verdict instanceof Promise)) return this.#sendVerdict(verdict, head.isLast);
      this.#isAnswering = true;
      const { isLast } = head;
      void verdict.then(
        (decided) => this.#sendDecided(decided, isLast),
        (failure: unknown) => this.#fail(failure, isLast),
      );
    } catch (failure) {
      this.#fail(failure, head.isLast);
    }
  }

  #sendDecided(decided: WireVerdict, isLast: boolean): void {
    this.#isAnswering = false;
    this.#sendVerdict(decided, isLast);
    if (!this.#outlet.isBlocked) this.#answered();
  }

  #answerAny({ method, target, headers, isLast }: RequestHead, body: Buffer): void {
    // The name of the host is not looked at anywhere. What a GET may bring as its body is not either.
    const request = new Request(`http://keystile${target}`, {
      method,
      headers: headers.toHeaders(),
      body: method === 'GET' || body.length === 0 ? null : new Uint8Array(body),
    });
    void this.#sendResponse(this.#parts.handle(request, this.#peer), isLast);
  }

  #fail(failure: unknown, isLast: boolean): void {
    void this.#sendResponse(
      this.#parts.verification.fail(failure, () => this.#isClosed),
      isLast,
    );
  }

  #sendVerdict({ text, bytes, headerLines }: WireVerdict, isLast: boolean): void {
    const head = this.#parts.heads.ofVerdict(headerLines, bytes, isLast);
    this.#send(head + text, head.length + bytes, isLast);
  }

  async #sendResponse(answer: Promise<Response> | Response, isLast: boolean): Promise<void> {
    this.#isAnswering = true;
    try {
      const response = await answer;
      const body = await response.bytes();
      const isEnd = isLast || response.headers.get('connection') === 'close';
      response.headers.delete('connection');
      const head = this.#parts.heads.of(response.status, response.headers, body.length, isEnd);
      this.#isAnswering = false;
      this.#send(Buffer.concat([Buffer.from(head), body]), head.length + body.length, isEnd);
      if (!this.#outlet.isBlocked) this.#answered();
    } catch {
      this.#socket.terminate();
    }
  }

  #send(bytes: string | Uint8Array, length: number, isLast: boolean): void {
    this.#isClosing ||= isLast;
    this.#outlet.write(bytes, length);
    if (isLast && !this.#outlet.isBlocked) return this.#close();
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** The answer is out: what has come meanwhile has its turn. */
  #answered(): void {
    if (this.#isClosing) return this.#close();
    const held = this.#held;
    this.#held = null;
    if (held === null) return;
    if (held.length > MAX_HELD_BYTES) this.#socket.resume();
    this.#read(held);
  }

  /** What was written still arrives; who does not close the other side then is cut off. */
  #close(): void {
    this.#socket.end();
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }
}

const BYTE_ORDER_MARK = 0xef;

/** As `Request.text`: without a byte order mark, and what is no UTF-8 replaced. */
function textOf(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BYTE_ORDER_MARK) return new TextDecoder().decode(bytes.subarray(start, end));
  return bytes.toString('utf8', start, end);
}
