/** A clock that stands still until a test moves it. */
export class VirtualClock {
  #nowMs: number;

  constructor(startsAt: string | number) {
    this.#nowMs = typeof startsAt === 'number' ? startsAt : Date.parse(startsAt);
  }

  readonly nowMs = (): number => this.#nowMs;

  set(to: string | number): void {
    this.#nowMs = typeof to === 'number' ? to : Date.parse(to);
  }

  /** Negative: the clock is set back. */
  advance(milliseconds: number): void {
    this.#nowMs += milliseconds;
  }
}
