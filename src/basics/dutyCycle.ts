/** The share of the time that background work may take. */
export interface DutyRule {
  /** Rest = `rest` x the time of the work. Absent: the rest fills the cycle. */
  readonly rest?: number;
  /** Work and rest together take at most this long. `minRest` takes precedence over `cycleMs`. */
  readonly cycleMs: number;
  /** Rest >= `minRest` x the time of the work. */
  readonly minRest: number;
  /** Work that takes longer than this in total gets only the shortest rests from then on. */
  readonly patienceMs?: number;
  /** Overrun that later rests may recover, in ms. Absent: none. */
  readonly makesUpMs?: number;
}

interface Work {
  readonly tookMs: number;
  /** Overrun of earlier pieces that no rest has recovered yet. */
  readonly lateMs?: number;
  /** Time since the first piece of this work began. */
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

  /** The rest is over. A rest that took too long is not recovered. */
  resume(): void {
    this.#startedAtMs = this.#monotonicMs();
  }
}
