import { AppError, repeatable } from '../../core/errors.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';
import { isStreamed } from '../answer/streamedAnswer.ts';
import type { FailedRequest } from '../answer/reportFailure.ts';
import type { Handler } from '../app.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import type { Asking, Lifetime, Peer } from '../service.ts';
import type { VerdictWriter } from '../verify/verdictWriter.ts';
import { type ResponseHeads, CONTINUE } from './responseHead.ts';
import { bodyText } from './bodyText.ts';
import type { RequestHead } from './parseHead.ts';
import type { WrittenHead } from './nextHead.ts';
import { type PieceTaker, sendPieces } from './sendPieces.ts';
import type { Client, ClientSocket } from './clientSocket.ts';
import type { LargeBody } from './largeBodies.ts';
import { UnsentBytes } from './unsentBytes.ts';
import type { Memory, MemoryBudget } from './memoryBudget.ts';

/** A connection is closed after so long without traffic. The runtime checks every 4 s, so 8 means 8 to 12. */
export const CONNECTION_TIMEOUT_SECONDS = 8;
const OK = 200;

/** What a responder works with. */
export interface ResponderContext {
  /** Verifies the key in this body, without the work that other routes need. */
  verify(asking: Asking, body: string): Verdict | PromiseLike<Verdict>;
  readonly verdicts: VerdictWriter;
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
export interface ArrivedBody {
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

  verify({ head: { isLast }, asking }: WrittenHead, bytes: Buffer, start: number, end: number): void {
    this.isClosing = isLast;
    try {
      const verdict = this.#context.verify(asking, bodyText(bytes, start, end));
      if (!('then' in verdict)) {
        this.#sendVerdict(verdict, isLast);
        if (this.isClosing && !this.#unsent.isBlocked) this.close();
        return;
      }
      this.isAnswering = true;
      void verdict.then(
        (decided) => this.#sendDecided(decided, isLast),
        (failure: unknown) => this.#fail(failure, verifyKey.path, isLast),
      );
    } catch (failure) {
      this.#fail(failure, verifyKey.path, isLast);
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

  #sendDecided(decided: Verdict, isLast: boolean): void {
    try {
      this.isAnswering = false;
      this.#sendVerdict(decided, isLast);
      if (!this.#unsent.isBlocked) this.#sent();
    } catch {
      this.#socket.terminate();
    }
  }

  #sendVerdict(verdict: Verdict, isLast: boolean): void {
    const { verdicts, heads } = this.#context;
    const text = verdicts.text(verdict);
    const bytes = verdicts.bytes(verdict, text);
    this.isClosing = isLast || this.#context.lifetime.isStopping;
    const head = heads.ofVerdict(verdicts.headerLines(verdict), bytes, this.isClosing);
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
