import { AppError } from '../../core/errors.ts';
import type { ClientSocket } from './clientSocket.ts';
import { Responder, type ResponderContext, CONNECTION_TIMEOUT_SECONDS } from './responder.ts';
import { type HeadContext, NextHead, type WrittenHead } from './nextHead.ts';
import { ReceivedBytes } from './receivedBytes.ts';
import { IncomingBody, NO_BODY } from './incomingBody.ts';
import type { FairTurns, Waiting } from './fairTurns.ts';
import type { Memory } from './memoryBudget.ts';

/** A long body gets another CONNECTION_TIMEOUT_SECONDS for each part of this size that arrives. */
const BYTES_IN_TIME = 64 * 1024;
/** How much a client may still send after it was told that nothing more is read. */
const MAX_DISCARDED_BYTES = 4 * 1024 * 1024;

/** What all connections of one front share. */
export interface FrontContext extends ResponderContext, HeadContext {
  /** The longest body that the route of this target takes. */
  maxBodyBytes(target: string): number;
  readonly turns: FairTurns;
}

export interface Socket extends ClientSocket {
  readonly remoteAddress: string;
  pause(): void;
  resume(): void;
}

/**
 * One connection of a client. Requests are read one after the other and answered in their order. Received bytes wait until they are read:
 * the beginning of a request, or requests that follow one that is not answered yet.
 */
export class Connection implements Waiting {
  readonly #context: FrontContext;
  readonly #socket: Socket;
  readonly #memory: Memory;
  readonly #responder: Responder;
  readonly #received: ReceivedBytes;
  readonly #nextHead: NextHead;
  /** A request whose head was read and whose body is still arriving. */
  #asked: WrittenHead | null = null;
  /** The body of a request that is not a plain verification. */
  #body: IncomingBody | null = null;
  /** More requests have arrived, and other connections have their turn first. */
  #isQueued = false;
  /** There was no memory for what the client sent while it waited for an answer. */
  #isOverfull = false;
  /** A request has begun to arrive, and its time limit runs. */
  #isTimed = false;
  /** The time limit starts anew when this many bytes of a body have arrived. */
  #moreTimeAt = 0;
  #discarded = 0;

  /** `memory`: for what this connection holds; the budget of all, or the share of its address. */
  constructor(context: FrontContext, socket: Socket, memory: Memory = context.memory) {
    this.#context = context;
    this.#memory = memory;
    this.#socket = socket;
    // `remoteAddress` is undefined once the socket has closed.
    const address = (socket.remoteAddress as string | undefined) ?? null;
    const peer = () => address;
    this.#responder = new Responder(context, { socket, memory, peer }, () => this.#read(false));
    this.#received = new ReceivedBytes(socket, memory);
    this.#nextHead = new NextHead(context, peer);
    socket.timeout(CONNECTION_TIMEOUT_SECONDS);
  }

  /** A request is being answered, or its body is still arriving. */
  get isInFlight(): boolean {
    return this.#isBusy || this.#asked !== null;
  }

