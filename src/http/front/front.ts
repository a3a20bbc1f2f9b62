import { AppError } from '../../core/errors.ts';
import { type ConnectionLimit, type Welcome, type Memory, NO_MEMORY, OWN_BYTES } from './frontLimits.ts';
import { MAX_SMALL_BODY_BYTES, MAX_TINY_BODY_BYTES } from '../../core/bounds.ts';
import type { Turns, Waiting } from '../../engine/fairTurns.ts';
import { ByteBuffer } from './byteBuffer.ts';
import type { ClientSocket } from './clientSocket.ts';
import { IncomingBody, type LargeBodies, type LargeBody, NO_BODY } from './requestBody.ts';
import { type HeadContext, NextHead, type WrittenHead } from './requestHead.ts';
import { CONNECTION_TIMEOUT_SECONDS, Responder, type ResponderContext } from './responder.ts';
import type { Asking, HeaderLookup, Peer } from '../service.ts';

const TOO_MANY = new AppError('UNAVAILABLE', 'This node has reached its limit of connections. Try again later.');

const TOO_MANY_OF_ADDRESS = new AppError(
  'UNAVAILABLE',
  'Your address has reached its limit of connections (KEYSTILE_MAX_CONNECTIONS_PER_ADDRESS). Use fewer at a time.',
);

function refuseConnection(connection: Connection, welcome: 'refuse' | 'refuseAddress'): void {
  connection.refuse(welcome === 'refuse' ? TOO_MANY : TOO_MANY_OF_ADDRESS);
}

/** Where a front listens, and how. */
interface FrontAddress {
  readonly hostname: string;
  readonly port: number;
  /** Null: plain HTTP. */
  readonly certificates: Certificates | null;
  /** The oldest version of TLS that a client may speak. */
  readonly minTlsVersion: keyof typeof TLS_VERSIONS;
}

/** As the protocol numbers them. */
const TLS_VERSIONS = { '1.2': 0x0303, '1.3': 0x0304 } as const;

/** Takes the connections of clients. */
export class Front {
  /** Each with the name under which the connections of its address are counted. */
  readonly #connections = new Map<Connection, string | null>();
  readonly #context: FrontContext;
  readonly #listener: Bun.TCPSocketListener<Connection>;

  constructor(
    { hostname, port, certificates, minTlsVersion }: FrontAddress,
    limit: ConnectionLimit,
    context: FrontContext,
  ) {
    const connections = this.#connections;
    this.#context = context;
    const take = (socket: Bun.Socket<Connection>): Welcome => {
      // Send an answer at once, even while the client has not confirmed the one before (no Nagle).
      socket.setNoDelay(true);
      // `remoteAddress` is undefined once the socket has closed.
      const address = socket.remoteAddress as string | undefined;
      const name = address === undefined ? null : limit.nameOf(address);
      const welcome = limit.enter(descriptorOf(socket), name);
      socket.data = new Connection(context, socket, limit.memoryOf(name, context.memory));
      connections.set(socket.data, name);
      return welcome;
    };
    const plain: Handlers = {
      open(socket) {
        const welcome = take(socket);
        if (welcome === 'drop') socket.terminate();
        else if (welcome !== 'serve') refuseConnection(socket.data, welcome);
      },
      data: (socket, bytes) => socket.data.receive(bytes),
      end: (socket) => socket.data.ended(),
      drain: (socket) => socket.data.drain(),
      timeout: (socket) => socket.data.timedOut(),
      close(socket) {
        limit.leave(connections.get(socket.data) ?? null);
        connections.delete(socket.data);
        socket.data.closed();
      },
      // The runtime calls `close` after it.
      error: (socket) => socket.terminate(),
    };
    // A client may end its side of the connection and still wait for the answer.
    const options = { hostname, port, allowHalfOpen: true };
    this.#listener =
      certificates === null
        ? Bun.listen<Connection>({ ...options, socket: plain })
        : Bun.listen<Connection>({
            ...options,
            tls: tlsOf(certificates, minTlsVersion),
            socket: secureHandlers({ plain, certificates, take, refuse: refuseConnection }),
          });
  }

