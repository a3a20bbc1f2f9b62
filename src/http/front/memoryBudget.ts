import { AppError } from '../../core/errors.ts';

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
