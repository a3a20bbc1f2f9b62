import { AsyncLocalStorage } from 'node:async_hooks';

/** Mulberry32: the same numbers for the same seed, on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  below(most: number): number {
    return Math.floor(this.next() * most);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

/** A process of the simulation. While it is paused nothing of it runs; when it is dead nothing ever does. */
export class Process {
  state: 'running' | 'paused' | 'dead' = 'running';
  readonly #waiting: (() => void)[] = [];

  /** Runs work of this process now, when it resumes, or never. */
  run(work: () => void): void {
    if (this.state === 'running') work();
    else if (this.state === 'paused') this.#waiting.push(work);
  }

  pause(): void {
    if (this.state === 'running') this.state = 'paused';
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'running';
    for (const work of this.#waiting.splice(0)) work();
  }

  die(): void {
    this.state = 'dead';
    this.#waiting.length = 0;
  }
}

/** What is running now: on behalf of which process, and for which call of a client. */
export interface Running {
  readonly process: Process | null;
  readonly call: unknown;
}

export const running = new AsyncLocalStorage<Running>();

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly work: () => void;
  isCancelled: boolean;
}

/** A timer as programs know it. */
class Timer {
  readonly #time: VirtualTime;
  readonly #inMs: number;
  readonly #work: () => void;
  #event: Event;

  constructor(time: VirtualTime, inMs: number, work: () => void) {
    this.#time = time;
    this.#inMs = inMs;
    this.#work = work;
    this.#event = time.after(inMs, work);
  }

  cancel(): void {
    this.#event.isCancelled = true;
  }

  refresh(): this {
    this.cancel();
    this.#event = this.#time.after(this.#inMs, this.#work);
    return this;
  }

  unref(): this {
    return this;
  }
}

const afterThisTurn = setImmediate;

/**
 * The time of a simulated world. Nothing waits for real time: the next event is run as soon as all that came before has had its effects.
 * Timers of the program belong to the process that set them.
 */
export class VirtualTime {
  nowMs: number;
  readonly #events: Event[] = [];
  #orders = 0;
  #busy = 0;
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** From now on `setTimeout` is this time. */
  install(): void {
    const set = (work: (...args: unknown[]) => void, inMs = 0, ...args: unknown[]): Timer => {
      const now = running.getStore();
      const inContext = (): void => running.run(now ?? { process: null, call: null }, () => work(...args));
      const process = now?.process ?? null;
      return new Timer(this, Math.max(0, inMs), () => (process === null ? inContext() : process.run(inContext)));
    };
    const clearReal = clearTimeout;
    const clear = (timer?: unknown): void => (timer instanceof Timer ? timer.cancel() : clearReal(timer as never));
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  }

  /** Clocks show whole milliseconds. */
  after(inMs: number, work: () => void): Event {
    const event: Event = { atMs: this.nowMs + Math.ceil(inMs), order: this.#orders++, work, isCancelled: false };
    this.#push(event);
    return event;
  }

  /** Real work, such as that of a database, for which the next event waits. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#busy++;
    try {
      return await work;
    } finally {
      if (--this.#busy === 0) this.#idle?.resolve();
    }
  }

  /** All machines stand still until then: what was due meanwhile happens late, and once. */
  async leapTo(untilMs: number): Promise<void> {
    this.nowMs = Math.max(this.nowMs, untilMs);
    await this.runTo(this.nowMs);
  }

  /** Runs events until there are none before this time. */
  async runTo(untilMs: number): Promise<void> {
    for (;;) {
      const next = this.#events[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      if (next.isCancelled) continue;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.work();
      await this.#settled();
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  /** All that follows from what was done has happened, as far as no time has to pass for it. */
  async #settled(): Promise<void> {
    for (;;) {
      await new Promise<void>((done) => afterThisTurn(done));
      if (this.#busy === 0) return;
      this.#idle = Promise.withResolvers();
      await this.#idle.promise;
      this.#idle = null;
    }
  }

  #push(event: Event): void {
    const heap = this.#events;
    let i = heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (isBefore(heap[parent] as Event, event)) break;
      heap[i] = heap[parent] as Event;
      i = parent;
    }
    heap[i] = event;
  }

  #pop(): void {
    const heap = this.#events;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++;
      if (isBefore(last, heap[child] as Event)) break;
      heap[i] = heap[child] as Event;
      i = child;
    }
    heap[i] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
