import type { Config } from '../config/variables.ts';
import { isLoopback } from '../core/address.ts';
import { AppError } from '../core/errors.ts';
import { isSecretShaped } from '../core/secret.ts';
import { PORTAL_SESSION_MS, SESSION_MAX_AGE_MS } from '../core/portalSession.ts';
import type { Actor } from '../engine/admin/change/requireRight.ts';
import type { HeaderLookup, Peer, Service } from './service.ts';
import type { RootKeyRecord } from '../model/access.ts';

/**
 * Pages of the dashboard send it, so that a session counts for nothing else: not for /docs, not for a gateway that passes on cookies. `idle`:
 * nobody has used the page for a while, and it only looks for news.
 */
export const PAGE_HEADER = 'keystile-page';

/** The root key of a request: it was sent, or a browser signed in with it. */
export interface RequestedBy {
  readonly rootKey: RootKeyRecord;
  /** When its rights end; null = never. */
  readonly untilMs: number | null;
  /** null = the root key was sent. */
  readonly sessionId: string | null;
}

/** A root key in the Authorization header counts. Without that header, the session of a page of the dashboard does. */
export async function authenticateRootKey(
  service: Service,
  headers: HeaderLookup,
  isChange: boolean,
): Promise<RequestedBy> {
  const { engine, config } = service;
  const page = headers.get(PAGE_HEADER);
  const isOfPage = page !== null && headers.get('authorization') === null && isDashboardOn(config);
  const secret = isOfPage ? sessionSecret(headers) : null;
  if (secret === null) {
    const nowMs = engine.storage.ledger.nowMs();
    const found = await engine.memory.rootKeyAuthenticator.authenticate(service.rootDigests(headers), nowMs);
    return { ...found, sessionId: null };
  }
  const digest = engine.system.digestSecret(secret);
  const { rootKey, session } = await engine.sessions.authenticator.authenticate(digest, page !== 'idle');
  // Checked last: a refusal is logged, and a caller without a session must not fill the log.
  requireSameOrigin(headers, config.publicUrl, isChange);
  return { rootKey, untilMs: rootKey.expiresAtMs, sessionId: session.id };
}

/** Who manages the service. */
interface Manager extends RequestedBy {
  readonly actor: Actor;
}

export async function authenticateManager(
  service: Service,
  { headers, method }: Request,
  { peer, requestId }: { readonly peer: Peer; readonly requestId: string },
): Promise<Manager> {
  const by = await authenticateRootKey(service, headers, method !== 'GET' && method !== 'HEAD');
  const { id, rights } = by.rootKey;
  const origin = service.originOf({ headers, peer });
  const via = by.sessionId === null ? {} : { via: 'dashboard' as const };
  return { ...by, actor: { id, rights, untilMs: by.untilMs, origin, requestId, ...via } };
}

/** The dashboard is served. Without a setting, only this machine can open it. */
export function isDashboardOn({ dashboard, host }: Config): boolean {
  return dashboard ?? isLoopback(host);
}

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

/** What a browser is signed in to: the dashboard, or the portal. One does not sign it out of the other. */
type SessionKind = 'session' | 'portal';

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

/** For pages that ask who is signed in: nobody is null, and not an error. */
export function unlessUnauthorized(failure: unknown): null {
  if (failure instanceof AppError && failure.code === 'UNAUTHORIZED') return null;
  throw failure;
}
