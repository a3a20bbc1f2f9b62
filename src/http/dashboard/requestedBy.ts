import type { RootKeyRecord } from '../../core/records.ts';
import type { Actor } from '../../engine/admin/change/actor.ts';
import type { HeaderLookup, Peer, Service } from '../service.ts';
import { isDashboardOn } from './isOn.ts';
import { requireSameOrigin } from './sameOrigin.ts';
import { sessionSecret } from './sessionCookie.ts';

/** The root key of a request: it was sent, or a browser signed in with it. */
export interface RequestedBy {
  readonly rootKey: RootKeyRecord;
  /** When its rights end; null = never. */
  readonly untilMs: number | null;
  /** null = the root key was sent. */
  readonly sessionId: string | null;
}

/** A root key in the Authorization header counts. Without one, the session of the dashboard does. */
export async function authenticateRootKey(
  service: Service,
  headers: HeaderLookup,
  isChange: boolean,
): Promise<RequestedBy> {
  const { engine, config } = service;
  const digests = service.rootDigests(headers);
  const secret = digests.length === 0 && isDashboardOn(config) ? sessionSecret(headers) : null;
  if (secret === null) {
    const nowMs = engine.storage.ledger.nowMs();
    return { ...(await engine.rootKeyAuthenticator.authenticate(digests, nowMs)), sessionId: null };
  }
  requireSameOrigin(headers, config.publicUrl, isChange);
  const { rootKey, session } = await engine.sessions.authenticator.authenticate(engine.system.digestSecret(secret));
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
