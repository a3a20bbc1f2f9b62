import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { AppError } from '../core/errors.ts';
import { jsonAnswer, notStored, withCookie } from './answer/answer.ts';
import {
  authenticateManager,
  isDashboardOn,
  requireSameOrigin,
  sessionCookie,
  sessionSecret,
  unlessUnauthorized,
} from './authentication.ts';
import { checkContentType, readJsonBody } from './request/body.ts';
import type { Asked, Endpoint } from './routes/route.ts';
import type { Service } from './service.ts';
import { DASHBOARD_PATH, type WebSite } from './webPages.ts';
import type { RootKeyRecord } from '../model/access.ts';
import { VERSION } from '../version.ts';

/** What the dashboard consists of, by path. `below` finds the addresses inside of the dashboard, which no list can hold. */
interface DashboardEndpoints {
  readonly byPath: ReadonlyMap<string, Endpoint>;
  readonly below: (path: string) => Endpoint | undefined;
}

export function dashboardEndpoints(service: Service, site: WebSite): DashboardEndpoints {
  if (!isDashboardOn(service.config)) return { byPath: new Map(), below: () => undefined };
  const page: Endpoint = { methods: ['GET'], answer: (_request, _peer, context) => site.page('dashboard', context) };
  const byPath = new Map<string, Endpoint>([
    [DASHBOARD_PATH, page],
    [
      `${DASHBOARD_PATH}/session`,
      {
        methods: ['GET', 'POST'],
        answer: (request, peer, context) =>
          (request.method === 'POST' ? signIn : showSession)(service, { request, peer, context }),
      },
    ],
    [
      `${DASHBOARD_PATH}/signOut`,
      { methods: ['POST'], answer: (request, peer, context) => signOut(service, { request, peer, context }) },
    ],
  ]);
  return { byPath, below: (path) => (path.startsWith(`${DASHBOARD_PATH}/`) ? page : undefined) };
}

const MAX_BODY_BYTES = 1024;
const MAX_BROWSER_LENGTH = 200;

/** Either the token of a sign-in link, or nothing: then the Authorization header has a root key. */
const SignInBody = Compile(Type.Object({ token: Type.Optional(Type.String()) }, { additionalProperties: false }));

/** Signs the browser in, with a root key or the token of a link. The root key itself is not kept by the browser. */
async function signIn(service: Service, { request, peer, context }: Asked): Promise<Response> {
  const { engine, config } = service;
  const { headers } = request;
  requireSameOrigin(headers, config.publicUrl, true);
  checkContentType(headers);
  const client = service.clientOf({ headers, peer });
  const { value: body } = await readJsonBody(service, request, { maxBytes: MAX_BODY_BYTES, client });
  if (!SignInBody.Check(body)) throw new AppError('BAD_REQUEST', 'Send {} with a root key, or {"token": "..."}.');
  const by = body.token === undefined ? 'root key' : 'link';
  const rootKey = body.token === undefined ? await bySentKey(service, headers) : await byLink(service, body.token);
  const origin = service.originOf({ headers, peer });
  const { id, rights, expiresAtMs: untilMs } = rootKey;
  const browser = headers.get('user-agent')?.slice(0, MAX_BROWSER_LENGTH) ?? null;
  const signedIn = await engine.sessions.admin.signIn(
    rootKey,
    { id, rights, untilMs, origin, requestId: context.requestId, via: 'dashboard' },
    { browser, by, formerSecret: sessionSecret(headers) },
  );
  const cookie = sessionCookie(headers, signedIn.secret);
  return withCookie(jsonAnswer({ session: describe(rootKey, signedIn.id) }, context), cookie);
}

/** Who is signed in. The page asks before anybody can be, so nobody is not an error. */
async function showSession(service: Service, { request, peer, context }: Asked): Promise<Response> {
  const manager = await authenticateManager(service, request, { peer, requestId: context.requestId }).catch(
    unlessUnauthorized,
  );
  const session = manager === null || manager.sessionId === null ? null : describe(manager.rootKey, manager.sessionId);
  return notStored(jsonAnswer({ session }, context));
}

/** Ends the session. A browser whose session has ended already loses its cookie all the same. */
async function signOut(service: Service, { request, peer, context }: Asked): Promise<Response> {
  const cookie = sessionCookie(request.headers, null);
  requireSameOrigin(request.headers, service.config.publicUrl, true);
  const manager = await authenticateManager(service, request, { peer, requestId: context.requestId }).catch(
    unlessUnauthorized,
  );
  if (manager !== null && manager.sessionId !== null)
    await service.engine.sessions.admin.signOut(manager.sessionId, manager.actor);
  return withCookie(jsonAnswer({}, context), cookie);
}

async function bySentKey(service: Service, headers: Headers): Promise<RootKeyRecord> {
  const { memory, storage } = service.engine;
  const found = await memory.rootKeyAuthenticator.authenticate(service.rootDigests(headers), storage.ledger.nowMs());
  // The session would outlast the secret.
  if (found.secretUntilMs !== null) {
    throw new AppError('UNAUTHORIZED', 'This root key was rotated. Sign in with its new secret.');
  }
  return found.rootKey;
}

async function byLink({ engine }: Service, token: string): Promise<RootKeyRecord> {
  const nowMs = engine.storage.ledger.nowMs();
  const rootKeyId = engine.sessions.links.take(token);
  const rootKey = rootKeyId === null ? null : await engine.storage.records.findRootKey(rootKeyId);
  if (rootKey === null || rootKey.revokedAtMs !== null || nowMs >= (rootKey.expiresAtMs ?? Infinity)) {
    const why = 'This sign-in link was used before, or has expired.';
    throw new AppError('UNAUTHORIZED', `${why} Sign in with a root key, or start the service again for a new link.`);
  }
  return rootKey;
}

function describe({ id, name, rights }: RootKeyRecord, sessionId: string): object {
  return { sessionId, rootKeyId: id, name, permissions: rights, version: VERSION };
}
