import type { Socket, TCPSocketListener } from 'bun';

import { Link, type LinkOptions } from './link.ts';
import { freePort } from './ports.ts';

export interface ProxyOptions {
  /** A port of 127.0.0.1, or an address. */
  readonly target: number | { readonly host: string; readonly port: number };
  /** By how much a round trip grows. That of a new connection does not: it is taken here, at once. */
  readonly delayMs?: number;
}

/** Bytes of the server that reach clients as others of the same length, within a chunk. */
interface Replaced {
  readonly from: Buffer;
  readonly to: Buffer;
  count: number;
}

interface Trap {
  readonly springs: 'before the request' | 'before the answer';
  readonly isMeant: (bytes: Buffer) => boolean;
  readonly sprung: () => void;
}

/** A network between a client and a server that is slow, breaks or falls silent on command. */
export class TcpProxy implements Disposable {
  readonly port = freePort();
  readonly #line: { delayMs: number; isHanging: boolean };
  readonly #linkOptions: LinkOptions;
  readonly #links = new Set<Link>();
  readonly #doomed = new Map<Link, Trap>();
  readonly #forwarded = { toServer: 0, toClient: 0 };
  #listener: TCPSocketListener<Link> | null = null;
  #trap: Trap | null = null;
  #replaced: Replaced | null = null;

  private constructor({ target, delayMs = 0 }: ProxyOptions) {
    this.#line = { delayMs: delayMs / 2, isHanging: false };
    this.#linkOptions = {
      line: this.#line,
      target: typeof target === 'number' ? { host: '127.0.0.1', port: target } : target,
      admit: (link, bytes) => this.#admit(link, bytes),
      alterAnswer: (bytes) => this.#alter(bytes),
      admitAnswer: (link) => this.#spring(link, this.#doomed.get(link)),
      closed: (link) => this.#forget(link),
    };
    this.#listen();
  }

  static start(options: ProxyOptions): TcpProxy {
    return new TcpProxy(options);
  }

  get hostPort(): string {
    return `127.0.0.1:${this.port}`;
  }

  get bytesForwarded(): { readonly toServer: number; readonly toClient: number } {
    const sum = { ...this.#forwarded };
    for (const link of this.#links) add(sum, link);
    return sum;
  }

  /** For what comes from now on; it does not overtake what is under way. */
  setDelay(ms: number): void {
    this.#line.delayMs = ms / 2;
  }

  /** Connections are reset, and new ones refused. */
  cut(): void {
    this.#listener?.stop();
    this.#listener = null;
    for (const link of this.#links) link.reset();
  }

  /** Connections stay open and new ones are taken, but nothing passes, not even that one side has gone. */
  hang(): void {
    this.#line.isHanging = true;
    this.#listen();
  }

  /** The network works again. What waited in a silent line arrives now. */
  heal(): void {
    this.#line.isHanging = false;
    this.#listen();
    for (const link of this.#links) link.run();
  }

  /** The next chunk of a client (that is meant) resets its connection before the server sees it. Settles when it has. */
  cutNext(isMeant: Trap['isMeant'] = () => true): Promise<void> {
    return this.#setTrap('before the request', isMeant);
  }

  /**
   * The next chunk of a client (that is meant) reaches the server, and the server's next bytes reset the connection
   * instead of reaching the client: what was asked for is done, and the client cannot know. Settles when it is.
   */
  cutBeforeAnswer(isMeant: Trap['isMeant'] = () => true): Promise<void> {
    return this.#setTrap('before the answer', isMeant);
  }

  /** From now on; answers how often clients have seen what they shall see, also where the server says it by itself. */
  replaceInAnswers(from: string, to: string): () => number {
    const replaced: Replaced = { from: Buffer.from(from), to: Buffer.from(to), count: 0 };
    if (replaced.from.length !== replaced.to.length) throw new Error('messages must keep their lengths');
    this.#replaced = replaced;
    return () => replaced.count;
  }

  stop(): void {
    this.cut();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  #alter(bytes: Buffer): Buffer {
    const replaced = this.#replaced;
    if (replaced === null) return bytes;
    const { from, to } = replaced;
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) to.copy(bytes, at);
    for (let at = bytes.indexOf(to); at >= 0; at = bytes.indexOf(to, at + 1)) replaced.count++;
    return bytes;
  }

  #listen(): void {
    this.#listener ??= Bun.listen<Link>({
      hostname: '127.0.0.1',
      port: this.port,
      allowHalfOpen: true,
      socket: {
        open: (socket) => this.#accept(socket),
        data: ({ data: link }, bytes) => link.toServer.push(bytes),
        drain: ({ data: link }) => link.toClient.run(),
        end: ({ data: link }) => link.toServer.push('ended'),
        close: ({ data: link }) => link.clientClosed(),
      },
    });
  }

  #accept(socket: Socket<Link>): void {
    const link = new Link(socket, this.#linkOptions);
    socket.data = link;
    this.#links.add(link);
    link.run();
  }

  #setTrap(springs: Trap['springs'], isMeant: Trap['isMeant']): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#trap = { springs, isMeant, sprung: resolve };
    return promise;
  }

  #admit(link: Link, bytes: Buffer): boolean {
    const trap = this.#trap;
    if (trap === null || !trap.isMeant(bytes)) return true;
    this.#trap = null;
    if (trap.springs === 'before the request') return this.#spring(link, trap);
    this.#doomed.set(link, trap);
    return true;
  }

  /** Whether what asks may pass: it may when there is no trap. */
  #spring(link: Link, trap: Trap | undefined): boolean {
    if (trap === undefined) return true;
    link.reset();
    trap.sprung();
    return false;
  }

  #forget(link: Link): void {
    add(this.#forwarded, link);
    this.#links.delete(link);
    this.#doomed.delete(link);
  }
}

function add(sum: { toServer: number; toClient: number }, { toServer, toClient }: Link): void {
  sum.toServer += toServer.forwarded;
  sum.toClient += toClient.forwarded;
}
