import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { AppError, type ErrorCode } from '../../core/errors.ts';
import type { PortalAction } from '../../core/portalSession.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { Engine } from '../../engine/engine.ts';
import type { PortalVisit } from '../../engine/admin/portal/portalSessions.ts';
import { jsonAnswer, notStored, withCookie } from '../answer/answer.ts';
import { PAGE_HEADER } from '../authentication/authenticate.ts';
import { requireSameOrigin } from '../authentication/sameOrigin.ts';
import { unlessUnauthorized } from '../authentication/unlessUnauthorized.ts';
import { sessionCookie, sessionSecret } from '../authentication/sessionCookie.ts';
import type { WebSite } from '../web/site.ts';
import { checkContentType, readJsonBody } from '../request/body.ts';
import { explain } from '../request/explain.ts';
import type { Asked, Endpoint } from '../routes/endpoint.ts';
import type { Service } from '../service.ts';
import { badFields } from '../shapes/keys/keyFields.ts';
import { PORTAL_CALLS, type PortalCall } from './calls.ts';
import { describeVisit } from './describeVisit.ts';
import { logoEndpoint } from './logo.ts';

export const PORTAL_PATH = '/portal';
const MAX_BODY_BYTES = 4096;

const OpenBody = Compile(Type.Object({ token: Type.String() }, { additionalProperties: false }));

/** The customers' page, and what it asks for. */
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
    const words = failure instanceof AppError ? WORDS_FOR_CUSTOMERS[failure.code] : undefined;
    if (!(failure instanceof AppError) || words === undefined) throw failure;
    const what = "refused on the customers' page";
    const fields = { requestId: context.requestId, reason: failure.message };
    log.limited('warn', what, fields, `${what} ${failure.message}`);
    throw new AppError(failure.code, words);
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

/** What the page shows first. That no link was opened is no error: the page asks before. */
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
