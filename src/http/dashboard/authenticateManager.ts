import type { RootKeyRecord } from '../../core/records.ts';
import type { Actor } from '../../engine/admin/change/actor.ts';
import type { Peer, Service } from '../service.ts';
import { isDashboardOn } from './isOn.ts';
import { requireSameOrigin } from './sameOrigin.ts';
import { sessionSecret } from './sessionCookie.ts';

/** Who manages the service: a root key, or a browser that signed in with one. */
export interface Manager {
  readonly actor: Actor;
  readonly rootKey: RootKeyRecord;
  /** null = the root key was sent. */
  readonly sessionId: string | null;
}

/** A root key in the Authorization header counts. Without one, the session of the dashboard does. */
export async function authenticateManager(
  service: Service,
  request: Request,
  { peer, requestId }: { readonly peer: Peer; readonly requestId: string },
): Promise<Manager> {
  const { engine, config } = service;
  const { headers, method } = request;
  const origin = service.originOf({ headers, peer });
  const digests = service.rootDigests(headers);
  const secret = digests.length === 0 && isDashboardOn(config) ? sessionSecret(headers) : null;
  if (secret === null) {
    const { rootKey, untilMs } = await engine.rootKeyAuthenticator.authenticate(digests, engine.storage.ledger.nowMs());
    const actor: Actor = { id: rootKey.id, rights: rootKey.rights, untilMs, origin, requestId };
    return { actor, rootKey, sessionId: null };
  }
  requireSameOrigin(headers, config.publicUrl, method !== 'GET' && method !== 'HEAD');
  const { rootKey, session } = await engine.sessions.authenticator.authenticate(engine.system.digestSecret(secret));
  const { id, rights, expiresAtMs: untilMs } = rootKey;
  return { actor: { id, rights, untilMs, origin, requestId, via: 'dashboard' }, rootKey, sessionId: session.id };
}
