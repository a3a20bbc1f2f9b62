import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { MAX_NAME_LENGTH } from '../core/bounds.ts';
import { AppError, type ErrorCode } from '../core/errors.ts';
import type { PortalAction } from '../core/portalSession.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { PortalVisit } from '../engine/admin/portalSessions.ts';
import type { Engine } from '../engine/engine.ts';
import { jsonAnswer, notStored, withCookie } from './answer/answer.ts';
import { PAGE_HEADER, requireSameOrigin, sessionCookie, sessionSecret, unlessUnauthorized } from './authentication.ts';
import { checkContentType, readJsonBody } from './request/body.ts';
import { explain } from './request/explain.ts';
import { getVerifications } from './routes/analytics.getVerifications.ts';
import type { Asked, Endpoint } from './routes/route.ts';
import type { Service } from './service.ts';
import { toIdentityDetails } from './shapes/holders/identityObject.ts';
import { type KeyDefaults, toNewKey } from './shapes/keys/keyFields.ts';
import { badFields } from './shapes/schema/badFields.ts';
import { toKeyObject } from './shapes/keys/keyObject.ts';
import { OverlapMs } from './shapes/keys/secretFields.ts';
import { KeyId } from './shapes/schema/commonFields.ts';
import type { WebSite } from './webPages.ts';
import { cursorAt, strict, words } from '../model/schema/schemas.ts';

const PORTAL_PATH = '/portal';
const MAX_BODY_BYTES = 4096;

const OpenBody = Compile(Type.Object({ token: Type.String() }, { additionalProperties: false }));

/** The page of the portal, and what it asks for. */
export function portalEndpoints(service: Service, site: WebSite): ReadonlyMap<string, Endpoint> {
  const post = (answer: (asked: Asked) => Promise<Response>): Endpoint => ({
    methods: ['POST'],
    answer: (request, peer, context) => answer({ request, peer, context }),
  });
  return new Map<string, Endpoint>([
    [PORTAL_PATH, { methods: ['GET'], answer: (_request, _peer, context) => site.page('portal', context) }],
    [
      `${PORTAL_PATH}/session`,
      {
        methods: ['GET', 'POST'],
        answer: (request, peer, context) =>
          (request.method === 'POST' ? open : show)(service, { request, peer, context }),
      },
    ],
    [`${PORTAL_PATH}/leave`, post((asked) => leave(service, asked))],
    [`${PORTAL_PATH}/logo`, logoEndpoint(service)],
    ...Object.entries(PORTAL_CALLS).map(
      ([name, call]) => [`${PORTAL_PATH}/${name}`, post((asked) => answerCall(service, call, asked))] as const,
    ),
  ]);
}

async function answerCall(service: Service, call: PortalCall, asked: Asked): Promise<Response> {
  const { engine } = service;
  const visit = await visitOf(service, asked, true);
  const body = await readPortalBody(service, asked);
  if (!call.check(body)) throw badFields(explain(call.request, body));
  if (call.action !== null) await requireAllowed(engine, visit, call.action);
  const answer = await inWordsForCustomers(service, asked, () => call.handle(engine, visit, body));
  return notStored(jsonAnswer(answer, asked.context));
}

async function requireAllowed(engine: Engine, visit: PortalVisit, action: PortalAction): Promise<void> {
  if (!visit.session.allow.includes(action))
    throw new AppError('INSUFFICIENT_PERMISSIONS', `You may not ${action} keys here.`);
  await engine.portal.countChange(visit);
}

/** Rights, records and bounds of the provider, in words for its customers. */
const WORDS_FOR_CUSTOMERS: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'This key is not there any more. Load the page again.',
  INSUFFICIENT_PERMISSIONS: 'This cannot be done at the moment. Ask the provider of this API.',
  PRECONDITION_FAILED: 'A limit was reached, for example the number of your keys. Ask the provider of this API.',
};

/** What the engine says about root keys, rights and settings is written to the log, for the provider. */
async function inWordsForCustomers<T>({ log }: Service, { context }: Asked, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (failure) {
    const said = failure instanceof AppError ? WORDS_FOR_CUSTOMERS[failure.code] : undefined;
    if (!(failure instanceof AppError) || said === undefined) throw failure;
    const what = 'refused in the portal';
    const fields = { requestId: context.requestId, reason: failure.message };
    log.limited('warn', what, fields, `${what} ${failure.message}`);
    throw new AppError(failure.code, said);
  }
}

