import type { AddressLimit } from './addressLimit.ts';
import type { Memory, MemoryBudget } from './memoryBudget.ts';

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

/** What becomes of a new connection: it is served, told that there are too many (of all, or of its address), or closed at once. */
export type Welcome = 'serve' | 'refuse' | 'refuseAddress' | 'drop';

/** Counts the descriptors that clients take, so that enough are left for the database, and the connections of each address. */
export class ConnectionLimit {
  readonly #size: ConnectionBounds;
  readonly #addresses: AddressLimit;
  #connections = 0;
  #refused = 0;

  constructor(size: ConnectionBounds, addresses: AddressLimit) {
    this.#size = size;
    this.#addresses = addresses;
  }

  /** Connections refused since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Under which name the connections of this address are counted; null: they are not. */
  nameOf(remoteAddress: string): string | null {
    return this.#addresses.nameOf(remoteAddress);
  }

  /** A connection came in on this descriptor, from an address with this name. */
  enter(descriptor: number, name: string | null): Welcome {
    const ofAddress = this.#addresses.enter(name);
    const ofAll = this.#enterAny(descriptor);
    const welcome = ofAll === 'serve' || ofAddress === 'drop' ? ofAddress : ofAll;
    if (welcome !== 'serve') this.#refused++;
    return welcome;
  }

  leave(name: string | null): void {
    this.#addresses.leave(name);
    this.#connections--;
  }

  memoryOf(name: string | null, budget: MemoryBudget): Memory {
    return this.#addresses.memoryOf(name, budget);
  }

  #enterAny(descriptor: number): Welcome {
    const { connections, refusals, firstReserved } = this.#size;
    this.#connections++;
    const hasSpace = this.#connections <= firstReserved && descriptor < firstReserved;
    if (hasSpace && this.#connections <= connections && this.#connections <= firstReserved - refusals) return 'serve';
    return hasSpace && this.#connections <= connections + refusals ? 'refuse' : 'drop';
  }
}
