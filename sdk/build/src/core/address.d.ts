/** The 16 bytes of an address. An IPv4 address has its IPv6-mapped form, so that both kinds compare alike. */
export type Address = Uint8Array;
/** A block of addresses: those whose first `bits` bits equal the first bits of `address`. */
export interface AddressBlock {
  readonly address: Address;
  readonly bits: number;
}
/** Null when the text is not an address. A zone index (`fe80::1%eth0`) is refused. */
export declare function parseAddress(text: string): Address | null;
/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. Null when the text is none of these. */
export declare function parseBlock(text: string): AddressBlock | null;
export declare function inBlock(address: Address, block: AddressBlock): boolean;
export declare function isIpv4(address: Address): boolean;
/** Addresses that are counted together have the same group: one of IPv4, or a /64 block of IPv6. */
export declare function addressGroup(address: Address): string;
/** The address as text. A run of zeros is not shortened to `::`. */
export declare function showAddress(address: Address): string;
/** The addresses of this machine to itself. */
export declare const LOOPBACK: readonly AddressBlock[];
/** Only this machine reaches the host: a name, or an address as it stands in a URL or by itself. */
export declare function isLoopback(host: string): boolean;
