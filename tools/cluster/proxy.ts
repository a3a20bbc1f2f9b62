import type { Socket, TCPSocketListener } from 'bun';

import { Link, type LinkOptions } from './link.ts';
import { freePort } from './ports.ts';

export interface ProxyOptions {
  /** A port of 127.0.0.1, or an address. */
  readonly target: number | { readonly host: string; readonly port: number };
  /** The time added to a round trip. Opening a connection is not delayed: the proxy accepts it at once. */
  readonly delayMs?: number;
}

/** Bytes of the server that are replaced by others of the same length, when they are within one chunk. */
interface Replaced {
  readonly from: Buffer;
  readonly to: Buffer;
  count: number;
}

/** A planned reset of one connection. */
interface PlannedCut {
  readonly when: 'before the request' | 'before the answer';
  readonly matches: (bytes: Buffer) => boolean;
  readonly done: () => void;
}

/** A network between clients and a server that is slow, breaks or becomes silent on command. */
export class TcpProxy implements Disposable {
  readonly port = freePort();
  readonly #line: { delayMs: number; isHanging: boolean };
  readonly #linkOptions: LinkOptions;
  readonly #links = new Set<Link>();
  readonly #cutsBeforeAnswer = new Map<Link, PlannedCut>();
  readonly #forwarded = { toServer: 0, toClient: 0 };
  #listener: TCPSocketListener<Link> | null = null;
  #plannedCut: PlannedCut | null = null;
  #replaced: Replaced | null = null;

  private constructor({ target, delayMs = 0 }: ProxyOptions) {
    this.#line = { delayMs: delayMs / 2, isHanging: false };
    this.#linkOptions = {
      line: this.#line,
      target: typeof target === 'number' ? { host: '127.0.0.1', port: target } : target,
      admit: (link, bytes) => this.#admit(link, bytes),
      alterAnswer: (bytes) => this.#alter(bytes),
      admitAnswer: (link) => this.#cutIfPlanned(link, this.#cutsBeforeAnswer.get(link)),
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

  /** Applies to new bytes. They do not overtake bytes that are already delayed. */
  setDelay(ms: number): void {
    this.#line.delayMs = ms / 2;
  }

  /** Resets all connections and refuses new ones. */
  cut(): void {
    this.#listener?.stop();
    this.#listener = null;
    for (const link of this.#links) link.reset();
  }

  /** Keeps connections open and accepts new ones, but forwards nothing, not even a close. */
  hang(): void {
    this.#line.isHanging = true;
    this.#listen();
  }

  /** The network works again, and delayed bytes are forwarded. */
  heal(): void {
    this.#line.isHanging = false;
    this.#listen();
    for (const link of this.#links) link.run();
  }

  /** Resets the connection that sends the next matching chunk, before the server sees it. Settles after the reset. */
  cutNext(matches: PlannedCut['matches'] = () => true): Promise<void> {
    return this.#planCut('before the request', matches);
  }

  /**
   * Forwards the next matching chunk to the server and resets the connection when the server answers. The server has done
   * its work, and the client does not know. Settles after the reset.
   */
  cutBeforeAnswer(matches: PlannedCut['matches'] = () => true): Promise<void> {
    return this.#planCut('before the answer', matches);
  }

  /**
   * Replaces text in answers from now on. The returned function counts how often clients received `to`, from the server itself or replaced.
   */
  replaceInAnswers(from: string, to: string): () => number {
    const replaced: Replaced = { from: Buffer.from(from), to: Buffer.from(to), count: 0 };
    if (replaced.from.length !== replaced.to.length) throw new Error('The replacement must have the same length.');
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

  #planCut(when: PlannedCut['when'], matches: PlannedCut['matches']): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#plannedCut = { when, matches, done: resolve };
    return promise;
  }

  #admit(link: Link, bytes: Buffer): boolean {
    const cut = this.#plannedCut;
    if (cut === null || !cut.matches(bytes)) return true;
    this.#plannedCut = null;
    if (cut.when === 'before the request') return this.#cutIfPlanned(link, cut);
    this.#cutsBeforeAnswer.set(link, cut);
    return true;
  }

  /** Resets the link when a cut is planned. Returns whether the bytes may pass. */
  #cutIfPlanned(link: Link, cut: PlannedCut | undefined): boolean {
    if (cut === undefined) return true;
    link.reset();
    cut.done();
    return false;
  }

  #forget(link: Link): void {
    add(this.#forwarded, link);
    this.#links.delete(link);
    this.#cutsBeforeAnswer.delete(link);
  }
}

function add(sum: { toServer: number; toClient: number }, { toServer, toClient }: Link): void {
  sum.toServer += toServer.forwarded;
  sum.toClient += toClient.forwarded;
}