  get port(): number {
    return this.#listener.port;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Requests that are being answered, or whose body is still arriving. */
  get inFlight(): number {
    let count = 0;
    for (const connection of this.#connections.keys()) if (connection.isInFlight) count++;
    return count;
  }

  /** Of the listener. */
  get descriptor(): number {
    return descriptorOf(this.#listener);
  }

  /** Takes no new connections. From now on every answer is the last one of its connection. */
  stopListening(): void {
    this.#context.lifetime.isStopping = true;
    this.#listener.stop();
  }

  /** What was answered still arrives. */
  closeAll(): void {
    for (const connection of this.#connections.keys()) connection.close();
  }
}

/** The runtime has `minVersion` without a type for it. */
function tlsOf({ inUse: { cert, key } }: Certificates, minTlsVersion: keyof typeof TLS_VERSIONS): Bun.TLSOptions {
  const options: Bun.TLSOptions & { readonly minVersion: number } = {
    cert,
    key,
    minVersion: TLS_VERSIONS[minTlsVersion],
  };
  return options;
}

/** The runtime has `fd` without a type for it. Where it is missing, the descriptor refuses no connection. */
function descriptorOf(socket: object): number {
  return (socket as { readonly fd?: number }).fd ?? -1;
}

/** A long body gets another CONNECTION_TIMEOUT_SECONDS for each part of this size that arrives. */
const BYTES_IN_TIME = 64 * 1024;
/** How much a client may still send after it was told that nothing more is read. */
const MAX_DISCARDED_BYTES = 4 * 1024 * 1024;

const NO_HEADERS: HeaderLookup = { get: () => null };

/** What all connections of one front share. */
export interface FrontContext extends ResponderContext, HeadContext {
  /** The longest body that the route of this target takes. */
  maxBodyBytes(target: string): number;
  readonly turns: Turns;
  readonly largeBodies: LargeBodies;
  /** Under which name the sender of a request waits for its turn. */
  clientOf(asking: Asking): string;
}

/** How a request comes to be answered: it is the only one of its connection, it has its turn, or it follows others. */
type Standing = 'alone' | 'turn' | 'behind';

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
  readonly #peer: Peer;
  readonly #responder: Responder;
  readonly #received: ReceivedBytes;
  readonly #nextHead: NextHead;
  /** A request whose head was read and whose body is still arriving. */
  #asked: WrittenHead | null = null;
  /** The body of a request that is not fast. */
  #body: IncomingBody | null = null;
  /** The same body, if it is large. */
  #large: LargeBody | null = null;
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
    const peer = (this.#peer = () => address);
    this.#responder = new Responder(context, { socket, memory, peer }, () => this.#read('behind'));
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
    this.#large?.received(bytes.length);
    this.#received.add(bytes, this.#body?.expectedBytes);
    if (this.#isBusy) this.#wait();
    else this.#read('alone');
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
    else if (this.#isKeptWaiting) this.#socket.timeout(CONNECTION_TIMEOUT_SECONDS);
    else this.close();
  }

  /** It had no turn to send more of its body. */
  get #isKeptWaiting(): boolean {
    return this.#large?.state === 'waiting' && !this.#large.hadItsChance;
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
  goOn(): boolean {
    this.#isQueued = false;
    this.#read('turn');
    return !this.#responder.isAnswering;
  }

  /** Answers the requests that have arrived, one after the other. `standing`: of the first of them. */
  #read(standing: Standing): void {
    let next = standing;
    while ((this.#received.length > 0 || this.#asked !== null) && !this.#isBusy && !this.#responder.isClosing) {
      if (!this.#readOne(next)) break;
      next = 'behind';
    }
    this.#wait();
  }

  /** False: more bytes are needed, or a turn. */
  #readOne(standing: Standing): boolean {
    try {
      const asked = this.#asked ?? this.#takeHead();
      if (asked === null || !this.#hasArrived(asked)) return false;
      if (!this.#mayAnswer(asked, standing)) {
        this.#isQueued = true;
        this.#context.turns.waitForTurn(this.#context.clientOf(asked.asking), this);
        return false;
      }
      if (asked.isFast) this.#answerFast(asked);
      else this.#answerAny(asked);
    } catch (failure) {
      this.#responder.refuse(failure);
    }
    return true;
  }

  #mayAnswer({ isFast, head }: WrittenHead, standing: Standing): boolean {
    if (standing === 'turn') return true;
    const isTiny = isFast && head.bodyBytes <= MAX_TINY_BODY_BYTES;
    return (isTiny && standing === 'alone') || this.#context.turns.mayGoOn();
  }

  #hasArrived(asked: WrittenHead): boolean {
    const { isFast, head } = asked;
    if (isFast) return this.#received.length >= head.bodyBytes;
    if (this.#body === null) return true;
    const hasArrived = this.#body.hasArrived(this.#received);
    this.#findLarge(this.#body, asked);
    if (hasArrived) this.#large?.hold();
    return hasArrived;
  }

  #takeHead(): WrittenHead | null {
    const asked = this.#nextHead.take(this.#received);
    this.#asked = asked;
    if (asked === null) return null;
    const { head } = asked;
    if (!asked.isFast && (head.bodyBytes > 0 || head.isChunked)) this.#expectBody(asked);
    if (head.expectsContinue && this.#body?.isCut !== true) this.#responder.sayContinue();
    // The answer follows `100 Continue`, so it waits until that is written.
    return this.#responder.isBlocked ? null : asked;
  }

  #expectBody({ head, asking }: WrittenHead): void {
    const body = new IncomingBody(head, this.#context.maxBodyBytes(head.target), this.#memory);
    this.#body = body;
    if (body.isCut || head.isChunked || head.bodyBytes <= MAX_SMALL_BODY_BYTES) return;
    this.#large = this.#arriveInTurns(asking);
    this.#large.received(this.#received.length);
  }

  /** A chunked body is a large one as soon as it has brought more than a small one has. */
  #findLarge(body: IncomingBody, { head, asking }: WrittenHead): void {
    const received = head.isChunked ? body.received(this.#received) : 0;
    if (this.#large !== null || body.isCut || received <= MAX_SMALL_BODY_BYTES) return;
    this.#large = this.#arriveInTurns(asking);
    this.#large.received(received);
  }

  #arriveInTurns(asking: Asking): LargeBody {
    return this.#context.largeBodies.begin(this.#context.clientOf(asking), {
      pause: () => this.#received.stop(),
      resume: () => this.#received.takeMore(),
    });
  }

  #answerFast(asked: WrittenHead): void {
    const { bytes, start } = this.#received;
    const { bodyBytes } = asked.head;
    this.#received.consume(bodyBytes);
    this.#begin();
    this.#responder.answerFast(asked, bytes, start, start + bodyBytes);
  }

  #answerAny({ head }: WrittenHead): void {
    const incoming = this.#body;
    const large = this.#large;
    const bytes = incoming?.take(this.#received) ?? NO_BODY;
    const isCut = incoming?.isCut === true;
    // The responder takes memory for a large body as long as it is worked on.
    incoming?.clear();
    this.#begin();
    try {
      this.#responder.answer(head, { bytes, isCut, large });
    } catch (failure) {
      large?.end();
      throw failure;
    }
  }

  /** A whole request has arrived. */
  #begin(): void {
    this.#asked = null;
    this.#body = null;
    this.#large = null;
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
    if (this.#large?.isPaused !== true) received.takeMore();
    if (responder.isClosing) return;
    if (responder.hasEnded) return this.close();
    if (received.length > 0 || this.#asked !== null) this.#limitTime();
  }

  #drop(): void {
    this.#received.clear();
    this.#body?.clear();
    this.#body = null;
    this.#large?.end();
    this.#large = null;
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

  /** Bytes that are thrown away take time, too: they arrive in turns, like a body that is read. */
  #discard(bytes: number): void {
    this.#discarded += bytes;
    if (this.#discarded > MAX_DISCARDED_BYTES) return this.#socket.terminate();
    if (this.#discarded > BYTES_IN_TIME) this.#large ??= this.#arriveInTurns({ headers: NO_HEADERS, peer: this.#peer });
    this.#large?.received(bytes);
  }
}

interface Pausable {
  pause(): void;
  resume(): void;
}

/** The bytes that a connection has received and not read yet. While they are many, the socket is paused. */
export class ReceivedBytes extends ByteBuffer {
  readonly #socket: Pausable;
  #isPaused = false;

  constructor(socket: Pausable, memory: Memory) {
    super(memory);
    this.#socket = socket;
  }

  /** These bytes wait for an answer to end. More are received only while these are few. */
  holdBack(): void {
    if (this.length <= OWN_BYTES) return this.takeMore();
    this.stop();
  }

  /** Nothing is received until `takeMore`. */
  stop(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  takeMore(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}

/**
 * Of TLS 1.2, those with forward secrecy: whoever gets the private key later cannot read what was recorded before. Those of TLS 1.3 all have
 * it, and are not chosen here. A connection offers what its certificate
 * was loaded with.
 */
export const CIPHERS = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']
  .flatMap((each) => [`ECDHE-ECDSA-${each}`, `ECDHE-RSA-${each}`])
  .join(':');

/** The certificate of the service, with its private key. */
export interface ServerCertificate {
  /** In PEM form, with the certificates of its authorities behind it. */
  readonly cert: string;
  readonly key: string;
  /** The same as the runtime keeps it. */
  readonly context: object;
  /** When it expires. */
  readonly expiresAtMs: number;
}

/** Where a front finds the certificate for the next connection. */
export interface Certificates {
  readonly inUse: ServerCertificate;
}

type TlsSocket = Bun.Socket<Connection>;
export type Handlers = Required<
  Pick<Bun.SocketHandler<Connection>, 'open' | 'data' | 'end' | 'drain' | 'timeout' | 'close' | 'error'>
>;

interface SecureContext {
  /** The handlers of a connection after its handshake. */
  readonly plain: Handlers;
  readonly certificates: Certificates;
  /** Makes the connection of a socket, and says whether it is served. */
  readonly take: (socket: TlsSocket) => Welcome;
  readonly refuse: (connection: Connection, welcome: 'refuse' | 'refuseAddress') => void;
}

/**
 * The handlers of connections over TLS: a handshake, then the plain ones. A client has CONNECTION_TIMEOUT_SECONDS for the whole handshake,
 * as for the head of a request. A connection that is refused is told so after the handshake: before it, the client can read nothing.
 */
export function secureHandlers({ plain, certificates, take, refuse }: SecureContext): Bun.SocketHandler<Connection> {
  const shaking = new Map<Connection, Exclude<Welcome, 'drop'>>();
  return {
    ...plain,
    open(socket) {
      const welcome = take(socket);
      if (welcome === 'drop') return socket.terminate();
      useCertificate(socket, certificates.inUse);
      shaking.set(socket.data, welcome);
    },
    handshake(socket, isDone) {
      const welcome = shaking.get(socket.data);
      shaking.delete(socket.data);
      if (!isDone || welcome === undefined) return socket.terminate();
      socket.timeout(CONNECTION_TIMEOUT_SECONDS);
      if (welcome !== 'serve') refuse(socket.data, welcome);
    },
    timeout(socket) {
      if (shaking.has(socket.data)) socket.terminate();
      else void plain.timeout(socket);
    },
    close(socket, error) {
      shaking.delete(socket.data);
      void plain.close(socket, error);
    },
  };
}

/** The runtime has `setKeyCert`, as Node's TLSSocket does, without a type for it. */
function useCertificate(socket: TlsSocket, { context }: ServerCertificate): void {
  (socket as unknown as { setKeyCert(context: object): void }).setKeyCert(context);
}
