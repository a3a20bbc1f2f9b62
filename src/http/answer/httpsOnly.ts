import type { Config } from '../../config/variables.ts';
import { isLoopback } from '../../core/address.ts';

/** For a year. A plain verification, which no browser sends, is answered elsewhere and without it. */
export const HTTPS_ONLY = 'max-age=31536000';

/**
 * Whether browsers are to use HTTPS only for this host. Not for a name of this machine: a browser would do so for every other service of a
 * developer, too.
 */
export function tellsHttpsOnly({ hsts, host, tlsCert, publicUrl }: Config): boolean {
  const name = publicUrl === null ? host : new URL(publicUrl).hostname;
  return hsts && !isLoopback(name) && (tlsCert !== null || publicUrl?.startsWith('https://') === true);
}
