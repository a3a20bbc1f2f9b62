import { isSecretShaped } from '../../core/secret.ts';
import { PORTAL_SESSION_MS, SESSION_MAX_AGE_MS } from '../../core/sessionTimes.ts';
import type { HeaderLookup } from '../service.ts';

/** What a browser is signed in to: the dashboard, or the customers' page. One does not sign it out of the other. */
export type SessionKind = 'session' | 'portal';

/** Cookies do not know ports. Two services on one machine must not sign each other out. */
function nameOf(kind: SessionKind, headers: HeaderLookup): string {
  const port = /:(\d{1,5})$/.exec(headers.get('host') ?? '')?.[1];
  return port === undefined ? `keystile_${kind}` : `keystile_${kind}_${port}`;
}

/** The secret of the session in a request; null = there is none, or more than one. */
export function sessionSecret(headers: HeaderLookup, kind: SessionKind = 'session'): string | null {
  const name = nameOf(kind, headers);
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('=', 2));
  const values = pairs.flatMap(([key, value = '']) => (key === name ? value : []));
  // Of two, another service on this host may have set one.
  return values.length === 1 && isSecretShaped(values[0] ?? '') ? (values[0] ?? null) : null;
}

const MAX_AGE_MS = { session: SESSION_MAX_AGE_MS, portal: PORTAL_SESSION_MS } as const;

/** The header that sets the cookie; `secret` null removes it. It is Secure when the page came over TLS: its origin was checked. */
export function sessionCookie(headers: HeaderLookup, secret: string | null, kind: SessionKind = 'session'): string {
  const ends = secret === null ? 0 : Math.floor(MAX_AGE_MS[kind] / 1000);
  const isSecure = (headers.get('origin') ?? '').startsWith('https:');
  const flags = `Path=/; Max-Age=${ends}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return `${nameOf(kind, headers)}=${secret ?? ''}; ${flags}`;
}