/** Opens a link, once. */
async function open(service: Service, asked: Asked): Promise<Response> {
  const { request, context } = asked;
  requireSameOrigin(request.headers, service.config.publicUrl, true);
  const body = await readPortalBody(service, asked);
  if (!OpenBody.Check(body) || !isSecretShaped(body.token))
    throw new AppError('BAD_REQUEST', 'Send {"token": "..."}, with the token behind # of the link.');
  const { secret, visit } = await service.engine.portal.open(
    body.token,
    sessionSecret(request.headers, 'portal'),
    originOf(service, asked),
  );
  const described = await inWordsForCustomers(service, asked, () => describeVisit(service, visit));
  const answer = jsonAnswer(described, context);
  return withCookie(answer, sessionCookie(request.headers, secret, 'portal'));
}

/** What the page shows first. It asks before a link is opened, so having no session is not an error. */
async function show(service: Service, asked: Asked): Promise<Response> {
  const visit = await visitOf(service, asked, false).catch(unlessUnauthorized);
  const described = await inWordsForCustomers(service, asked, () => describeVisit(service, visit));
  return notStored(jsonAnswer(described, asked.context));
}

async function leave(service: Service, asked: Asked): Promise<Response> {
  await service.engine.portal.leave(await visitOf(service, asked, true));
  return withCookie(jsonAnswer({}, asked.context), sessionCookie(asked.request.headers, null, 'portal'));
}

async function visitOf(service: Service, asked: Asked, isChange: boolean): Promise<PortalVisit> {
  const { headers } = asked.request;
  requireSameOrigin(headers, service.config.publicUrl, isChange);
  const secret = headers.get(PAGE_HEADER) === null ? null : sessionSecret(headers, 'portal');
  if (secret === null) throw new AppError('UNAUTHORIZED', 'Open the link that you were given.');
  return service.engine.portal.authenticate(secret, originOf(service, asked));
}

function originOf(service: Service, { request, peer, context }: Asked) {
  return { origin: service.originOf({ headers: request.headers, peer }), requestId: context.requestId };
}

async function readPortalBody(service: Service, { request, peer }: Asked): Promise<unknown> {
  const { headers } = request;
  checkContentType(headers);
  const client = service.clientOf({ headers, peer });
  return (await readJsonBody(service, request, { maxBytes: MAX_BODY_BYTES, client })).value;
}

const PAGE_SIZE = 50;

/**
 * What the portal can ask for. The customer and the api are those of its session; nothing in a request names another. The actor of the visit
 * sees no key of another customer or api, so the calls ask nothing about the owner of a key.
 */
interface PortalCall {
  /** What the link must allow; null = to look, which every link does. */
  readonly action: PortalAction | null;
  readonly request: TSchema;
  readonly check: (body: unknown) => boolean;
  handle(engine: Engine, visit: PortalVisit, body: unknown): Promise<object>;
}

function defineCall<S extends TSchema>(
  action: PortalAction | null,
  request: S,
  handle: (engine: Engine, visit: PortalVisit, body: Static<S>) => Promise<object>,
): PortalCall {
  const compiled = Compile(request);
  return {
    action,
    request,
    check: (body) => compiled.Check(body),
    handle: (engine, visit, body) => handle(engine, visit, body as Static<S>),
  };
}

