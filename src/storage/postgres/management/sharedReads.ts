interface Reads {
  /** It began before the callers of `next` arrived, so it may have missed what they must see. */
  running: Promise<unknown>;
  next: Promise<unknown> | null;
}

/**
 * Callers that ask the same thing at the same time share one read, such as many that create keys of one api. A caller that arrives during a
 * read waits for the next read.
 */
export class SharedReads {
  readonly #byName = new Map<string, Reads>();

  read<T>(name: string, ask: () => Promise<T>): Promise<T> {
    const reads = this.#byName.get(name);
    if (reads === undefined) return this.#run(name, ask);
    const again = (): Promise<T> => this.#run(name, ask);
    reads.next ??= reads.running.then(again, again);
    return reads.next as Promise<T>;
  }

  #run<T>(name: string, ask: () => Promise<T>): Promise<T> {
    const running = ask();
    const reads: Reads = { running, next: null };
    this.#byName.set(name, reads);
    const end = (): void => {
      if (reads.next === null) this.#byName.delete(name);
    };
    running.then(end, end);
    return running;
  }
}
