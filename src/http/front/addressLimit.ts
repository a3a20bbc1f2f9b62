import { type Address, type AddressBlock, inBlock, isIpv4, parseAddress } from '../../core/address.ts';

/** How many connections beyond the limit of an address get an answer that says so. Further ones are closed without an answer. */
const REFUSALS = 16;
/** A network gives one customer at least this block of IPv6 addresses. */
const IPV6_GROUP_BYTES = 8;

/** Counts the connections of each address, so that one cannot take all. */
export class AddressLimit {
  readonly #max: number;
  readonly #exempt: readonly AddressBlock[];
  readonly #counts = new Map<string, number>();

  constructor(max: number, exempt: readonly AddressBlock[]) {
    this.#max = max;
    this.#exempt = exempt;
  }

  /** Addresses with the same name are counted together. Null: the address has no limit. */
  nameOf(remoteAddress: string): string | null {
    const address = parseAddress(remoteAddress);
    if (address === null) return remoteAddress;
    return this.#exempt.some((block) => inBlock(address, block)) ? null : groupOf(address);
  }

  enter(name: string | null): 'serve' | 'refuseAddress' | 'drop' {
    if (name === null) return 'serve';
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (count <= this.#max) return 'serve';
    return count <= this.#max + REFUSALS ? 'refuseAddress' : 'drop';
  }

  leave(name: string | null): void {
    if (name === null) return;
    const count = (this.#counts.get(name) ?? 0) - 1;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}

function groupOf(address: Address): string {
  return (isIpv4(address) ? address : address.subarray(0, IPV6_GROUP_BYTES)).join('.');
}
