/** Answers that are kept at a time. */
const MAX_KEPT = 200;

/** Gives the same answer to everybody who asks the same within a while. */
export class SharedAnswers<T> {
  readonly #nowMs: () => number;
  readonly #kept = new Map<
    string,
    { readonly fromMs: number; readonly untilMs: number; readonly answer: Promise<T> }
  >();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** An answer that failed is not shared. */
  get(question: string, sharedMs: number, ask: () => Promise<T>): Promise<T> {
    const fromMs = this.#nowMs();
    const known = this.#kept.get(question);
    if (known !== undefined && fromMs >= known.fromMs && fromMs < known.untilMs) return known.answer;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const answer = ask();
    this.#kept.set(question, { fromMs, untilMs: fromMs + sharedMs, answer });
    answer.catch(() => this.#kept.delete(question));
    return answer;
  }
}
