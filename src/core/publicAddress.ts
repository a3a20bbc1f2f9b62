import { type Address, inBlock, parseBlock } from './address.ts';

/** The IPv4 addresses, in their mapped form, and all that is assigned of IPv6 (RFC 4291). Nothing else is public. */
const ASSIGNED = ['0.0.0.0/0', '2000::/3'].map((text) => block(text));

/**
 * Blocks of them that are not on the public internet: the special-purpose registries of IANA (RFC 6890), and addresses at which clouds
 * hand out credentials. IPv4 and IPv6 stand side by side: an IPv4 address has its mapped form.
 */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The platform address of Azure.
  '168.63.129.16',
  // Teredo and other protocols, documentation, 6to4.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
].map((text) => block(text));

/** Behind a translator, the last four bytes are the IPv4 address that is reached (RFC 6052). */
const TRANSLATED = block('64:ff9b::/96');

export function isPublicAddress(address: Address): boolean {
  if (inBlock(address, TRANSLATED)) return isPublicAddress(Uint8Array.from([...MAPPED, ...address.slice(12)]));
  const isIn = (blocks: typeof ASSIGNED): boolean => blocks.some((each) => inBlock(address, each));
  return isIn(ASSIGNED) && !isIn(NOT_PUBLIC);
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function block(text: string): NonNullable<ReturnType<typeof parseBlock>> {
  const parsed = parseBlock(text);
  if (parsed === null) throw new Error(`${text} is no block`);
  return parsed;
}
