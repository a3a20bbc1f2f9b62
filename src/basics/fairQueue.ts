/**
 * Waiting items of many clients. Each client has its own queue, and the queues take turns: a client with many waiting items does not get
 * more turns. An empty queue is dropped.
 */
export class FairQueue<T> {
  /** In the order of their turns. */
  readonly #queues = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  /** Adds the item after the other items of this client. */
  add(client: string, item: T): void {
    const queue = this.#queues.get(client);
    if (queue === undefined) this.#queues.set(client, [item]);
    else queue.push(item);
  }

  /** Adds the item before the other items of this client, because it was already begun. */
  addFirst(client: string, item: T): void {
    const queue = this.#queues.get(client);
    if (queue === undefined) this.#queues.set(client, [item]);
    else queue.unshift(item);
  }

  /**
   * The first item of the client whose turn it is. The client's next item waits until every other client had a turn. Clients that may not
   * come keep their place.
   */
  take(mayCome: (client: string) => boolean = () => true): T | undefined {
    for (const [client, queue] of this.#queues) {
      if (!mayCome(client)) continue;
      const item = queue.shift();
      this.#queues.delete(client);
      if (queue.length > 0) this.#queues.set(client, queue);
      return item;
    }
    return undefined;
  }

  remove(client: string, item: T): void {
    const queue = this.#queues.get(client);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(client);
  }
}
