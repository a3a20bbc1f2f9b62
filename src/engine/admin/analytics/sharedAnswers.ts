/** Answers that are kept at a time. */
const MAX_KEPT = 200;
/** An answer is shared this many times as long as it took to find: so all who ask together take a hundredth of the time. */
const TIMES_AS_LONG = 100;

/** For how long an answer is shared. Between the two, one that took longer to find is shared for longer. */
export interface Sharing {
  readonly leastMs: number;
  readonly mostMs: number;
}

interface Kept<T> {
  readonly fromMs: number;
  untilMs: number;
  readonly answer: Promise<T>;
}

/** Gives the same answer to everybody who asks the same within a while. */
export class SharedAnswers<T> {
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, Kept<T>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** An answer that failed is not shared. */
  get(question: string, sharing: Sharing, ask: () => Promise<T>): Promise<T> {
    const fromMs = this.#nowMs();
    const known = this.#kept.get(question);
    if (known !== undefined && fromMs >= known.fromMs && fromMs < known.untilMs) return known.answer;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const kept: Kept<T> = { fromMs, untilMs: fromMs + sharing.mostMs, answer: ask() };
    this.#kept.set(question, kept);
    void this.#limit(question, kept, sharing);
    return kept.answer;
  }

  async #limit(question: string, kept: Kept<T>, { leastMs, mostMs }: Sharing): Promise<void> {
    try {
      await kept.answer;
      const tookMs = this.#nowMs() - kept.fromMs;
      kept.untilMs = kept.fromMs + Math.min(mostMs, Math.max(leastMs, tookMs * TIMES_AS_LONG));
    } catch {
      if (this.#kept.get(question) === kept) this.#kept.delete(question);
    }
  }
}
