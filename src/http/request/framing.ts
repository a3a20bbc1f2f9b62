import { isLoopback } from '../../core/address.ts';
import { AppError, repeatable } from '../../core/errors.ts';

/** RFC 3986, 3.2.2, without percent-encoding and commas: two Hosts joined into one have a comma. */
const HOST = /^(?:[\w.~!$&'()*+;=-]+|\[[\da-fA-F:.]+\])(?::(\d{0,5}))?$/;
const MAX_PORT = 65_535;
/** More digits would not be exact as a number. No route accepts nearly as much. */
const LENGTH = /^(?:0|[1-9]\d{0,14})$/;

/** Whether this is a valid value of the header Host. */
export function isHost(text: string): boolean {
  const host = HOST.exec(text);
  return host !== null && Number(host[1] ?? 0) <= MAX_PORT;
}

export function checkHost(host: string): void {
  if (isHost(host)) return;
  throw new AppError(
    'BAD_REQUEST',
    `The header Host must be one name or address, with or without a port, got ${repeatable(host)}.`,
  );
}

/** Throws when a request may not name this Host. */
export type HostCheck = (host: string) => void;

/**
 * The check of the Host for a service that listens on this address. On a loopback address only this machine is to reach it. But the name of
 * any page can lead there (DNS rebinding), and a browser then lets the page read the answers. So only names of this machine are accepted,
 * and that of KEYSTILE_PUBLIC_URL, which a proxy on this machine may forward.
 */
export function hostCheck(listensOn: string, publicUrl: string | null): HostCheck {
  if (!isLoopback(listensOn)) return checkHost;
  const publicName = publicUrl === null ? null : new URL(publicUrl).hostname;
  // Clients repeat their Host, so most of them cost one comparison.
  let accepted: string | null = null;
  return (host) => {
    if (host === accepted) return;
    checkHost(host);
    const name = nameIn(host);
    if (!isLoopback(name) && name !== publicName) throw foreignHost(host, publicName);
    accepted = host;
  };
}

/** The name or address in a Host, without its port. */
export function nameIn(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}

function foreignHost(host: string, publicName: string | null): AppError {
  const names = `localhost, 127.0.0.1 or [::1]${publicName === null ? '' : `, or as ${publicName}`}`;
  return new AppError(
    'BAD_REQUEST',
    `This service listens on a loopback address, so it must be called as ${names}, got the Host ${repeatable(host)}. If clients call it by another name, for example through a proxy on this machine, set KEYSTILE_PUBLIC_URL to the address that they use.`,
  );
}

/** The number of bytes in the header Content-Length. */
export function toLength(text: string): number {
  if (LENGTH.test(text)) return Number(text);
  throw new AppError('BAD_REQUEST', `The header Content-Length must be a number of bytes, got ${repeatable(text)}.`);
}
