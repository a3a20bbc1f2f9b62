/** Answers that are kept at a time. */
const MAX_KEPT = 200;
/** An answer is shared this many times as long as it took to find: so all who ask together take a hundredth of the time. */
const TIMES_AS_LONG = 100;
const MOST_MS = 120_000;

interface Kept<T> {
  readonly fromMs: number;
  untilMs: number;
  readonly answer: Promise<T>;
}

/** Gives the same answer to everybody who asks the same within a while. An answer that took long is shared for long. */
export class SharedAnswers<T> {
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** For `leastMs` or longer. An answer that failed is not shared. */
  get(question: string, leastMs: number, ask: () => Promise<T>): Promise<T> {
    const fromMs = this.#nowMs();
    const known = this.#kept.get(question);
    if (known !== undefined && fromMs >= known.fromMs && fromMs < known.untilMs) return known.answer;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const kept: Kept<T> = { fromMs, untilMs: Infinity, answer: ask() };
    this.#kept.set(question, kept);
    void this.#limit(question, kept, leastMs);
    return kept.answer;
  }

  async #limit(question: string, kept: Kept<T>, leastMs: number): Promise<void> {
    try {
      await kept.answer;
      const tookMs = this.#nowMs() - kept.fromMs;
      kept.untilMs = kept.fromMs + Math.min(MOST_MS, Math.max(leastMs, tookMs * TIMES_AS_LONG));
    } catch {
      this.#kept.delete(question);
    }
  }
}
