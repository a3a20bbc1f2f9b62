/** How much of the time background work may take. */
export interface DutyRule {
  /** Work that took t is followed by a rest of this many t. Not given: the rest fills the cycle. */
  readonly rest?: number;
  /** Work and rest together take at most this long. `minRest` goes before it. */
  readonly cycleMs: number;
  /** The rest after work that took t is at least this many t. */
  readonly minRest: number;
  /** Work that is not done after this time takes only its shortest rests from then on. */
  readonly patienceMs?: number;
  /** Time that pieces took beyond their cycle is taken off the rests that follow, at most this much. Not given: none. */
  readonly makesUpMs?: number;
}

export interface Work {
  readonly tookMs: number;
  /** The time that earlier pieces took beyond their cycle and that no rest has made up for. */
  readonly lateMs?: number;
  /** Since the first piece of this work began. */
  readonly sinceMs: number;
}

/** How long to rest after a piece of work. */
export function restMs(
  { rest, cycleMs, minRest, patienceMs = Infinity }: DutyRule,
  { tookMs, sinceMs, lateMs = 0 }: Work,
): number {
  const shortestMs = tookMs * minRest;
  if (sinceMs >= patienceMs) return shortestMs;
  const leftMs = cycleMs - tookMs - lateMs;
  return Math.max(shortestMs, rest === undefined ? leftMs : Math.min(tookMs * rest, leftMs));
}

/** Measures work that is done piece by piece, with a rest after each piece. */
export class DutyCycle {
  readonly #monotonicMs: () => number;
  readonly #beganAtMs: number;
  #startedAtMs: number;
  #lateMs = 0;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#beganAtMs = this.#startedAtMs = monotonicMs();
  }

  /** How long to rest after the piece that began when the last rest ended. */
  restMs(rule: DutyRule): number {
    const nowMs = this.#monotonicMs();
    const work = { tookMs: nowMs - this.#startedAtMs, sinceMs: nowMs - this.#beganAtMs, lateMs: this.#lateMs };
    const lateMs = Math.max(0, work.lateMs + work.tookMs - rule.cycleMs);
    this.#lateMs = Math.min(lateMs, rule.makesUpMs ?? 0);
    return restMs(rule, work);
  }

  /** The rest is over. A rest that took too long is not made up for. */
  resume(): void {
    this.#startedAtMs = this.#monotonicMs();
  }
}
