/** How many connections of clients there may be. */
export interface ConnectionBounds {
  readonly connections: number;
  /** How many more get an answer that says so. Further ones are closed without an answer. */
  readonly refusals: number;
  /**
   * The first descriptor that is kept for the database. The system gives out the lowest free number, so a connection with this number or
   * a higher one shows that all lower ones are taken.
   */
  readonly firstReserved: number;
}

/** Counts the descriptors that clients take, so that enough are left for the database. */
export class ConnectionLimit {
  readonly #size: ConnectionBounds;
  #connections = 0;
  #refused = 0;

  constructor(size: ConnectionBounds) {
    this.#size = size;
  }

  /** Connections refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** A connection came in on this descriptor. It is served, told that there are too many, or closed at once. */
  enter(descriptor: number): 'serve' | 'refuse' | 'drop' {
    const { connections, refusals, firstReserved } = this.#size;
    this.#connections++;
    const hasSpace = this.#connections <= firstReserved && descriptor < firstReserved;
    if (hasSpace && this.#connections <= connections && this.#connections <= firstReserved - refusals) return 'serve';
    this.#refused++;
    return hasSpace && this.#connections <= connections + refusals ? 'refuse' : 'drop';
  }

  leave(): void {
    this.#connections--;
  }
}
