/** How many connections of clients there may be. */
export interface RoomSize {
  readonly connections: number;
  /** Connections above that which are still told so; more are closed without an answer. */
  readonly refusals: number;
  /**
   * The first descriptor that is kept for the database. The system gives the lowest free number: a connection with this one or a higher
   * one shows that all below are taken, whoever took them.
   */
  readonly firstReserved: number;
}

/** Counts the descriptors that clients take, so that enough are left for the database. */
export class Room {
  readonly #size: RoomSize;
  #connections = 0;
  #refused = 0;

  constructor(size: RoomSize) {
    this.#size = size;
  }

  /** Connections refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** A connection came in on this descriptor: it is served, told that there are too many, or closed at once. */
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
