import { type Address, inBlock, parseBlock } from './address.ts';

/**
 * Blocks that are not on the public internet (the special-purpose registries of IANA, RFC 6890), and addresses at which clouds answer with
 * credentials. IPv4 and IPv6 stand side by side: an IPv4 address has its mapped form.
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
  // Unspecified, loopback, and IPv4 in the form that is no longer used.
  '::/96',
  // Translation in a network of one's own, discard-only, Teredo and other protocols, documentation, 6to4.
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  // Unique local, link-local, site-local, multicast.
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
].map((text) => block(text));

/** Behind a translator, the last four bytes are the IPv4 address that is reached (RFC 6052). */
const TRANSLATED = block('64:ff9b::/96');

export function isPublicAddress(address: Address): boolean {
  if (inBlock(address, TRANSLATED)) return isPublicAddress(Uint8Array.from([...MAPPED, ...address.slice(12)]));
  return !NOT_PUBLIC.some((each) => inBlock(address, each));
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function block(text: string): NonNullable<ReturnType<typeof parseBlock>> {
  const parsed = parseBlock(text);
  if (parsed === null) throw new Error(`${text} is no block`);
  return parsed;
}
