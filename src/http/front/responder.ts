import { AppError, repeatable } from '../../core/errors.ts';
import type { FailedRequest } from '../answer/answer.ts';
import { isStreamed } from '../answer/streamedAnswer.ts';
import type { Client, ClientSocket } from './clientSocket.ts';
import type { LargeBody } from './requestBody.ts';
import type { Memory, MemoryBudget } from './frontLimits.ts';
import type { Decided, FastPath, RequestHead, WrittenHead } from './requestHead.ts';
import type { Handler, Lifetime, Peer } from '../service.ts';

/** A connection is closed after so long without traffic. The runtime checks every 4 s, so 8 means 8 to 12. */
export const CONNECTION_TIMEOUT_SECONDS = 8;
const OK = 200;

/** What a responder works with. */
export interface ResponderContext {
  readonly fast: FastPath;
  /** Answers every other request. */
  readonly handle: Handler;
  /** The answer to a request of any route that failed before or outside of `handle`. */
  answerFailure(failure: unknown, request: FailedRequest): Response;
  readonly heads: ResponseHeads;
  readonly memory: MemoryBudget;
  /** Called for every answer, to count it. */
  responded(status: number): void;
  readonly lifetime: Lifetime;
}

/** What the form of an answer depends on. */
interface AskedKind {
  /** Only the head is wanted. */
  readonly isHead: boolean;
  readonly isOld: boolean;
}

/** The body of a request that has arrived. */
interface ArrivedBody {
  readonly bytes: Buffer;
  /** The rest of it may arrive and is not read. */
  readonly isCut: boolean;
  /** Null: it is small. */
  readonly large: LargeBody | null;
}

const ANY_REQUEST: AskedKind = { isHead: false, isOld: false };

/** Answers the requests of one connection, one at a time. */
export class Responder {
  readonly #context: ResponderContext;
  readonly #socket: ClientSocket;
  readonly #peer: Peer;
  readonly #onAnswered: () => void;
  readonly #memory: Memory;
  readonly #unsent: UnsentBytes;
  /** The body of the request that is being answered, if it is large. */
  #body: LargeBody | null = null;
  /** A request waits for its answer. */
  isAnswering = false;
  /** The last answer is being made or was sent: no further request is read. */
  isClosing = false;
  /** The last answer was sent, and the client may not have received it. */
  isLingering = false;
  /** The client sends nothing more. */
  hasEnded = false;
  isGone = false;
  /** The client may still send bytes that are not read. */
  #isCut = false;
  /** Goes on with a body that is sent piece by piece. */
  #goOn: (() => void) | null = null;

  /** `onAnswered` is called when an answer that had to wait was sent. */
  constructor(context: ResponderContext, { socket, memory, peer }: Client, onAnswered: () => void) {
    this.#context = context;
    this.#socket = socket;
    this.#peer = peer;
    this.#onAnswered = onAnswered;
    this.#memory = memory;
    this.#unsent = new UnsentBytes(socket, memory);
  }

  /** The next request has to wait. */
  get isBusy(): boolean {
    return this.isAnswering || this.#unsent.isBlocked;
  }

  get isBlocked(): boolean {
    return this.#unsent.isBlocked;
  }

