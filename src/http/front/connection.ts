import type { AppError } from '../../core/errors.ts';
import type { DirectVerification, Handler } from '../app.ts';
import type { WireVerdict } from '../routes/keys.verifyKey.ts';
import type { Asking } from '../service.ts';
import type { AnswerHeads } from './answerHead.ts';
import { bodyText } from './bodyText.ts';
import type { RequestHead } from './head.ts';
import { HeadReader, type WrittenHead } from './headReader.ts';
import { Inbox, MAX_HELD_BYTES } from './inbox.ts';
import { Outlet } from './outlet.ts';
import type { Pipe, ServerBehind } from './pipe.ts';

/** A connection on which nothing moves for so long is closed. The runtime checks every 4 s: 8 means 8 to 12. */
export const CONNECTION_TIMEOUT_SECONDS = 8;
/** A request that comes in more pieces than this is handed over: each costs a look at all of them. */
const MAX_PIECES = 8;
/** Requests of one connection that are answered before others have their turn. */
const MAX_IN_A_TURN = 32;

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
  /** The beginning of a request, or what came while another one is answered. */
  readonly #inbox: Inbox;
  #pieces = 0;
  #isHeadRead = false;
  #isAnswering = false;
  #inATurn = 0;
  #isClosing = false;
  #isClosed = false;
  readonly #heads: HeadReader;

  constructor(parts: FrontParts, socket: Bun.Socket<Connection>) {
    this.#parts = parts;
    this.#socket = socket;
    this.#outlet = new Outlet(socket);
    this.#inbox = new Inbox(socket);
    // Of a socket that is closed, which it may be already, it is not known any more.
    const address = (socket.remoteAddress as string | undefined) ?? null;
    this.#peer = () => address;
    this.#heads = new HeadReader(parts.hasCors, this.#peer);
    socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** A request has begun to be answered, or its body is on the way. */
  get isInFlight(): boolean {
    return this.#isBusy || this.#isHeadRead || this.#pipe?.isOpening === true;
  }

  get #isBusy(): boolean {
    return this.#isAnswering || this.#outlet.isBlocked;
  }

  receive(bytes: Buffer): void {
    if (this.#pipe !== null) return this.#pipe.fromClient(bytes);
    const all = this.#inbox.takeWith(bytes);
    // What was sent before the answer to the request before it waits for its turn.
    if (this.#isBusy) this.#inbox.keep(all);
    else this.#read(all);
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
    else if (this.#pipe !== null || this.#outlet.isBlocked) this.#socket.terminate();
    else this.close();
  }

  closed(): void {
    this.#isClosed = true;
    this.#inbox.take();
    this.#pipe?.clientClosed();
  }

  /** What was written still arrives. */
  close(): void {
    this.#socket.end();
  }

  /** Answers one request after the other, as far as they are there. */
  #read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#isClosing) return;
      if (this.#inATurn >= MAX_IN_A_TURN) return this.#goOnLater(rest);
      const asked = this.#heads.read(rest);
      if (asked === null) return this.#handOver(rest);
      if (asked === undefined) return rest.length > MAX_HELD_BYTES ? this.#handOver(rest) : this.#waitForMore(rest);
      const start = asked.bytes.length;
      const end = start + asked.head.bodyBytes;
      if (end > MAX_HELD_BYTES) return this.#handOver(rest);
      this.#isHeadRead = true;
      if (rest.length < end) return this.#waitForMore(rest);
      this.#isHeadRead = false;
      this.#pieces = 0;
      this.#inATurn++;
      this.#answer(asked, rest, start, end);
      if (rest.length === end) return;
      rest = rest.subarray(end);
      if (this.#isBusy) return this.#inbox.keep(rest);
    }
  }

  /** Who sends many requests at once does not keep the others from being answered. */
  #goOnLater(rest: Buffer): void {
    this.#inbox.keep(rest);
    this.#isAnswering = true;
    setImmediate(() => {
      this.#isAnswering = false;
      this.#inATurn = 0;
      this.#answered();
    });
  }

  #waitForMore(bytes: Buffer): void {
    if (++this.#pieces > MAX_PIECES) return this.#handOver(bytes);
    // From its beginning a request has the whole time; a copy, so that no more than these bytes is kept.
    if (this.#pieces === 1) this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    this.#inbox.keep(Buffer.from(bytes));
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    this.#isHeadRead = false;
    // The server behind has time limits of its own, and closes.
    socket.timeout(0);
    this.#pipe = this.#parts.behind.join(
      {
        address: this.#peer(),
        write: (some) => socket.write(some),
        pause: () => socket.pause(),
        resume: () => socket.resume(),
        hurry: (isOn) => socket.timeout(isOn ? CONNECTION_TIMEOUT_SECONDS : 0),
        end: () => this.close(),
        terminate: () => socket.terminate(),
      },
      bytes,
    );
  }

  #answer({ head, isVerification, asking }: WrittenHead, bytes: Buffer, start: number, end: number): void {
    try {
      if (!isVerification) return this.#answerAny(head, bytes.subarray(start, end));
      const verdict = this.#parts.verification.ask(asking, bodyText(bytes, start, end));
      if (!('then' in verdict)) return this.#sendVerdict(verdict, head.isLast);
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
    try {
      this.#isAnswering = false;
      this.#sendVerdict(decided, isLast);
      if (!this.#outlet.isBlocked) this.#answered();
    } catch {
      this.#socket.terminate();
    }
  }

  #answerAny({ method, target, headers, isLast }: RequestHead, body: Buffer): void {
    // The name of the host is not looked at anywhere. What a GET may bring as its body is not either.
    const request = new Request(`http://keystile${target}`, {
      method,
      headers: headers.toHeaders(),
      body: method === 'GET' || body.length === 0 ? null : new Uint8Array(body),
    });
    void this.#sendResponse(() => this.#parts.handle(request, this.#peer), isLast);
  }

  #fail(failure: unknown, isLast: boolean): void {
    void this.#sendResponse(() => this.#parts.verification.fail(failure, () => this.#isClosed), isLast);
  }

  #sendVerdict({ text, bytes, headerLines }: WireVerdict, isLast: boolean): void {
    const head = this.#parts.heads.ofVerdict(headerLines, bytes, isLast);
    this.#send(head + text, head.length + bytes, isLast);
  }

  async #sendResponse(answer: () => Promise<Response> | Response, isLast: boolean): Promise<void> {
    this.#isAnswering = true;
    try {
      const response = await answer();
      const body = await response.bytes();
      const isEnd = isLast || response.headers.get('connection') === 'close';
      response.headers.delete('connection');
      const head = this.#parts.heads.of(response.status, response.headers, body.length, isEnd);
      const whole = Buffer.concat([Buffer.from(head), body]);
      this.#isAnswering = false;
      this.#send(whole, whole.length, isEnd);
      if (!this.#outlet.isBlocked) this.#answered();
    } catch {
      this.#socket.terminate();
    }
  }

  #send(bytes: string | Uint8Array, length: number, isLast: boolean): void {
    this.#isClosing ||= isLast;
    this.#outlet.write(bytes, length);
    if (isLast && !this.#outlet.isBlocked) return this.close();
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** The answer is out: what has come meanwhile has its turn. */
  #answered(): void {
    if (this.#isClosing) return this.close();
    const held = this.#inbox.take();
    if (held !== null) this.#read(held);
    // The pipe takes and stops by itself.
    if (this.#pipe === null) this.#inbox.relax();
  }
}
