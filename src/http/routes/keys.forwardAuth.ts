import type { Verdict } from '../../engine/verify/verdict.ts';
import { type AnswerContext, answerFailure, CHALLENGE, failedRequest, jsonAnswer } from '../answer/answer.ts';
import { expected } from '../../engine/engine.ts';
import type { Peer, Service, Asking, HeaderLookup } from '../service.ts';
import type { AnswerHeader, AnswerHeaders } from '../shapes/schema/answerHeaders.ts';
import { optional } from '../../model/schema/described.ts';
import { Flag, strict } from '../../model/schema/schemas.ts';
import { VerdictObject } from '../shapes/keys/verdictSchema.ts';
import { ForwardQuery, fullRequest, readForwardQuery, type VerifyBody } from '../verify/verifyRequest.ts';
import { type GeneralVerdictWriter, isRetryable, VERDICT_STATUS } from '../verify/verdictAnswer.ts';
import { verify } from '../verify/verify.ts';
import { AppError } from '../../core/errors.ts';

const FORBIDDEN = 403;
/** The statuses that nginx passes on. It turns every other one into 500. */
const PASSED_ON: readonly number[] = [200, 401, FORBIDDEN];

/** Describes this route for the documentation. It accepts every method, so it is not in the table of routes. */
export const forwardAuth = {
  path: '/v1/keys.forwardAuth',
  method: 'GET',
  summary: 'Decide for a gateway whether the request of its client may pass.',
  description:
    'The gateway sends the key of the client in `Authorization: Bearer` or `X-API-Key`. The HTTP status is the verdict. Every method gets the same answer, and a body is ignored. The query comes from the configuration of the gateway, never from the client. No root key is needed, unless KEYSTILE_VERIFY_AUTH is `required`: then the gateway sends one in `Keystile-Root-Key`.',
  request: ForwardQuery,
  response: strict({
    valid: VerdictObject.properties.valid,
    code: VerdictObject.properties.code,
    requestId: VerdictObject.properties.requestId,
    retryable: optional(
      Flag,
      'false: repeating the request does not help, even when the status is 429. true: it can pass later. Absent with the code VALID.',
      false,
    ),
  }),
  example: {
    request: { permission: ['orders.read'], cost: 1 },
    response: { valid: true, code: 'VALID', requestId: 'req_1Jm8ZuAk6pTt8HlM9vVz4T1111' },
  },
} as const;

/** The headers of a verdict, and of an error instead of one, beside those that every answer has. */
export const FORWARD_HEADERS = [
  'cache-control',
  'keystile-code',
  'keystile-key-id',
  'keystile-external-id',
  'keystile-remaining',
  'keystile-retryable',
] as const satisfies readonly AnswerHeader[];

type ForwardHeaders = Pick<AnswerHeaders, (typeof FORWARD_HEADERS)[number] | 'www-authenticate'>;

/** A cache in front of the service does not tell requests apart by X-API-Key, so it could give one key the verdict of another. */
const NOT_KEPT: ForwardHeaders = { 'cache-control': 'no-store' };

/** What an answer needs beside the service. */
interface ForwardContext {
  readonly verdicts: GeneralVerdictWriter;
  readonly peer: Peer;
  readonly answer: AnswerContext;
}

/** Throws when the query is not understood: then the configuration of the gateway is wrong, and the answer is a 400. */
export async function answerForwardAuth(
  service: Service,
  request: Request,
  context: ForwardContext,
): Promise<Response> {
  const query = readForwardQuery(new URL(request.url));
  const response = await decided(service, request, query, context);
  return query.deny === undefined || PASSED_ON.includes(response.status) ? response : denied(response);
}

async function decided(
  service: Service,
  request: Request,
  query: ForwardQuery,
  { verdicts, peer, answer }: ForwardContext,
): Promise<Response> {
  try {
    const verdict = await verified(service, request, query, peer);
    const { code } = verdict;
    const headers = { ...Object.fromEntries(verdicts.headerPairs(verdict)), ...forwardHeaders(verdict) };
    const isValid = code === 'VALID';
    const retry = isValid ? {} : { retryable: isRetryable(verdict) };
    const body = { valid: isValid, code, requestId: answer.requestId, ...retry };
    return jsonAnswer(body, answer, VERDICT_STATUS[code], headers);
  } catch (failure) {
    const response = answerFailure(service, failure, failedRequest(request), answer);
    const headers: ForwardHeaders = {
      ...NOT_KEPT,
      'keystile-code': expected(failure)?.code ?? 'INTERNAL_SERVER_ERROR',
      'keystile-retryable': String(response.headers.has('retry-after')),
    };
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }
}

