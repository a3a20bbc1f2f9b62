import { type AddressBlock, addressGroup, inBlock, parseAddress } from '../../core/address.ts';
import { AppError } from '../../core/errors.ts';

/** How many connections beyond the limit of an address get an answer that says so. Further ones are closed without an answer. */
const REFUSALS = 16;

/** Counts the connections of each address, and what they hold, so that one cannot take all. */
export class AddressLimit {
  readonly #max: number;
  readonly #exempt: readonly AddressBlock[];
  readonly #addresses = new Map<string, { count: number; memory: Memory | null }>();

  constructor(max: number, exempt: readonly AddressBlock[]) {
    this.#max = max;
    this.#exempt = exempt;
  }

  /** Addresses with the same name are counted together. Null: the address has no limit. */
  nameOf(remoteAddress: string): string | null {
    const address = parseAddress(remoteAddress);
    if (address === null) return remoteAddress;
    return this.#exempt.some((block) => inBlock(address, block)) ? null : addressGroup(address);
  }

  enter(name: string | null): 'serve' | 'refuseAddress' | 'drop' {
    if (name === null) return 'serve';
    const address = this.#addresses.get(name) ?? { count: 0, memory: null };
    this.#addresses.set(name, address);
    const count = ++address.count;
    if (count <= this.#max) return 'serve';
    return count <= this.#max + REFUSALS ? 'refuseAddress' : 'drop';
  }

  leave(name: string | null): void {
    const address = name === null ? undefined : this.#addresses.get(name);
    if (name !== null && address !== undefined && --address.count === 0) this.#addresses.delete(name);
  }

  /** The memory for a connection that has entered: a share of the budget for all of its address. */
  memoryOf(name: string | null, budget: MemoryBudget): Memory {
    const address = name === null ? undefined : this.#addresses.get(name);
    return address === undefined ? budget : (address.memory ??= budget.share());
  }
}

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

export const NO_MEMORY = new AppError(
  'UNAVAILABLE',
  'This node has no memory left for another request. Try again later.',
);

/** What one connection may hold without taking from the budget. */
export const OWN_BYTES = 16 * 1024;
/** What all connections together may hold beyond that. */
const COMMON_BYTES = 128 * 1024 * 1024;
/** A body of most routes is no longer than this. Anyone may begin to send a longer one, before a root key is looked at. */
export const LARGE_BYTES = 64 * 1024;
/** Large needs may take this share of the budget. So long bodies of strangers leave memory for everyday requests. */
const LARGE_SHARE = 3 / 4;

/** One address may take this share of the budget. */
const ADDRESS_SHARE = 1 / 4;

/** Where a connection takes memory from. */
export interface Memory {
  /** False: not enough is left, and nothing is taken. `total`: what the taker holds with these bytes. */
  take(bytes: number, total: number): boolean;
  giveBack(bytes: number): void;
}

/** The memory for received bytes that wait to be read, for bodies that are worked on and for unsent bytes of answers, over all connections. */
export class MemoryBudget implements Memory {
  #left: number;
  readonly #ofAddress: number;
  readonly #keptForSmall: number;

  constructor(bytes = COMMON_BYTES) {
    this.#left = bytes;
    this.#ofAddress = bytes * ADDRESS_SHARE;
    this.#keptForSmall = bytes * (1 - LARGE_SHARE);
  }

  get left(): number {
    return this.#left;
  }

  /** What the connections of one address may take, so that one client cannot take all. */
  share(): Memory {
    let left = this.#ofAddress;
    return {
      take: (bytes, total) => {
        if (bytes > left || !this.take(bytes, total)) return false;
        left -= bytes;
        return true;
      },
      giveBack: (bytes) => {
        left += bytes;
        this.giveBack(bytes);
      },
    };
  }

  take(bytes: number, total: number): boolean {
    const kept = total > LARGE_BYTES ? this.#keptForSmall : 0;
    if (bytes > this.#left - kept) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}
