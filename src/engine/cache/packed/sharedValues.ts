/** Different values that keys share; one more is refused. Their numbers fit into 16 bits. */
const MAX_SHARED = 10_000;
const COMPANIONS_PER_BLOCK = 1024;

/** Objects that belong to some rows. Blocks of rows without such objects take no memory. */
export class Companions<T> {
  readonly #blocks: ((T | null)[] | null)[] = [];

  at(row: number): T | null {
    return this.#blocks[Math.floor(row / COMPANIONS_PER_BLOCK)]?.[row % COMPANIONS_PER_BLOCK] ?? null;
  }

  put(row: number, companion: T | null): void {
    const number = Math.floor(row / COMPANIONS_PER_BLOCK);
    const block = this.#blocks[number] ?? (companion === null ? null : this.#open(number));
    if (block !== null) block[row % COMPANIONS_PER_BLOCK] = companion;
  }

  #open(number: number): (T | null)[] {
    const block = Array.from({ length: COMPANIONS_PER_BLOCK }, () => null);
    while (this.#blocks.length <= number) this.#blocks.push(null);
    this.#blocks[number] = block;
    return block;
  }
}

/** Values that many keys share, by number; 0 = none. */
export class Shared<T> {
  readonly #numbers = new Map<string, number>();
  readonly #values: T[] = [];

  /** -1 when there are too many different ones. */
  indexOf(name: string, value: T): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#values.length >= MAX_SHARED) return -1;
    this.#values.push(value);
    this.#numbers.set(name, this.#values.length);
    return this.#values.length;
  }

  /** 0 when it was never seen. */
  find(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }

  at(number: number): T {
    return this.#values[number - 1] as T;
  }
}
