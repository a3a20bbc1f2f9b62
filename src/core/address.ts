/** The 16 bytes of an address. An IPv4 address has its IPv6-mapped form, so that both kinds compare alike. */
export type Address = Uint8Array;

/** A block of addresses: those whose first `bits` bits equal the first bits of `address`. */
export interface AddressBlock {
  readonly address: Address;
  readonly bits: number;
}

const MAPPED_PREFIX_BITS = 96;

function parseIpv4(text: string): readonly number[] | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) return null;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : null;
}

/** Groups of up to four hex digits. The last group of an address may be written as IPv4. */
function parseGroups(text: string, isEnd: boolean): number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    if (isEnd && i === parts.length - 1 && part.includes('.')) {
      const v4 = parseIpv4(part);
      if (v4 === null) return null;
      groups.push(((v4[0] ?? 0) << 8) | (v4[1] ?? 0), ((v4[2] ?? 0) << 8) | (v4[3] ?? 0));
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(parseInt(part, 16));
    else return null;
  }
  return groups;
}

/** Null when the text is not an address. A zone index (`fe80::1%eth0`) is refused. */
export function parseAddress(text: string): Address | null {
  const bytes = new Uint8Array(16);
  const v4 = parseIpv4(text);
  if (v4 !== null) {
    bytes.set([0xff, 0xff, ...v4], 10);
    return bytes;
  }
  const halves = text.split('::');
  if (halves.length > 2 || !text.includes(':')) return null;
  const head = parseGroups(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? '', true) : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...tail];
  for (const [i, group] of groups.entries()) bytes.set([group >> 8, group & 0xff], i * 2);
  return bytes;
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. Null when the text is none of these. */
export function parseBlock(text: string): AddressBlock | null {
  const [addressText = '', bitsText, ...rest] = text.split('/');
  const address = parseAddress(addressText);
  if (address === null || rest.length > 0) return null;
  if (bitsText === undefined) return { address, bits: 128 };
  if (!/^(0|[1-9]\d{0,2})$/.test(bitsText)) return null;
  const isV4 = !addressText.includes(':');
  const bits = Number(bitsText) + (isV4 ? MAPPED_PREFIX_BITS : 0);
  return bits <= 128 ? { address, bits } : null;
}

export function inBlock(address: Address, block: AddressBlock): boolean {
  const whole = block.bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== block.address[i]) return false;
  const rest = block.bits & 7;
  if (rest === 0) return true;
  const mask = 0xff & (0xff << (8 - rest));
  return ((address[whole] ?? 0) & mask) === ((block.address[whole] ?? 0) & mask);
}

function isIpv4(address: Address): boolean {
  return address.slice(0, 10).every((byte) => byte === 0) && address[10] === 0xff && address[11] === 0xff;
}

/** A network gives one customer at least this block of IPv6 addresses. */
const IPV6_GROUP_BYTES = 8;

/** Addresses that are counted together have the same group: one of IPv4, or a /64 block of IPv6. */
export function addressGroup(address: Address): string {
  return (isIpv4(address) ? address : address.subarray(0, IPV6_GROUP_BYTES)).join('.');
}

/** The address as text. A run of zeros is not shortened to `::`. */
export function showAddress(address: Address): string {
  if (isIpv4(address)) return address.slice(12).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((address[i * 2] ?? 0) << 8) | (address[i * 2 + 1] ?? 0));
  return groups.map((group) => group.toString(16)).join(':');
}

/** The addresses of this machine to itself. */
export const LOOPBACK: readonly AddressBlock[] = ['127.0.0.0/8', '::1/128'].flatMap((text) => parseBlock(text) ?? []);

/** Only this machine reaches the host: a name, or an address as it stands in a URL or by itself. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const address = parseAddress(host.replace(/^\[(.*)\]$/, '$1'));
  return address !== null && LOOPBACK.some((block) => inBlock(address, block));
}
