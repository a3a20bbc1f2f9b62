import { connect, createServer, type Server, type Socket } from 'node:net';

/** Which free session of the server the next transaction gets. */
export type Lends = 'the latest' | 'the longest free';

export interface PoolerOptions {
  /** The port of the server, which asks for no password. */
  readonly target: number;
  /** A transaction is lent any session; otherwise a connection keeps its own. */
  readonly isByTransaction?: boolean;
  readonly lends?: Lends;
  /** By transaction, every so many transactions the session forgets all that was set in it, as it does when another client had it. */
  readonly resetsEvery?: number;
  /** Sessions beside those that connections bring along: other clients have left them behind. */
  readonly spare?: number;
}

/** Types of messages: of a client, then of a server. */
const [QUERY, PARSE, BIND, CLOSE, SYNC, TERMINATE] = ['Q', 'P', 'B', 'C', 'S', 'X'];
const [PARSED, CLOSED, READY] = ['1', '3', 'Z'];
/** What a server says when no transaction is open. */
const IDLE = 'I';

/** A connection of a client, and the session that it has now. */
interface Caller {
  readonly socket: Socket;
  readonly messages: Messages;
  session: Session | null;
  /** Sent while it had no session. */
  held: Buffer[];
  hasBegun: boolean;
}

interface Asked {
  /** A statement is prepared that the client believes to be there. */
  preparesAgain: boolean;
}

/** A session of the server. */
interface Session {
  readonly socket: Socket;
  caller: Caller | null;
  /** What it has not answered yet, each to its QUERY or SYNC. */
  readonly owed: Asked[];
  /** What is sent to it before the next one. */
  next: Asked;
  /** Names of statements that are prepared in it. */
  readonly prepared: Set<string>;
}

/**
 * A pooler as they stand in front of PostgreSQL, with no more of the protocol than that takes: where one message ends, and when a transaction is
 * over. By transaction, each one runs in the next free session, whoever has made that. Newer poolers prepare a statement in it that was prepared
 * in another one; so does this one. All clients give a name to the same statement.
 */
export class Pooler implements Disposable {
  isByTransaction: boolean;
  readonly #options: PoolerOptions;
  readonly #server: Server;
  readonly #callers = new Set<Caller>();
  readonly #sessions = new Set<Session>();
  readonly #free: Session[] = [];
  readonly #waiting: Caller[] = [];
  #transactions = 0;
  #start: Buffer = Buffer.alloc(0);
  /** The messages that prepare statements, by their names. */
  readonly #statements = new Map<string, Buffer>();

  private constructor(options: PoolerOptions) {
    this.#options = options;
    this.isByTransaction = options.isByTransaction ?? false;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  static async start(options: PoolerOptions): Promise<Pooler> {
    const pooler = new Pooler(options);
    const { promise, resolve } = Promise.withResolvers<void>();
    pooler.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return pooler;
  }

  /** The address of a database of the server, by way of this pooler. */
  through(url: string): string {
    const { port } = this.#server.address() as { port: number };
    return url.replace(`:${this.#options.target}/`, `:${port}/`);
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const { socket } of [...this.#callers, ...this.#sessions]) socket.destroy();
  }

  #accept(socket: Socket): void {
    const caller: Caller = { socket, messages: new Messages(true), session: null, held: [], hasBegun: false };
    this.#callers.add(caller);
    socket.on('error', () => {});
    socket.on('close', () => this.#left(caller));
    socket.on('data', (bytes: Buffer) => {
      for (const message of caller.messages.take(bytes)) this.#fromCaller(caller, message);
    });
  }

  #fromCaller(caller: Caller, message: Buffer): void {
    if (!caller.hasBegun) {
      caller.hasBegun = true;
      const spare = this.#sessions.size === 0 ? (this.#options.spare ?? 0) : 0;
      this.#start = message;
      for (let i = 0; i < spare; i++) this.#open(null);
      this.#open(caller);
    } else if (typeOf(message) === TERMINATE) caller.socket.end();
    else if (caller.session !== null) this.#send(caller.session, message);
    else {
      if (caller.held.length === 0) this.#waiting.push(caller);
      caller.held.push(message);
      this.#lend();
    }
  }

  /** A session that begins like the connection of the last caller. `caller` gets it at first, and with it the answer to that. */
  #open(caller: Caller | null): void {
    const socket = connect({ port: this.#options.target, host: '127.0.0.1', noDelay: true });
    const session: Session = { socket, caller, owed: [nothing()], next: nothing(), prepared: new Set() };
    const messages = new Messages(false);
    this.#sessions.add(session);
    if (caller !== null) caller.session = session;
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#sessions.delete(session);
      remove(this.#free, session);
      session.caller?.socket.destroy();
    });
    socket.on('data', (bytes: Buffer) => {
      for (const message of messages.take(bytes)) this.#fromServer(session, message);
    });
    socket.write(this.#start);
  }

  #fromServer(session: Session, said: Buffer): void {
    const type = typeOf(said);
    const owed = session.owed[0] ?? session.next;
    // The client has asked for neither.
    if (type === CLOSED) return;
    if (type === PARSED && owed.preparesAgain) {
      owed.preparesAgain = false;
      return;
    }
    session.caller?.socket.write(said);
    if (type !== READY) return;
    session.owed.shift();
    const isOver = session.owed.length === 0 && String.fromCharCode(said[5] ?? 0) === IDLE;
    if (!isOver || (session.caller !== null && !this.isByTransaction)) return;
    if (session.caller !== null) session.caller.session = null;
    const wasLent = session.caller !== null;
    session.caller = null;
    if (wasLent && this.#isForgetting()) this.#forget(session);
    else this.#free.push(session);
    this.#lend();
  }

  #isForgetting(): boolean {
    const { resetsEvery } = this.#options;
    return resetsEvery !== undefined && ++this.#transactions % resetsEvery === 0;
  }

  /** It is free when that is answered. */
  #forget(session: Session): void {
    session.prepared.clear();
    this.#send(session, messageOf(QUERY, 'DISCARD ALL'));
  }

