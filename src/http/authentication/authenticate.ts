import type { RootKeyRecord } from '../../model/access.ts';
import type { Actor } from '../../engine/admin/change/actor.ts';
import type { HeaderLookup, Peer, Service } from '../service.ts';
import { isDashboardOn } from './isDashboardOn.ts';
import { requireSameOrigin } from './sameOrigin.ts';
import { sessionSecret } from './sessionCookie.ts';

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
    const found = await engine.rootKeyAuthenticator.authenticate(service.rootDigests(headers), nowMs);
    return { ...found, sessionId: null };
  }
  const digest = engine.system.digestSecret(secret);
  const { rootKey, session } = await engine.sessions.authenticator.authenticate(digest, page !== 'idle');
  // Last: a refusal is logged, and nobody without a session shall fill the log.
  requireSameOrigin(headers, config.publicUrl, isChange);
  return { rootKey, untilMs: rootKey.expiresAtMs, sessionId: session.id };
}

/** Who manages the service. */
export interface Manager extends RequestedBy {
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
