import type { Memory, MemoryBudget } from './memoryBudget.ts';
import { type AddressBlock, addressGroup, inBlock, parseAddress } from '../../core/address.ts';

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