  /** Whoever waits gets a free session. */
  #lend(): void {
    while (this.#waiting.length > 0 && this.#free.length > 0) {
      const caller = this.#waiting.shift();
      const session = this.#options.lends === 'the longest free' ? this.#free.shift() : this.#free.pop();
      if (caller === undefined || session === undefined) return;
      caller.session = session;
      session.caller = caller;
      for (const message of caller.held.splice(0)) this.#send(session, message);
    }
    if (this.#waiting.length > 0 && this.#sessions.size < this.#callers.size) this.#open(null);
  }

  #send(session: Session, message: Buffer): void {
    const type = typeOf(message);
    const name = type === PARSE ? nameIn(message, 5) : type === BIND ? nameIn(message, message.indexOf(0, 5) + 1) : '';
    if (name !== '') this.#prepare(session, type, name, message);
    session.socket.write(message);
    if (![QUERY, SYNC].includes(type)) return;
    session.owed.push(session.next);
    session.next = nothing();
  }

  #prepare(session: Session, type: string, name: string, message: Buffer): void {
    if (type === PARSE) {
      this.#statements.set(name, message);
      if (session.prepared.has(name)) session.socket.write(messageOf(CLOSE, `S${name}`));
    } else if (!session.prepared.has(name)) {
      session.socket.write(this.#statements.get(name) ?? Buffer.alloc(0));
      session.next.preparesAgain = true;
    }
    session.prepared.add(name);
  }

  /** As a pooler does it: a session whose transaction is not over is closed, so that it is undone; one of too many free ones, too. */
  #left(caller: Caller): void {
    this.#callers.delete(caller);
    remove(this.#waiting, caller);
    const { session } = caller;
    if (session !== null) {
      session.caller = null;
      session.socket.destroy();
    } else if (this.#free.length > this.#callers.size) this.#free.shift()?.socket.destroy();
  }
}

function nothing(): Asked {
  return { preparesAgain: false };
}

function messageOf(type: string, text: string): Buffer {
  const body = Buffer.from(`${text}\0`);
  const head = Buffer.alloc(5, type);
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

function nameIn(message: Buffer, from: number): string {
  return message.toString('utf8', from, message.indexOf(0, from));
}

function typeOf(message: Buffer): string {
  return String.fromCharCode(message[0] ?? 0);
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}

/** Cuts a stream into messages: a type, and a length that counts itself. The first of a client has no type. */
class Messages {
  #bytes: Buffer = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(isOfClient: boolean) {
    this.#isFirst = isOfClient;
  }

  *take(bytes: Buffer): Generator<Buffer> {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (;;) {
      const lengthAt = this.#isFirst ? 0 : 1;
      if (this.#bytes.length < lengthAt + 4) return;
      const end = lengthAt + this.#bytes.readUInt32BE(lengthAt);
      if (this.#bytes.length < end) return;
      yield this.#bytes.subarray(0, end);
      this.#bytes = this.#bytes.subarray(end);
      this.#isFirst = false;
    }
  }
}
