/** What one connection may hold without asking for more. */
export const OWN_BYTES = 16 * 1024;
/** What all connections together may hold beyond that: 32 of the longest bodies. */
const COMMON_BYTES = 128 * 1024 * 1024;

/** The memory for what has come and is not answered yet, and for answers that clients do not take, over all connections. */
export class Store {
  #left: number;

  constructor(bytes = COMMON_BYTES) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  /** False, and nothing is taken: so much is not left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}
