import type { Config } from '../../config/variables.ts';
import { isLoopback } from '../../core/address.ts';
import { nameIn } from '../request/framing.ts';

/** For a year. A plain verification, which no browser sends, is answered elsewhere and without it. */
export const HTTPS_ONLY = 'max-age=31536000';

/**
 * Whether browsers are to use HTTPS only for the name by which a request has called the service. Not for a name of this machine: a browser
 * would do so for every other service of a developer, too.
 */
export function httpsOnlyCheck({ hsts, host, tlsCert, publicUrl }: Config): (request: Request) => boolean {
  const name = publicUrl === null ? host : new URL(publicUrl).hostname;
  if (!hsts || isLoopback(name) || (tlsCert === null && publicUrl?.startsWith('https://') !== true)) return () => false;
  return (request) => !isLoopback(nameIn(request.headers.get('host') ?? ''));
}