  get #isBusy(): boolean {
    return this.#isQueued || this.#responder.isBusy;
  }

  receive(bytes: Buffer): void {
    if (this.#responder.isClosing) return this.#discard(bytes.length);
    this.#received.add(bytes, this.#body?.expectedBytes);
    if (this.#isBusy) this.#wait();
    else this.#read(true);
  }

  /** The client has ended its side. What it has sent is still answered. */
  ended(): void {
    this.#responder.hasEnded = true;
    if (this.#responder.isLingering) this.close();
    else if (!this.#isBusy) this.#wait();
  }

  /** Answers every request with this failure, and closes. */
  refuse(failure: AppError): void {
    this.#responder.refuse(failure);
  }

  drain(): void {
    this.#responder.drain();
  }

  /** Nothing was sent or received for a while. A request that is being answered is waited for: it has limits of its own. */
  timedOut(): void {
    if (this.#isQueued || this.#responder.isAnswering) this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    else if (this.#responder.isBlocked || this.#responder.isLingering) this.#socket.terminate();
    else this.close();
  }

  /** The socket is closed. Requests that are not being answered yet are dropped. */
  closed(): void {
    this.#responder.closed();
    this.#drop();
  }

  /** Closes the connection. What was written still arrives. */
  close(): void {
    this.#socket.end();
  }

  /** It is the turn of this connection again. */
  goOn(): void {
    this.#isQueued = false;
    this.#read(true);
  }

  /** Answers the requests that have arrived, one after the other. `isFree`: the first of them needs no turn. */
  #read(isFree: boolean): void {
    let mayAnswer = isFree;
    while (this.#received.length > 0 && !this.#isBusy && !this.#responder.isClosing) {
      if (!mayAnswer && !this.#context.turns.mayGoOn()) {
        this.#isQueued = true;
        this.#context.turns.waitForTurn(this);
        break;
      }
      mayAnswer = false;
      if (!this.#readOne()) break;
    }
    this.#wait();
  }

  /** False: more bytes are needed. */
  #readOne(): boolean {
    try {
      const asked = this.#asked ?? this.#takeHead();
      if (asked === null) return false;
      return asked.isVerification ? this.#verify(asked) : this.#answerAny(asked);
    } catch (failure) {
      this.#responder.refuse(failure);
      return true;
    }
  }

  #takeHead(): WrittenHead | null {
    const asked = this.#nextHead.take(this.#received);
    this.#asked = asked;
    if (asked === null) return null;
    const { head } = asked;
    if (!asked.isVerification && (head.bodyBytes > 0 || head.isChunked)) {
      this.#body = new IncomingBody(head, this.#context.maxBodyBytes(head.target), this.#memory);
    }
    if (head.expectsContinue && this.#body?.isCut !== true) this.#responder.sayContinue();
    // The answer follows `100 Continue`, so it waits until that is written.
    return this.#responder.isBlocked ? null : asked;
  }

  #verify(asked: WrittenHead): boolean {
    const { bytes, start, length } = this.#received;
    const { bodyBytes } = asked.head;
    if (length < bodyBytes) return false;
    this.#received.consume(bodyBytes);
    this.#begin();
    this.#responder.verify(asked, bytes, start, start + bodyBytes);
    return true;
  }

  #answerAny({ head }: WrittenHead): boolean {
    const incoming = this.#body;
    const body = incoming === null ? NO_BODY : incoming.take(this.#received);
    if (body === null) return false;
    this.#begin();
    try {
      this.#responder.answer(head, body, incoming?.isCut === true);
    } finally {
      incoming?.clear();
    }
    return true;
  }

  /** A whole request has arrived. */
  #begin(): void {
    this.#asked = null;
    this.#body = null;
    this.#isTimed = false;
  }

  /** Nothing more can be read now. */
  #wait(): void {
    const received = this.#received;
    const responder = this.#responder;
    if (!responder.isClosing && !(received.keep() && this.#body?.keep() !== false)) this.#isOverfull = true;
    if (this.#isOverfull && !this.#isBusy && !responder.isClosing) this.refuse(NO_MEMORY);
    if (this.#isOverfull || responder.isClosing) this.#drop();
    if (this.#isBusy) return received.holdBack();
    received.takeMore();
    if (responder.isClosing) return;
    if (responder.hasEnded) return this.close();
    if (received.length > 0 || this.#asked !== null) this.#limitTime();
  }

  #drop(): void {
    this.#received.clear();
    this.#body?.clear();
    this.#body = null;
    this.#asked = null;
  }

  /** A request must arrive within CONNECTION_TIMEOUT_SECONDS; a long body has that time for each BYTES_IN_TIME. */
  #limitTime(): void {
    const received = this.#body?.received(this.#received) ?? 0;
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

const NO_MEMORY = new AppError('UNAVAILABLE', 'This node has no memory left for another request. Try again later.');
