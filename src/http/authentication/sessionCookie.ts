import { isSecretShaped } from '../../core/secret.ts';
import { SESSION_MAX_AGE_MS } from '../../core/sessionTimes.ts';
import type { HeaderLookup } from '../service.ts';

/** Cookies do not know ports. Two services on one machine must not sign each other out. */
function nameOf(headers: HeaderLookup): string {
  const port = /:(\d{1,5})$/.exec(headers.get('host') ?? '')?.[1];
  return port === undefined ? 'keystile_session' : `keystile_session_${port}`;
}

/** The secret of the session in a request; null = there is none, or more than one. */
export function sessionSecret(headers: HeaderLookup): string | null {
  const name = nameOf(headers);
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('=', 2));
  const values = pairs.flatMap(([key, value = '']) => (key === name ? value : []));
  // Of two, another service on this host may have set one.
  return values.length === 1 && isSecretShaped(values[0] ?? '') ? (values[0] ?? null) : null;
}

/** `secret`: null removes the cookie. */
export function sessionCookie(headers: HeaderLookup, secret: string | null, isSecure: boolean): string {
  const ends = secret === null ? 0 : Math.floor(SESSION_MAX_AGE_MS / 1000);
  const flags = `Path=/; Max-Age=${ends}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return `${nameOf(headers)}=${secret ?? ''}; ${flags}`;
}
