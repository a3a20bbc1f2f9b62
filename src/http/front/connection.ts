import { AppError } from '../../core/errors.ts';
import { Answerer, type AnswerParts, type ClientSocket, CONNECTION_TIMEOUT_SECONDS } from './responder.ts';
import { HeadReader, type WrittenHead } from './nextHead.ts';
import { Inbox } from './receivedBytes.ts';
import { IncomingBody, NO_BODY } from './incomingBody.ts';
import type { Turns, Waiting } from './fairTurns.ts';

/** A body that goes on to arrive has the time of a connection for each of these. */
const BYTES_IN_TIME = 64 * 1024;
/** Of a client that was told that nothing more is read. */
const MAX_DISCARDED_BYTES = 4 * 1024 * 1024;

/** What connections work with, all of them with the same. */
export interface FrontParts extends AnswerParts {
  /** The longest body that is taken there. */
  maxBodyBytes(target: string): number;
  /** Pages of other origins may ask: their answers have more headers. */
  readonly hasCors: boolean;
  readonly turns: Turns;
}

export interface Socket extends ClientSocket {
  readonly remoteAddress: string;
  pause(): void;
  resume(): void;
}

/**
 * One connection of a client. Requests are read one after the other and answered in their order. The inbox holds what is
 * not read yet: the beginning of a request, or requests that came before the one in front of them was answered.
 */
export class Connection implements Waiting {
  readonly #parts: FrontParts;
  readonly #socket: Socket;
  readonly #answerer: Answerer;
  readonly #inbox: Inbox;
  readonly #heads: HeadReader;
  /** Its head was read, and its body is on the way. */
  #asked: WrittenHead | null = null;
  /** Of a request that is no plain verification. */
  #body: IncomingBody | null = null;
  /** More requests are there, and others have their turn first. */
  #isQueued = false;
  /** There was no memory for what it sent while it waited for an answer. */
  #isOverfull = false;
  /** A request has begun to arrive, and its time runs. */
  #isTimed = false;
  /** When so much of a body is there it has more time. */
  #moreTimeAt = 0;
  #discarded = 0;

  constructor(parts: FrontParts, socket: Socket) {
    this.#parts = parts;
    this.#socket = socket;
    // It is undefined once the socket has closed, which may be already.
    const address = (socket.remoteAddress as string | undefined) ?? null;
    const peer = () => address;
    this.#answerer = new Answerer(parts, socket, peer, () => this.#read(false));
    this.#inbox = new Inbox(socket, parts.store);
    this.#heads = new HeadReader(parts.hasCors, peer);
    socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** A request is being answered, or its body is on the way. */
  get isInFlight(): boolean {
    return this.#isBusy || this.#asked !== null;
  }

  get #isBusy(): boolean {
    return this.#isQueued || this.#answerer.isBusy;
  }