async function verified(service: Service, { headers }: Request, query: ForwardQuery, peer: Peer): Promise<Verdict> {
  const key = clientKey(headers);
  const asking = gatewayAsking(headers, peer);
  try {
    return await verify(service, asking, forwardBody(key, query), fullRequest);
  } catch (failure) {
    throw gatewayFailure(failure, asking);
  }
}

function forwardHeaders(verdict: Verdict): ForwardHeaders {
  const { code, key, remaining } = verdict;
  const externalId = key?.identity?.externalId;
  return {
    ...NOT_KEPT,
    'keystile-code': code,
    ...(code === 'VALID' ? {} : { 'keystile-retryable': String(isRetryable(verdict)) }),
    ...(key === null ? {} : { 'keystile-key-id': key.id }),
    // Percent-encoded UTF-8: an external id is any text, also one with line ends.
    ...(externalId === undefined ? {} : { 'keystile-external-id': encodeURIComponent(externalId.toWellFormed()) }),
    ...(remaining === null ? {} : { 'keystile-remaining': String(remaining) }),
    ...(VERDICT_STATUS[code] === VERDICT_STATUS.NOT_FOUND ? { 'www-authenticate': CHALLENGE } : {}),
  };
}

/** The same answer as a 403. Keystile-Code and Retry-After still say what happened. */
function denied(response: Response): Response {
  return new Response(response.body, { status: FORBIDDEN, headers: response.headers });
}

/** A gateway's own header: the Authorization header belongs to its client. */
const ROOT_KEY_HEADER = 'keystile-root-key';
/** Two headers of one name arrive as one, with a comma and a blank. So a key of a client has no blank. */
const TOKEN = /^\S+$/;
const BEARER = /^Bearer +(\S+)$/i;
const ANY_BEARER = /(?:^|,)\s*Bearer(?:\s|,|$)/i;

const NO_KEY = 'The request has no key: send it as "Authorization: Bearer <key>" or as "X-API-Key: <key>".';
const UNCLEAR_KEY = 'The request must have one key, in one header Authorization or X-API-Key.';

/** The one key of the client. With two of them, the gateway's service and this node could mean different ones. */
function clientKey(headers: HeaderLookup): string {
  const [bearer, plain] = [bearerKey(headers.get('authorization')), headers.get('x-api-key')];
  if (plain !== null && !TOKEN.test(plain)) throw new AppError('UNAUTHORIZED', UNCLEAR_KEY);
  if (bearer !== null && plain !== null && bearer !== plain) throw new AppError('UNAUTHORIZED', UNCLEAR_KEY);
  const key = bearer ?? plain;
  if (key === null) throw new AppError('UNAUTHORIZED', NO_KEY);
  return key;
}

/** Null: the header is absent, or has another scheme, which is not for this service. */
function bearerKey(authorization: string | null): string | null {
  if (authorization === null || !ANY_BEARER.test(authorization)) return null;
  const key = BEARER.exec(authorization)?.[1];
  if (key === undefined) throw new AppError('UNAUTHORIZED', UNCLEAR_KEY);
  return key;
}

/**
 * The sender of a verification that a gateway asks for. Of the headers, which clients can set, it shows the address and the root key of
 * the gateway, and nothing that would change what is asked, such as Idempotency-Key.
 */
function gatewayAsking(headers: HeaderLookup, peer: Peer): Asking {
  const rootKey = headers.get(ROOT_KEY_HEADER);
  const shown: Readonly<Record<string, string | null>> = {
    'content-type': 'application/json',
    'x-forwarded-for': headers.get('x-forwarded-for'),
    authorization: rootKey === null || !TOKEN.test(rootKey) ? null : `Bearer ${rootKey}`,
  };
  return { headers: { get: (name) => shown[name] ?? null }, peer };
}

function forwardBody(key: string, { permission, cost, apiId, tag }: ForwardQuery): VerifyBody {
  return {
    key,
    ...(apiId === undefined ? {} : { apiId }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(permission === undefined ? {} : { authorization: { permissions: { and: permission } } }),
    ...(cost === undefined ? {} : { remaining: { cost } }),
  };
}

/** A refused root key is a fault of the gateway. With a 401, its client would look for the fault in its own key. */
function gatewayFailure(failure: unknown, { headers }: Asking): unknown {
  if (!(failure instanceof AppError) || failure.code !== 'UNAUTHORIZED') return failure;
  const told =
    headers.get('authorization') === null
      ? 'The root key of the gateway is missing: let the gateway set the header Keystile-Root-Key, once.'
      : `The root key that the gateway set in Keystile-Root-Key is refused. ${failure.message}`;
  return new AppError('INSUFFICIENT_PERMISSIONS', told);
}
