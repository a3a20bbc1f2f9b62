type Handler<In, Out> = ((value: In) => Out | PromiseLike<Out>) | null | undefined;

/**
 * A result that is known later, for one waiter. It can be awaited like a promise. Unlike a promise, it calls its waiter at once when the
 * result is known, before `know` or `fail` returns. A promise calls back in a later microtask and serves any number of waiters: the four
 * promises between a verification and its answer cost 5 % of a counted verification (measured).
 */
export class Deferred<T> implements PromiseLike<T> {
  #state: 'waiting' | 'known' | 'failed' = 'waiting';
  #value: T | null = null;
  #failure: unknown = null;
  #onValue: Handler<T, unknown> = null;
  #onFailure: Handler<unknown, unknown> = null;
  /** The result of the waiter's handlers; null while nobody waits. */
  #next: Deferred<unknown> | null = null;

  static failed<T>(failure: Error): Deferred<T> {
    const deferred = new Deferred<T>();
    deferred.fail(failure);
    return deferred;
  }

  /** May be called once. */
  // oxlint-disable-next-line unicorn/no-thenable -- it is there to be awaited
  then<A = T, B = never>(onValue?: Handler<T, A>, onFailure?: Handler<unknown, B>): Deferred<A | B> {
    if (this.#next !== null) throw new Error('only one can wait for it');
    const next = new Deferred<A | B>();
    this.#next = next as Deferred<unknown>;
    this.#onValue = onValue;
    this.#onFailure = onFailure;
    if (this.#state !== 'waiting') this.#notify();
    return next;
  }

  /** Sets the result. Either `know` or `fail` is called, once. */
  know(value: T): void {
    if (this.#state !== 'waiting') throw new Error('it is known already');
    this.#value = value;
    this.#state = 'known';
    this.#notify();
  }

  fail(failure: unknown): void {
    if (this.#state !== 'waiting') throw new Error('it is known already');
    this.#failure = failure;
    this.#state = 'failed';
    this.#notify();
  }

  toPromise(): Promise<T> {
    return new Promise((resolve, reject) => void this.then(resolve, reject));
  }

  #notify(): void {
    const next = this.#next;
    if (next === null) return;
    const isKnown = this.#state === 'known';
    const handler = isKnown ? this.#onValue : this.#onFailure;
    const result = isKnown ? this.#value : this.#failure;
    if (handler === null || handler === undefined) return isKnown ? next.know(result) : next.fail(result);
    try {
      next.#follow((handler as (result: unknown) => unknown)(result));
    } catch (failure) {
      next.fail(failure);
    }
  }

  #follow(result: T | PromiseLike<T>): void {
    if (!isThenable(result)) return this.know(result);
    void result.then(
      (value: T) => this.know(value),
      (failure: unknown) => this.fail(failure),
    );
  }
}

function isThenable<T>(result: T | PromiseLike<T>): result is PromiseLike<T> {
  return typeof result === 'object' && result !== null && 'then' in result;
}
