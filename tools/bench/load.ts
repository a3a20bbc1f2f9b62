import type { Picker, RequestPool } from './requests.ts';

/** The number of latencies kept of one round. Later answers count, but are not part of the percentiles. */
const MAX_LATENCIES = 2_000_000;

export interface Load {
  /** Ports of the servers. The connections are spread over them evenly. */
  readonly ports: readonly number[];
  readonly pool: RequestPool;
  readonly pick: Picker;
  readonly connections: number;
  /** Infinity: until the picker returns -1. */
  readonly seconds: number;
  /** False: another load runs at the same time, and its latencies are recorded instead. */
  readonly isTimed?: boolean;
}

export interface Round {
  readonly answers: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly meanAnswerBytes: number;
}

interface Connection {
  sentAtMs: number;
  /** Missing bytes of the current answer. 0 while its head is incomplete. */
  missing: number;
  /** The beginning of an answer whose head is still incomplete. */
  beginning: Buffer | null;
  /** Size of the current answer, head and body. */
  length: number;
}

/** One array for all rounds: the garbage collection of an old one would disturb the next round. */
const latencies = new Float64Array(MAX_LATENCIES);

/**
 * A closed loop over raw sockets: each connection sends a request, waits for the whole answer and sends the next. An answer
 * other than a valid verdict ends the benchmark, because refusals are faster and would distort it.
 */
export async function runLoad(load: Load): Promise<Round> {
  // Garbage of the previous round is collected before the clock starts.
  Bun.gc(true);
  return new ClosedLoop(load).run();
}

class ClosedLoop {
  readonly #load: Load;
  readonly #ended = Promise.withResolvers<void>();
  readonly #sockets: Bun.Socket<Connection>[] = [];
  #open = 0;
  #startedAtMs = 0;
  #deadlineMs = Infinity;
  #lastAnswerAtMs = 0;
  #answers = 0;
  #bytes = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  async run(): Promise<Round> {
    try {
      await this.#connect();
      this.#startedAtMs = performance.now();
      this.#deadlineMs = this.#startedAtMs + this.#load.seconds * 1000;
      for (const socket of this.#sockets) this.#sendNext(socket, performance.now());
      await this.#ended.promise;
    } finally {
      for (const socket of this.#sockets) socket.terminate();
    }
    return this.#summary();
  }

  async #connect(): Promise<void> {
    const { ports, connections } = this.#load;
    const handlers: Bun.SocketHandler<Connection> = {
      data: (socket, chunk) => this.#receive(socket, chunk),
      close: () => this.#ended.reject(new Error('The server closed a connection.')),
      error: (_socket, error) => this.#ended.reject(error),
    };
    for (let i = 0; i < connections; i++) {
      const data: Connection = { sentAtMs: 0, missing: 0, beginning: null, length: 0 };
      const port = ports[i % ports.length] ?? 0;
      this.#sockets.push(await Bun.connect({ hostname: '127.0.0.1', port, data, socket: handlers }));
    }
    this.#open = connections;
  }

  #receive(socket: Bun.Socket<Connection>, chunk: Buffer): void {
    const connection = socket.data;
    if (connection.missing > 0) connection.missing -= chunk.length;
    else {
      const answer = connection.beginning === null ? chunk : Buffer.concat([connection.beginning, chunk]);
      const length = lengthOfAnswer(answer);
      if (length < 0) {
        connection.beginning = answer;
        return;
      }
      if (length === 0)
        return this.#ended.reject(new Error(`The answer is not a valid verdict: ${answer.toString('latin1')}`));
      connection.beginning = null;
      connection.missing = length - answer.length;
      connection.length = length;
    }
    if (connection.missing > 0) return;
    if (connection.missing < 0) return this.#ended.reject(new Error('An answer is longer than its Content-Length.'));
    this.#complete(socket);
  }

  #complete(socket: Bun.Socket<Connection>): void {
    const nowMs = performance.now();
    if (nowMs <= this.#deadlineMs) {
      if (this.#load.isTimed !== false && this.#answers < MAX_LATENCIES)
        latencies[this.#answers] = nowMs - socket.data.sentAtMs;
      this.#answers++;
      this.#bytes += socket.data.length;
      this.#lastAnswerAtMs = nowMs;
      return this.#sendNext(socket, nowMs);
    }
    this.#finish();
  }

  #sendNext(socket: Bun.Socket<Connection>, nowMs: number): void {
    const { pool, pick } = this.#load;
    const number = pick();
    if (number < 0) return this.#finish();
    socket.data.sentAtMs = nowMs;
    const written = socket.write(pool.bytes, number * pool.size, pool.size);
    if (written !== pool.size) this.#ended.reject(new Error(`Only ${written} bytes of a request could be written.`));
  }

  /** The connection has its last answer. It stays open until all have theirs, so that a close is always an error. */
  #finish(): void {
    this.#open--;
    if (this.#open === 0) this.#ended.resolve();
  }

  #summary(): Round {
    const endedAtMs = this.#deadlineMs === Infinity ? this.#lastAnswerAtMs : this.#deadlineMs;
    const seconds = (endedAtMs - this.#startedAtMs) / 1000;
    const measured = latencies.subarray(0, Math.min(this.#answers, MAX_LATENCIES)).sort();
    return {
      answers: this.#answers,
      seconds,
      perSecond: this.#answers / seconds,
      p50Ms: percentile(measured, 0.5),
      p99Ms: percentile(measured, 0.99),
      meanAnswerBytes: this.#bytes / this.#answers,
    };
  }
}

function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = Buffer.from('\r\nContent-Length: ');
const VALID_HEAD = Buffer.from('HTTP/1.1 200');
const VALID_BODY = Buffer.from('{"valid":true');

/** Size of the whole answer. -1: its head is incomplete. 0: it is not a valid verdict. */
function lengthOfAnswer(answer: Buffer): number {
  const head = answer.indexOf(END_OF_HEAD);
  const body = head + END_OF_HEAD.length;
  if (head < 0 || answer.length < body + VALID_BODY.length) return -1;
  if (!holds(answer, 0, VALID_HEAD) || !holds(answer, body, VALID_BODY)) return 0;
  const field = answer.indexOf(CONTENT_LENGTH);
  if (field < 0 || field > head) return 0;
  let length = 0;
  for (let i = field + CONTENT_LENGTH.length; i < head; i++) {
    const digit = (answer[i] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    length = length * 10 + digit;
  }
  return body + length;
}

function holds(bytes: Buffer, offset: number, expected: Buffer): boolean {
  for (let i = 0; i < expected.length; i++) if (bytes[offset + i] !== expected[i]) return false;
  return true;
}
