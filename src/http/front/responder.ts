import { AppError, repeatable } from '../../core/errors.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';
import type { FailedRequest } from '../answer/reportFailure.ts';
import type { Handler } from '../app.ts';
import { verifyKey } from '../routes/keys.verifyKey.ts';
import type { Asking, Peer } from '../service.ts';
import type { VerdictWriter } from '../verify/verdictWriter.ts';
import { type AnswerHeads, CONTINUE } from './responseHead.ts';
import { bodyText } from './bodyText.ts';
import type { RequestHead } from './parseHead.ts';
import type { WrittenHead } from './nextHead.ts';
import { Outlet } from './unsentBytes.ts';
import type { Store } from './memoryBudget.ts';

/** A connection on which nothing moves for so long is closed. The runtime checks every 4 s: 8 means 8 to 12. */
export const CONNECTION_TIMEOUT_SECONDS = 8;
const OK = 200;

/** What is needed to answer. */
export interface AnswerParts {
  /** Verifies what came with this body, past everything that other routes need. */
  verify(asking: Asking, body: string): Verdict | PromiseLike<Verdict>;
  readonly verdicts: VerdictWriter;
  /** Answers every other request. */
  readonly handle: Handler;
  /** The answer to a request of any route that failed before or outside of `handle`. */
  answerFailure(failure: unknown, request: FailedRequest): Response;
  readonly heads: AnswerHeads;
  readonly store: Store;
  /** Every answer is counted. */
  responded(status: number): void;
}

/** What is used of a client's socket to answer. */
export interface ClientSocket {
  write(bytes: string | Uint8Array): number;
  timeout(seconds: number): void;
  /** Nothing more is written; what comes is still read. */
  shutdown(): void;
  /** Closes it at once; what was written still arrives if the client sends nothing more. */
  end(): void;
  terminate(): void;
}

/** Answers the requests of one connection, one at a time. */
export class Answerer {
  readonly #parts: AnswerParts;
  readonly #socket: ClientSocket;
  readonly #peer: Peer;
  readonly #onAnswered: () => void;
  readonly #outlet: Outlet;
  /** A request waits for its answer. */
  isAnswering = false;
  /** The last answer is being made or is out: nothing more is read. */
  isClosing = false;
  /** The last answer is out, and the client may not have seen it. */
  isLingering = false;
  /** The client sends nothing more. */
  hasEnded = false;
  isGone = false;
  /** The client may be sending what is not read. */
  #isCut = false;

  /** `onAnswered` is called when an answer is out that could not be sent at once. */
  constructor(parts: AnswerParts, socket: ClientSocket, peer: Peer, onAnswered: () => void) {
    this.#parts = parts;
    this.#socket = socket;
    this.#peer = peer;
    this.#onAnswered = onAnswered;
    this.#outlet = new Outlet(socket, parts.store);
  }

  /** The next request has to wait. */
  get isBusy(): boolean {
    return this.isAnswering || this.#outlet.isBlocked;
  }

  get isBlocked(): boolean {
    return this.#outlet.isBlocked;
  }

  verify({ head: { isLast }, asking }: WrittenHead, bytes: Buffer, start: number, end: number): void {
    this.isClosing = isLast;
    try {
      const verdict = this.#parts.verify(asking, bodyText(bytes, start, end));
      if (!('then' in verdict)) {
        this.#sendVerdict(verdict, isLast);
        if (isLast && !this.#outlet.isBlocked) this.close();
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

  /** `isCut`: more of the body may come, and is not read. */
  answer({ method, target, headers, isLast }: RequestHead, body: Buffer, isCut: boolean): void {
    // The name of the host is not looked at anywhere. What a GET may bring as its body is not either.
    const request = new Request(`http://keystile${target}`, {
      method,
      headers: headers.toHeaders(),
      body: method === 'GET' || method === 'HEAD' || body.length === 0 ? null : body,
    });
    // The runtime takes a method that it does not know for GET.
    if (request.method !== method) {
      throw new AppError('NOT_IMPLEMENTED', `This node does not know the HTTP method ${repeatable(method)}.`);
    }
    this.#isCut ||= isCut;
    const answer = () => this.#parts.handle(request, this.#peer);
    void this.#sendResponse(answer, isLast || isCut, method === 'HEAD');
  }

  /** Answers this to whatever was asked, and closes. */
  refuse(failure: unknown): void {
    this.#isCut = true;
    this.#fail(failure, null, true);
  }

  sayContinue(): void {
    this.#outlet.write(CONTINUE, CONTINUE.length);
  }

  /** The client takes more of what it is sent. */
  drain(): void {
    if (!this.#outlet.isBlocked) return;
    this.#outlet.drain();
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    if (!this.#outlet.isBlocked) this.#sent();
  }

  /** The socket is closed. */
  closed(): void {
    this.isGone = true;
    this.#outlet.clear();
  }

  #fail(failure: unknown, path: string | null, isLast: boolean): void {
    const failed = { path, isGone: () => this.isGone };
    void this.#sendResponse(() => this.#parts.answerFailure(failure, failed), isLast, false);
  }

  #sendDecided(decided: Verdict, isLast: boolean): void {
    try {
      this.isAnswering = false;
      this.#sendVerdict(decided, isLast);
      if (!this.#outlet.isBlocked) this.#sent();
    } catch {
      this.#socket.terminate();
    }
  }

  #sendVerdict(verdict: Verdict, isLast: boolean): void {
    const { verdicts, heads } = this.#parts;
    const text = verdicts.text(verdict);
    const bytes = verdicts.bytes(verdict, text);
    const head = heads.ofVerdict(verdicts.headers(verdict), bytes, isLast);
    this.#parts.responded(OK);
    this.#send(head + text, head.length + bytes);
  }

  async #sendResponse(answer: () => Promise<Response> | Response, isLast: boolean, isHead: boolean): Promise<void> {
    this.isAnswering = true;
    this.isClosing = isLast;
    try {
      const response = await answer();
      const body = await response.bytes();
      const { status, headers } = response;
      const isEnd = isLast || headers.get('connection') === 'close';
      headers.delete('connection');
      const head = Buffer.from(this.#parts.heads.of(status, headers, body.length, isEnd));
      const whole = isHead ? head : Buffer.concat([head, body]);
      this.isAnswering = false;
      this.#parts.responded(status);
      this.isClosing = isEnd;
      this.#send(whole, whole.length);
      if (!this.#outlet.isBlocked) this.#sent();
    } catch {
      this.#socket.terminate();
    }
  }

  #send(bytes: string | Uint8Array, length: number): void {
    // What waited in the outlet now would never be given back.
    if (this.isGone) return;
    this.#outlet.write(bytes, length);
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** All that was written is out. */
  #sent(): void {
    if (this.isClosing) this.close();
    else this.#onAnswered();
  }

  /**
   * Closes behind the last answer. Where the client may still be sending, a close would reset the connection and could
   * destroy the answer before it is read (RFC 9112, 9.6): then only this side ends, until the client does too.
   */
  close(): void {
    if (!this.#isCut || this.hasEnded) return this.#socket.end();
    this.isLingering = true;
    this.#socket.shutdown();
  }
}