  receive(bytes: Buffer): void {
    if (this.#answerer.isClosing) return this.#discard(bytes.length);
    this.#inbox.add(bytes, this.#body?.expectedBytes);
    if (this.#isBusy) this.#wait();
    else this.#read(true);
  }

  /** The client sends nothing more. What it has sent is answered. */
  ended(): void {
    this.#answerer.hasEnded = true;
    if (this.#answerer.isLingering) this.close();
    else if (!this.#isBusy) this.#wait();
  }

  /** Answers this to whatever it may ask, and closes. */
  refuse(failure: AppError): void {
    this.#answerer.refuse(failure);
  }

  drain(): void {
    this.#answerer.drain();
  }

  /** Nothing has moved for a while. What is being answered is waited for: that has limits of its own. */
  timedOut(): void {
    if (this.#isQueued || this.#answerer.isAnswering) this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    else if (this.#answerer.isBlocked || this.#answerer.isLingering) this.#socket.terminate();
    else this.close();
  }

  /** What it has asked and is not being answered yet is dropped. */
  closed(): void {
    this.#answerer.closed();
    this.#drop();
  }

  /** What was written still arrives. */
  close(): void {
    this.#socket.end();
  }

  /** It is its turn again. */
  goOn(): void {
    this.#isQueued = false;
    this.#read(true);
  }

  /** Answers one request after the other, as far as they are there. `isFree`: the first of them needs no turn. */
  #read(isFree: boolean): void {
    let mayAnswer = isFree;
    while (this.#inbox.length > 0 && !this.#isBusy && !this.#answerer.isClosing) {
      if (!mayAnswer && !this.#parts.turns.mayGoOn()) {
        this.#isQueued = true;
        this.#parts.turns.later(this);
        break;
      }
      mayAnswer = false;
      if (!this.#readOne()) break;
    }
    this.#wait();
  }

  /** False: more has to come first. */
  #readOne(): boolean {
    try {
      const asked = this.#asked ?? this.#takeHead();
      if (asked === null) return false;
      return asked.isVerification ? this.#verify(asked) : this.#answerAny(asked);
    } catch (failure) {
      this.#answerer.refuse(failure);
      return true;
    }
  }

  #takeHead(): WrittenHead | null {
    const asked = this.#heads.take(this.#inbox);
    this.#asked = asked;
    if (asked === null) return null;
    const { head } = asked;
    if (!asked.isVerification && (head.bodyBytes > 0 || head.isChunked)) {
      this.#body = new IncomingBody(head, this.#parts.maxBodyBytes(head.target), this.#parts.store);
    }
    if (head.expectsContinue && this.#body?.isCut !== true) this.#answerer.sayContinue();
    // The answer follows `100 Continue`, so it waits until that is written.
    return this.#answerer.isBlocked ? null : asked;
  }

  #verify(asked: WrittenHead): boolean {
    const { bytes, start, length } = this.#inbox;
    const { bodyBytes } = asked.head;
    if (length < bodyBytes) return false;
    this.#inbox.consume(bodyBytes);
    this.#begin();
    this.#answerer.verify(asked, bytes, start, start + bodyBytes);
    return true;
  }

  #answerAny({ head }: WrittenHead): boolean {
    const incoming = this.#body;
    const body = incoming === null ? NO_BODY : incoming.take(this.#inbox);
    if (body === null) return false;
    this.#begin();
    try {
      this.#answerer.answer(head, body, incoming?.isCut === true);
    } finally {
      incoming?.clear();
    }
    return true;
  }

  /** A request is there as a whole. */
  #begin(): void {
    this.#asked = null;
    this.#body = null;
    this.#isTimed = false;
  }

  /** Nothing more can be read now. */
  #wait(): void {
    const inbox = this.#inbox;
    const answerer = this.#answerer;
    if (!answerer.isClosing && !(inbox.keep() && this.#body?.keep() !== false)) this.#isOverfull = true;
    if (this.#isOverfull && !this.#isBusy && !answerer.isClosing) this.refuse(NO_ROOM);
    if (this.#isOverfull || answerer.isClosing) this.#drop();
    if (this.#isBusy) return inbox.holdBack();
    inbox.takeMore();
    if (answerer.isClosing) return;
    if (answerer.hasEnded) return this.close();
    if (inbox.length > 0 || this.#asked !== null) this.#limitTime();
  }

  #drop(): void {
    this.#inbox.clear();
    this.#body?.clear();
    this.#body = null;
    this.#asked = null;
  }

  /** From its beginning a request has the time of a connection, a long body for each of its parts. */
  #limitTime(): void {
    const received = this.#body?.received(this.#inbox) ?? 0;
    if (this.#isTimed && received < this.#moreTimeAt) return;
    this.#isTimed = true;
    this.#moreTimeAt = received + BYTES_IN_TIME;
    this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  #discard(bytes: number): void {
    this.#discarded += bytes;
    if (this.#discarded > MAX_DISCARDED_BYTES) this.#socket.terminate();
  }
}

const NO_ROOM = new AppError('UNAVAILABLE', 'This node has no memory left for more requests at a time.');
