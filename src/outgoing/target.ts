import { type Address, inBlock, parseAddress, parseBlock } from '../core/address.ts';
import { MAX_WEBHOOK_URL_LENGTH } from '../core/bounds.ts';

/** Finds the addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface TargetRules {
  /** Whether targets that are not on the public internet, and plain HTTP, are allowed. */
  readonly allowsPrivate: boolean;
  readonly resolve: Resolve;
}

/** Where a request goes. The addresses were checked; the name is used in the request and the TLS handshake. */
export interface Target {
  /** Each of them leads to the target. */
  readonly addresses: readonly string[];
  readonly port: number;
  readonly isTls: boolean;
  /** As in the URL, without a port. */
  readonly name: string;
  /** What goes into `Host`. */
  readonly host: string;
  readonly path: string;
}

/** Why a URL cannot be a target. The message continues a sentence that begins with `url`. */
export class RefusedTarget extends Error {}

const ALLOWED_BY = 'KEYSTILE_WEBHOOK_ALLOW_PRIVATE';

/** Checks what the URL alone shows. */
function parseTarget(text: string, allowsPrivate: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || text.length > MAX_WEBHOOK_URL_LENGTH || !/^https?:$/.test(url.protocol)) {
    throw new RefusedTarget(`must be a URL with https and at most ${MAX_WEBHOOK_URL_LENGTH} characters`);
  }
  if (url.username !== '' || url.password !== '') throw new RefusedTarget('must not contain a user name or password');
  if (url.protocol === 'http:' && !allowsPrivate) {
    throw new RefusedTarget(`must begin with https; plain http is allowed only with ${ALLOWED_BY}`);
  }
  return url;
}

/**
 * Looks up the addresses to connect to. A name with a private address among others is refused as a whole: otherwise whoever answers for the
 * name could choose which address is used.
 */
export async function resolveTarget(text: string, { allowsPrivate, resolve }: TargetRules): Promise<Target> {
  const url = parseTarget(text, allowsPrivate);
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const addresses = parseAddress(name) === null ? await resolved(name, resolve) : [name];
  if (!allowsPrivate && !addresses.every(isPublic)) {
    throw new RefusedTarget(`must lead to a public address; others are allowed only with ${ALLOWED_BY}`);
  }
  const isTls = url.protocol === 'https:';
  return {
    addresses,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    isTls,
    name,
    host: url.host,
    path: `${url.pathname}${url.search}`,
  };
}

async function resolved(name: string, resolve: Resolve): Promise<readonly string[]> {
  const addresses = await resolve(name).catch(() => []);
  if (addresses.length === 0) throw new RefusedTarget('must have a host name with an address');
  return addresses;
}

/** A text that cannot be parsed as an address is not trusted either. */
function isPublic(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && isPublicAddress(address);
}

/** All IPv4 addresses, in their mapped form, and the assigned part of IPv6 (RFC 4291). Nothing else is public. */
const ASSIGNED = ['0.0.0.0/0', '2000::/3'].map((text) => block(text));

/**
 * Blocks of ASSIGNED that are not on the public internet: the special-purpose registries of IANA (RFC 6890), and addresses at which clouds
 * hand out credentials. One list holds IPv4 and IPv6, because an IPv4 address has its mapped form.
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
