import type { Picker, RequestPool } from './requests.ts';

/** Latencies kept of one round; what comes after them is counted, and only missing from the percentiles. */
const MAX_LATENCIES = 2_000_000;

export interface Load {
  readonly port: number;
  readonly pool: RequestPool;
  readonly pick: Picker;
  readonly connections: number;
  /** Infinity: until the picker has no more. */
  readonly seconds: number;
  /** False: another load runs beside it, and is the one whose latencies are told. */
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
  /** Bytes of the running answer that have not come yet; 0 while its head is not complete. */
  missing: number;
  /** The beginning of an answer whose head came in parts. */
  beginning: Buffer | null;
  /** Bytes of the running answer, head and body. */
  length: number;
}

/** One array for all rounds: a new one each time would be collected in the middle of the next round. */
const latencies = new Float64Array(MAX_LATENCIES);

/**
 * A closed loop over raw sockets: each connection sends a request, waits for the whole answer and sends the next. Any
 * answer but a valid verdict ends the benchmark: a fast refusal is not what is measured.
 */
export async function runLoad(load: Load): Promise<Round> {
  // What the round before has left behind is cleared away before the clock runs.
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
    const { port, connections } = this.#load;
    const handlers: Bun.SocketHandler<Connection> = {
      data: (socket, chunk) => this.#receive(socket, chunk),
      close: () => this.#ended.reject(new Error('the server closed a connection')),
      error: (_socket, error) => this.#ended.reject(error),
    };
    for (let i = 0; i < connections; i++) {
      const data: Connection = { sentAtMs: 0, missing: 0, beginning: null, length: 0 };
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
      if (length === 0) return this.#ended.reject(new Error(`not a valid verdict: ${answer.toString('latin1')}`));
      connection.beginning = null;
      connection.missing = length - answer.length;
      connection.length = length;
    }
    if (connection.missing > 0) return;
    if (connection.missing < 0) return this.#ended.reject(new Error('an answer is longer than its Content-Length'));
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
    if (written !== pool.size) this.#ended.reject(new Error(`only ${written} bytes of a request could be written`));
  }

  /** The connection has its last answer; it stays open until all have, so that a close is always a failure. */
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

/** Bytes of the whole answer; -1 when its head is not complete yet, 0 when it is no valid verdict. */
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
