import { isLoopback } from '../../core/address.ts';
import { AppError } from '../../core/errors.ts';
import type { HeaderLookup } from '../service.ts';

/**
 * A request with a session must come from a page of this service. The browser's cookie is SameSite=Strict; this is checked besides, because
 * another service on the same host is the same site. `isChange`: the request must name its origin.
 */
export function requireSameOrigin(headers: HeaderLookup, publicUrl: string | null, isChange: boolean): void {
  const site = headers.get('sec-fetch-site');
  const origin = headers.get('origin');
  const isFromHere = origin === null ? !isChange : isOwn(origin, headers, publicUrl);
  if (isFromHere && (site === null || site === 'same-origin' || (site === 'none' && !isChange))) return;
  throw new AppError('INSUFFICIENT_PERMISSIONS', 'A session can only be used by pages of this service.');
}

/**
 * The public URL, if there is one, and this machine. Without a public URL, hosts are compared: behind a proxy that ends TLS, the scheme
 * differs.
 */
function isOwn(origin: string, headers: HeaderLookup, publicUrl: string | null): boolean {
  if (publicUrl !== null && origin === new URL(publicUrl).origin) return true;
  if (!URL.canParse(origin)) return false;
  const { host, hostname } = new URL(origin);
  return host === headers.get('host') && (publicUrl === null || isLoopback(hostname));
}
