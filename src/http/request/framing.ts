import { AppError, repeatable } from '../../core/errors.ts';
import type { HeaderLookup } from '../service.ts';

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

/** The number of bytes in the header Content-Length. */
export function toLength(text: string): number {
  if (LENGTH.test(text)) return Number(text);
  throw new AppError('BAD_REQUEST', `The header Content-Length must be a number of bytes, got ${repeatable(text)}.`);
}

/**
 * Refuses what the runtime's server lets through and the front does not. Headers that were sent twice come from the runtime
 * as one, with a comma. Without a Host it is HTTP/1.0, which needs none: the runtime refuses HTTP/1.1 without one.
 */
export function checkFraming(headers: HeaderLookup): void {
  const [host, length] = [headers.get('host'), headers.get('content-length')];
  if (host !== null) checkHost(host);
  if (length !== null) toLength(length);
}
