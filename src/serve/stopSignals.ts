import type { Config } from '../config/variables.ts';
import { isLoopback } from '../core/address.ts';
import { EXIT } from './exit.ts';

/** How long a balancer may take to notice that a node is no longer ready. */
export const DEFAULT_STOP_DELAY_MS = 5_000;
/** Ctrl-C reaches a process twice: from its terminal, and from the launcher, which also gets it. Both count as one signal. */
export const SAME_SIGNAL_WITHIN_MS = 200;

/** How long the service keeps answering after it was told to stop. */
export function stopDelayOf({ stopDelay, trustedProxies, host }: Config): number {
  if (stopDelay !== null) return stopDelay;
  return trustedProxies === null && isLoopback(host) ? 0 : DEFAULT_STOP_DELAY_MS;
}

interface StopContext {
  readonly delayMs: number;
  readonly monotonicMs: () => number;
  /** Calls back once this time has passed. */
  readonly after: (milliseconds: number, then: () => void) => void;
}

/**
 * The states of a process that is told to stop:
 *
 *   running --a signal--> leaving: it keeps answering, and says that it is not ready
 *   leaving --the delay has passed, or another signal--> over
 *   running, leaving --a failure--> over, with the code of that failure
 *
 * Without a delay, the first signal leads to `over`.
 */
export class StopSignals {
  readonly #context: StopContext;
  readonly #over = Promise.withResolvers<number>();
  #onLeaving: () => void = () => {};
  #signalledAtMs: number | null = null;

  constructor(context: StopContext) {
    this.#context = context;
  }

  /** Notes SIGTERM or a similar signal. Returns whether it is the first one. */
  signal(): boolean {
    const { delayMs, monotonicMs, after } = this.#context;
    const nowMs = monotonicMs();
    if (this.#signalledAtMs !== null) {
      if (nowMs - this.#signalledAtMs >= SAME_SIGNAL_WITHIN_MS) this.#over.resolve(EXIT.OK);
      return false;
    }
    this.#signalledAtMs = nowMs;
    this.#onLeaving();
    if (delayMs === 0) this.#over.resolve(EXIT.OK);
    else after(delayMs, () => this.#over.resolve(EXIT.OK));
    return true;
  }

  /** The service cannot go on. */
  fail(code: number): void {
    this.#over.resolve(code);
  }

  /**
   * Resolves with the exit code when the service must close. `leave` is called when the service is told to stop, or at once if that was
   * during its start.
   */
  followed(leave: () => void): Promise<number> {
    if (this.#signalledAtMs === null) this.#onLeaving = leave;
    else leave();
    return this.#over.promise;
  }
}