const PORTAL_CALLS: Readonly<Record<string, PortalCall>> = {
  listKeys: defineCall(
    null,
    strict({ cursor: Type.Optional(cursorAt('key')) }),
    async (engine, visit, { cursor = null }) => {
      const { apiId } = visit.session;
      const { externalId } = visit.identity;
      const page = await engine.keys.list(visit.actor, {
        apiId,
        externalId,
        limit: PAGE_SIZE,
        after: cursor,
        search: null,
        state: null,
        planId: null,
      });
      const keys = page.keys.map((view) => picked(toKeyObject(view, engine.storage.workspaceId), SHOWN_OF_KEY));
      return { keys, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
    },
  ),

  getUsage: defineCall(null, strict({}), async (engine, visit) => {
    // Without a start, the days of the last 30 are counted.
    const { apiId } = visit.session;
    const { externalId } = visit.identity;
    const days = await getVerifications.handle(engine, visit.actor, { apiId, externalId, groupBy: 'day' });
    return { days };
  }),

  createKey: defineCall(
    'create',
    strict({ name: Type.Optional(words(1, MAX_NAME_LENGTH)) }),
    async (engine, visit, { name }) => {
      const { apiId, keyDefaults } = visit.session;
      const defaults = keyDefaults === null ? {} : (JSON.parse(keyDefaults) as KeyDefaults);
      const own = { apiId, externalId: visit.identity.externalId, ...(name === undefined ? {} : { name }) };
      const input = toNewKey({ ...defaults, ...own }, engine.storage.ledger.nowMs());
      const { keyId, secret } = await engine.keys.create(visit.actor, input);
      return { keyId, key: secret };
    },
  ),

  rotateKey: defineCall(
    'rotate',
    strict({ keyId: KeyId, overlapMs: OverlapMs }),
    async (engine, visit, { keyId, overlapMs }) => {
      return { keyId, key: await engine.rotateKey.rotate(visit.actor, keyId, overlapMs) };
    },
  ),

  deleteKey: defineCall('delete', strict({ keyId: KeyId }), async (engine, visit, { keyId }) => {
    await engine.deleteKey.delete(visit.actor, keyId, false);
    return {};
  }),
};

/** Metadata, roles and the like are the provider's notes. The customer does not see them. */
const SHOWN_OF_KEY = ['id', 'start', 'name', 'createdAt', 'expires', 'enabled', 'remaining', 'lastUsedAt'];

/** What the customer sees of itself. Its metadata is the provider's note. */
const SHOWN = ['externalId', 'name', 'keys', 'maxKeys', 'remaining', 'metered', 'refill', 'ratelimits'];
const SHOWN_OF_PLAN = ['name', 'maxKeys', 'refill', 'ratelimits'];

/** How the page looks, whose it is, and what the customer may do. `visit` null: no link was opened, or it has ended. */
async function describeVisit({ engine, config }: Service, visit: PortalVisit | null): Promise<object> {
  const look = { name: config.portalName, color: config.portalColor, hasLogo: config.portalLogo !== null };
  if (visit === null) return { look, visit: null };
  const { session, identity, actor } = visit;
  const details = toIdentityDetails(await engine.identities.get(actor, { id: identity.id }));
  const plan = 'plan' in details ? (details.plan as object) : null;
  return {
    look,
    visit: {
      customer: picked(details, SHOWN),
      ...(plan === null ? {} : { plan: picked(plan, SHOWN_OF_PLAN) }),
      allow: session.allow,
      ...(session.returnUrl === null ? {} : { returnUrl: session.returnUrl }),
      endsAt: session.untilMs,
    },
  };
}

const MAX_BYTES = 256 * 1024;
const TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

/** Answers the picture of KEYSTILE_PORTAL_LOGO. Opened by itself, an SVG can run nothing. */
function logoEndpoint({ config, log }: Service): Endpoint {
  const path = config.portalLogo;
  // Anybody can ask for it, so what is wrong is logged only once.
  let isTold = false;
  return {
    methods: ['GET'],
    async answer(_request, _peer, { requestId }) {
      const file = path === null ? null : Bun.file(path);
      if (file === null || !(await file.exists()) || file.size > MAX_BYTES) {
        if (file !== null && !isTold) log.warn('KEYSTILE_PORTAL_LOGO is no file of at most 256 KiB', { path });
        isTold = true;
        throw new AppError('NOT_FOUND', 'There is no logo.');
      }
      return new Response(await file.bytes(), {
        headers: {
          'content-type': TYPES[path?.replace(/^.*\./, '').toLowerCase() ?? ''] ?? 'application/octet-stream',
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
          'x-content-type-options': 'nosniff',
          'cache-control': 'public, max-age=300',
          'keystile-request-id': requestId,
        },
      });
    },
  };
}

/** The members that a customer may see. */
function picked(from: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
