import { FairQueue } from '../../core/fairQueue.ts';
import { type Memory, NO_MEMORY, OWN_BYTES } from './memoryBudget.ts';

/** Large bodies that may arrive at the same time. */
export const MAX_ARRIVING = 8;
/** Large bodies of one client that have arrived, and whose requests wait or are being answered. */
export const MAX_HELD = 4;
/** While others wait: a body of which nothing arrives gives its place to another one after this, or twice this. */
export const SILENT_MS = 50;
/** Less than this counts as nothing: at such a pace a body does not arrive in time. */
export const MIN_BYTES = 512;
/** Any body does after so many times of this. */
export const MAX_TIMES = 5;
/** Bytes of large bodies in one pass of the event loop: copying them takes some milliseconds. The runtime would read on for long. */
export const MAX_BYTES_PER_PASS = 2 * 1024 * 1024;

/** The connection that a body arrives on. */
export interface Receiver {
  /** Receives nothing more. What the client sends waits in its own buffers. */
  pause(): void;
  resume(): void;
}

export interface Timers {
  after(milliseconds: number, work: () => void): void;
  /** Runs work at the end of this pass of the event loop. */
  afterOthers(work: () => void): void;
}

/**
 * Lets large bodies arrive a few at a time, and in turns of their clients: copying the bodies of hundreds of connections would take as long
 * as hundreds of small requests. Each body is in one of these states:
 *
 *   waiting  --its client's turn--> arriving
 *   arriving --others wait, and nothing came for SILENT_MS, or it takes long--> waiting
 *   arriving --all has arrived--> held: its request waits for its turn, or is being answered --> over
 *
 * While a client has MAX_HELD of them, its other ones wait: they take no memory, and are not refused. After MAX_BYTES_PER_PASS none of
 * them receives anything more in that pass.
 */
export class LargeBodies {
  readonly #timers: Timers;
  readonly #waiting = new FairQueue<LargeBody>();
  readonly #arriving = new Set<LargeBody>();
  /** By client. */
  readonly #held = new Map<string, number>();
  #isWatching = false;
  /** Bytes that were received in this pass. */
  #received = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** No more of them are received in this pass. */
  get isFull(): boolean {
    return this.#received >= MAX_BYTES_PER_PASS;
  }

  /** The head of a request with a large body was read. */
  begin(client: string, receiver: Receiver): LargeBody {
    const body = new LargeBody(this, client, receiver);
    this.#waiting.add(client, body);
    this.#admit();
    if (body.isPaused) receiver.pause();
    this.#watch();
    return body;
  }

  /** So many bytes of one of them have arrived. */
  received(bytes: number): void {
    const wasFull = this.isFull;
    if (this.#received === 0) this.#timers.afterOthers(() => this.#nextPass());
    this.#received += bytes;
    if (this.isFull && !wasFull) for (const body of this.#arriving) body.receiver.pause();
  }

  #nextPass(): void {
    const wasFull = this.isFull;
    this.#received = 0;
    if (wasFull) for (const body of this.#arriving) body.receiver.resume();
  }

  hold(body: LargeBody): void {
    if (body.state === 'held' || body.state === 'over') return;
    this.#forget(body);
    body.state = 'held';
    this.#held.set(body.client, (this.#held.get(body.client) ?? 0) + 1);
    this.#admit();
  }

  end(body: LargeBody): void {
    if (body.state === 'over') return;
    this.#forget(body);
    body.state = 'over';
    this.#admit();
  }

  #forget(body: LargeBody): void {
    const { state, client } = body;
    if (state === 'waiting') this.#waiting.remove(client, body);
    if (state === 'arriving') this.#arriving.delete(body);
    if (state !== 'held') return;
    const left = (this.#held.get(client) ?? 0) - 1;
    if (left > 0) this.#held.set(client, left);
    else this.#held.delete(client);
  }

  #admit(): void {
    while (this.#arriving.size < MAX_ARRIVING && this.#admitOne());
  }

  #admitOne(): boolean {
    const next = this.#waiting.take((client) => (this.#held.get(client) ?? 0) < MAX_HELD);
    if (next === undefined) return false;
    next.state = 'arriving';
    next.isSilent = true;
    next.came = 0;
    next.times = 0;
    next.hadItsChance = true;
    this.#arriving.add(next);
    if (!next.isPaused) next.receiver.resume();
    return true;
  }

  /** Another one arrives instead, if one may. */
  #swap(body: LargeBody): void {
    if (!this.#admitOne()) return;
    this.#arriving.delete(body);
    body.state = 'waiting';
    this.#waiting.add(body.client, body);
    body.receiver.pause();
  }

  /** While some wait, those that are silent or take long give way. */
  #watch(): void {
    if (this.#isWatching || this.#waiting.isEmpty) return;
    this.#isWatching = true;
    this.#timers.after(SILENT_MS, () => {
      this.#isWatching = false;
      // A copy: those that come in their place are looked at the next time.
      for (const body of Array.from(this.#arriving)) {
        if (body.isSilent || ++body.times >= MAX_TIMES) this.#swap(body);
        body.isSilent = true;
        body.came = 0;
      }
      this.#watch();
    });
  }
}

/** A large body, from the head of its request to its answer. */
export class LargeBody {
  readonly #all: LargeBodies;
  readonly client: string;
  readonly receiver: Receiver;
  state: 'waiting' | 'arriving' | 'held' | 'over' = 'waiting';
  /** Nothing of it has arrived since it was looked at, or too little. */
  isSilent = true;
  /** Bytes that have arrived since then. */
  came = 0;
  /** How often it was looked at while it arrived. */
  times = 0;
  /** It might have arrived, and too little came. */
  hadItsChance = false;
  readonly #leaving = new AbortController();
  #memory: Memory | null = null;
  #taken = 0;

  constructor(all: LargeBodies, client: string, receiver: Receiver) {
    this.#all = all;
    this.client = client;
    this.receiver = receiver;
  }

  /** It receives nothing at the moment. */
  get isPaused(): boolean {
    return this.state === 'waiting' || (this.state === 'arriving' && this.#all.isFull);
  }

  /** So many bytes of it have arrived. */
  received(bytes: number): void {
    this.came += bytes;
    if (this.came >= MIN_BYTES) {
      this.isSilent = false;
      this.hadItsChance = false;
    }
    this.#all.received(bytes);
  }

  /** All of it has arrived. */
  hold(): void {
    this.#all.hold(this);
  }

  /** Takes memory until the request is answered. Throws when there is none. */
  take(bytes: number, memory: Memory): void {
    const taken = Math.max(0, bytes - OWN_BYTES);
    if (!memory.take(taken, taken)) throw NO_MEMORY;
    this.#memory = memory;
    this.#taken = taken;
  }

  /** Tells who works on it when the client has left. */
  get gone(): AbortSignal {
    return this.#leaving.signal;
  }

  leave(): void {
    this.#leaving.abort();
  }

  /** The request was answered, or is not answered at all. */
  end(): void {
    this.#memory?.giveBack(this.#taken);
    this.#memory = null;
    this.#all.end(this);
  }
}