  answerFast({ head: { isLast }, asking }: WrittenHead, bytes: Buffer, start: number, end: number): void {
    this.isClosing = isLast;
    try {
      const decided = this.#context.fast.decide(asking, bodyText(bytes, start, end));
      if (!('then' in decided)) {
        this.#sendFast(decided, isLast);
        if (this.isClosing && !this.#unsent.isBlocked) this.close();
        return;
      }
      this.isAnswering = true;
      void decided.then(
        (later) => this.#sendDecided(later, isLast),
        (failure: unknown) => this.#fail(failure, this.#context.fast.path, isLast),
      );
    } catch (failure) {
      this.#fail(failure, this.#context.fast.path, isLast);
    }
  }

  answer(head: RequestHead, { bytes, isCut, large }: ArrivedBody): void {
    large?.take(bytes.length, this.#memory);
    const request = this.#toRequest(head, bytes, large);
    this.#isCut ||= isCut;
    this.#body = large;
    const handle = () => this.#context.handle(request, this.#peer);
    const answer = large === null ? handle : () => handle().finally(() => large.end());
    const { method, isLast, isOld } = head;
    void this.#sendResponse(answer, isLast || isCut, { isHead: method === 'HEAD', isOld });
  }

  #toRequest({ method, target, headers }: RequestHead, body: Buffer, large: LargeBody | null): Request {
    // Nothing looks at the name of the host, nor at the body of a GET.
    const request = new Request(`http://keystile${target}`, {
      method,
      headers: headers.toHeaders(),
      body: method === 'GET' || method === 'HEAD' || body.length === 0 ? null : body,
      ...(large === null ? {} : { signal: large.gone }),
    });
    // The runtime turns a method that it does not know into GET.
    if (request.method === method) return request;
    throw new AppError('NOT_IMPLEMENTED', `This node does not support the HTTP method ${repeatable(method)}.`);
  }

  /** Answers with this failure, and closes. */
  refuse(failure: unknown): void {
    this.#isCut = true;
    this.#fail(failure, null, true);
  }

  sayContinue(): void {
    this.#unsent.write(CONTINUE, CONTINUE.length);
  }

  /** The socket takes more bytes again. */
  drain(): void {
    if (!this.#unsent.isBlocked) return;
    this.#unsent.drain();
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    if (this.#unsent.isBlocked) return;
    if (this.#goOn === null) this.#sent();
    else this.#goOn();
  }

  /** The socket is closed. */
  closed(): void {
    this.isGone = true;
    this.#unsent.clear();
    this.#body?.leave();
    this.#goOn?.();
  }

  #fail(failure: unknown, path: string | null, isLast: boolean): void {
    const failed = { path, isGone: () => this.isGone };
    void this.#sendResponse(() => this.#context.answerFailure(failure, failed), isLast, ANY_REQUEST);
  }

  #sendDecided(decided: Decided, isLast: boolean): void {
    try {
      this.isAnswering = false;
      this.#sendFast(decided, isLast);
      if (!this.#unsent.isBlocked) this.#sent();
    } catch {
      this.#socket.terminate();
    }
  }

  #sendFast(decided: Decided, isLast: boolean): void {
    const { fast, heads } = this.#context;
    const text = fast.text(decided);
    const bytes = fast.bytes(decided, text);
    this.isClosing = isLast || this.#context.lifetime.isStopping;
    const head = heads.ofFast(fast.headerLines(decided), bytes, this.isClosing);
    this.#context.responded(OK);
    this.#send(head + text, head.length + bytes);
  }

  async #sendResponse(
    answer: () => Promise<Response> | Response,
    isLast: boolean,
    { isHead, isOld }: AskedKind,
  ): Promise<void> {
    this.isAnswering = true;
    this.isClosing = isLast;
    try {
      const response = await answer();
      const { status, headers } = response;
      const isEnd = isLast || this.#context.lifetime.isStopping || headers.get('connection') === 'close';
      headers.delete('connection');
      if (isStreamed(response)) return await this.#sendStreamed(response, isEnd, { isHead, isOld });
      const body = await response.bytes();
      const head = Buffer.from(this.#context.heads.of(status, headers, body.length, isEnd));
      const whole = isHead ? head : Buffer.concat([head, body]);
      this.isAnswering = false;
      this.#context.responded(status);
      this.isClosing = isEnd;
      this.#send(whole, whole.length);
      if (!this.#unsent.isBlocked) this.#sent();
    } catch {
      this.#socket.terminate();
    }
  }

  async #sendStreamed(response: Response, isEnd: boolean, { isHead, isOld }: AskedKind): Promise<void> {
    const { status, headers, body } = response;
    const head = this.#context.heads.ofStream(status, headers, !isOld, isEnd);
    this.#context.responded(status);
    this.isClosing = isEnd;
    this.#send(head, head.length);
    if (isHead || body === null) await body?.cancel();
    else if (!(await sendPieces(body, !isOld, this.#taker))) return;
    this.isAnswering = false;
    if (!this.#unsent.isBlocked) this.#sent();
  }

  readonly #taker: PieceTaker = {
    isGone: () => this.isGone,
    send: (bytes) => this.#send(bytes, bytes.length),
    taken: async () => {
      if (this.isGone || !this.#unsent.isBlocked) return;
      // A client that takes nothing is cut off, as with any other answer.
      this.isAnswering = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#goOn = () => {
        this.#goOn = null;
        this.isAnswering = true;
        resolve();
      };
      await promise;
    },
  };

  #send(bytes: string | Uint8Array, length: number): void {
    // The socket is closed: unsent bytes would keep their memory for ever.
    if (this.isGone) return;
    this.#unsent.write(bytes, length);
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** All bytes were sent. */
  #sent(): void {
    if (this.isClosing) this.close();
    else this.#onAnswered();
  }

  /**
   * Closes after the last answer. While the client may still send, a close would reset the connection and could destroy the answer before
   * it is read (RFC 9112, 9.6). Then only this side ends, until the client ends too.
   */
  close(): void {
    if (this.hasEnded || !(this.#isCut || this.#context.lifetime.isStopping)) return this.#socket.end();
    this.isLingering = true;
    this.#socket.shutdown();
  }
}

const BYTE_ORDER_MARK = 0xef;

/** Like `Request.text`: drops a byte order mark and replaces bytes that are not UTF-8. */
function bodyText(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BYTE_ORDER_MARK) return new TextDecoder().decode(bytes.subarray(start, end));
  return bytes.toString('utf8', start, end);
}

/** What takes the pieces of a body: a connection to a client. */
interface PieceTaker {
  isGone(): boolean;
  send(bytes: Uint8Array): void;
  /** Resolves when the client has taken what was sent, or is gone. */
  taken(): Promise<void>;
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/**
 * Sends a body piece by piece. The next piece is made when the client has taken the one before, so a slow client costs the memory of one.
 * A client that leaves ends the making. False: it is gone.
 */
async function sendPieces(body: ReadableStream<Uint8Array>, isChunked: boolean, taker: PieceTaker): Promise<boolean> {
  const reader = body.getReader();
  for (;;) {
    await taker.taken();
    if (taker.isGone()) {
      await reader.cancel();
      return false;
    }
    const { done, value } = await reader.read();
    if (done) break;
    // An empty chunk would be the last one (RFC 9112, 7.1).
    if (value.length > 0) taker.send(isChunked ? asChunk(value) : value);
  }
  if (isChunked) taker.send(LAST_CHUNK);
  return true;
}

function asChunk(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, LINE_END]);
}

/** The part of a socket that is written to. */
interface Writable {
  /** How many of the bytes the socket took; negative when it is closed. */
  write(bytes: string | Uint8Array): number;
  terminate(): void;
}

const NOTHING = new Uint8Array(0);

/**
 * Writes to a socket. Bytes that the socket does not take at once wait here. Their memory comes from the budget: when not enough is left,
 * the client is cut off.
 */
class UnsentBytes {
  readonly #socket: Writable;
  readonly #memory: Memory;
  #rest: Uint8Array | null = null;
  /** Taken from the memory budget. The rest of an answer keeps the whole answer in memory. */
  #taken = 0;

  constructor(socket: Writable, memory: Memory) {
    this.#socket = socket;
    this.#memory = memory;
  }

  get isBlocked(): boolean {
    return this.#rest !== null;
  }

  /** `length` is the number of bytes. Must not be called while blocked. */
  write(bytes: string | Uint8Array, length: number): void {
    const written = this.#socket.write(bytes);
    // A closed socket takes nothing more, and nobody waits for the rest.
    if (written === length || written < 0) return;
    if (this.#memory.take(length, length)) {
      this.#taken = length;
      this.#rest = (typeof bytes === 'string' ? Buffer.from(bytes) : bytes).subarray(written);
    } else {
      // It stays blocked until the socket is closed, so no further request is answered.
      this.#rest = NOTHING;
      this.#socket.terminate();
    }
  }

  /** The socket takes more again. */
  drain(): void {
    if (this.#rest === null || this.#taken === 0) return;
    const written = this.#socket.write(this.#rest);
    if (written === this.#rest.length || written < 0) this.clear();
    else this.#rest = this.#rest.subarray(written);
  }

  /** Forgets the unsent bytes: they were written, or the socket is closed. */
  clear(): void {
    this.#rest = null;
    this.#memory.giveBack(this.#taken);
    this.#taken = 0;
  }
}

/** The statuses that this service answers with. */
const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  202: 'Accepted',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** The client may send the body that it has announced. */
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

const LENGTH = 'Content-Length: ';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CLOSE = 'Connection: close\r\n';
const CLOSE_AND_LENGTH = CLOSE + LENGTH;
const WITHOUT_BODY = [204, 304];

/** Headers in their order. */
type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/** Writes the heads of answers. The date in them is made once a second. */
export class ResponseHeads {
  readonly #nowMs: () => number;
  #second = -1;
  #date = '';
  #fast = '';

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The head of an answer of the fast path, which is always JSON with status 200. */
  ofFast(headerLines: string, bodyBytes: number, isLast: boolean): string {
    this.#keepDate();
    const begun = this.#fast + headerLines + (isLast ? CLOSE_AND_LENGTH : LENGTH);
    return `${begun}${bodyBytes}\r\n\r\n`;
  }

  of(status: number, headers: HeaderPairs, bodyBytes: number, isLast: boolean): string {
    const text = this.#begun(status, headers);
    // RFC 9110, 8.6: an answer that has no body by its status tells no length.
    if (WITHOUT_BODY.includes(status)) return `${text}${isLast ? CLOSE : ''}\r\n`;
    return `${text}${isLast ? CLOSE_AND_LENGTH : LENGTH}${bodyBytes}\r\n\r\n`;
  }

  /** The head of an answer whose length is not known. Without chunks, its end is that of the connection. */
  ofStream(status: number, headers: HeaderPairs, isChunked: boolean, isLast: boolean): string {
    return `${this.#begun(status, headers)}${isLast ? CLOSE : ''}${isChunked ? CHUNKED : ''}\r\n`;
  }

  #begun(status: number, headers: HeaderPairs): string {
    this.#keepDate();
    let text = `HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\n${this.#date}`;
    for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
    return text;
  }

  #keepDate(): void {
    const nowMs = this.#nowMs();
    const second = Math.floor(nowMs / 1000);
    if (second === this.#second) return;
    this.#second = second;
    this.#date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
    this.#fast = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${this.#date}`;
  }
}
