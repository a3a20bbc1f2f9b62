import { Type } from 'typebox';

import { type Address, parseAddress } from '../../core/address.ts';
import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { holdsRight, holdsRightSomewhere } from '../../core/rights.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { LimitRequest } from '../../engine/limits.ts';
import type { Verdict } from '../../engine/verdict.ts';
import type { Caller, VerifyRequest } from '../../engine/verify.ts';
import { checkContentType, readBody } from '../body.ts';
import { badFields } from '../keyFields.ts';
import { IdentityObject } from '../keyObject.ts';
import { strict } from '../schemas.ts';
import type { Service } from '../service.ts';
import { shownLimit, textsOf, verdictText } from '../verdictText.ts';
import { IDEMPOTENCY_WORDS, isIdempotencyKey, parseVerifyBody, soleSecret, VerifyBody } from '../verifyBody.ts';

const LimitAnswer = { limit: Type.Integer(), remaining: Type.Integer(), reset: Type.Integer() };

/** What the documentation says of this route; it is answered by `answerVerification`, which a table cannot describe. */
export const verifyKey = {
  path: '/v1/keys.verifyKey',
  method: 'POST',
  summary: 'May this request pass? Every verdict is HTTP 200; `valid` and `code` tell which.',
  request: VerifyBody,
  response: strict({
    valid: Type.Boolean(),
    code: Type.String(),
    requestId: Type.String(),
    keyId: Type.Optional(Type.String()),
    name: Type.Optional(Type.String()),
    ownerId: Type.Optional(Type.String()),
    meta: Type.Object({}),
    expires: Type.Optional(Type.Integer()),
    enabled: Type.Optional(Type.Boolean()),
    environment: Type.Optional(Type.String()),
    identity: Type.Optional(IdentityObject),
    remaining: Type.Optional(Type.Integer()),
    ratelimit: Type.Optional(strict(LimitAnswer)),
    ratelimits: Type.Optional(
      Type.Array(strict({ name: Type.String(), ...LimitAnswer, async: Type.Boolean(), exceeded: Type.Boolean() })),
    ),
  }),
  example: {
    request: { key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
    response: {
      valid: true,
      code: 'VALID',
      requestId: 'req_1Jm8ZuAk6pTt8HlM9vVz4T1111',
      keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
      meta: {},
      enabled: true,
      remaining: 2,
    },
  },
} as const;

const JSON_HEADERS = { headers: { 'content-type': 'application/json' } };

/** The hot path: from the request to the answer, with nothing on the way that is not needed. */
export async function answerVerification(
  service: Service,
  request: Request,
  peerOf: PeerOf,
  fail: (failure: unknown, request: Request) => Response,
): Promise<Response> {
  try {
    const startedAt = service.monotonicMs();
    checkContentType(request.headers);
    const mayVerify = service.config.verifyAuth === 'open' ? null : await verifiableApis(service, request.headers);
    const text = await readBody(request, MAX_VERIFY_BODY_BYTES);
    const decided = service.engine.verifier.verify(
      toVerifyRequest(service, text, new HttpCaller(service, request, peerOf, mayVerify)),
    );
    const verdict = decided instanceof Promise ? await decided : decided;
    const response = toResponse(service, verdict, request.url);
    service.metrics.verified(verdict.code, service.monotonicMs() - startedAt);
    return response;
  } catch (failure) {
    return fail(failure, request);
  }
}

/** The address of the peer that sent a request. */
export type PeerOf = (request: Request) => string | null;

/** Who asks, and from where. */
class HttpCaller implements Caller {
  readonly request: Request;
  readonly mayVerify: VerifyRequest['mayVerify'];
  /** The address that the request itself names. */
  named: Address | null = null;
  readonly #service: Service;
  readonly #peerOf: PeerOf;

  constructor(service: Service, request: Request, peerOf: PeerOf, mayVerify: VerifyRequest['mayVerify']) {
    this.request = request;
    this.mayVerify = mayVerify;
    this.#service = service;
    this.#peerOf = peerOf;
  }

  address(): Address | null {
    const { trustedProxies, callerAddress } = this.#service;
    const forwarded = this.request.headers.get('x-forwarded-for');
    return this.named ?? callerAddress(this.#peerOf(this.request), forwarded, trustedProxies);
  }
}

function toVerifyRequest(service: Service, text: string, caller: HttpCaller): VerifyRequest {
  const header = caller.request.headers.get('idempotency-key');
  const secret = header === null ? soleSecret(text) : null;
  return secret === null
    ? fullRequest(service, parseVerifyBody(text), header, caller)
    : plainRequest(service, secret, caller);
}

/** A request that says nothing but the key. */
function plainRequest(service: Service, secret: string, caller: HttpCaller): VerifyRequest {
  const { digester } = service;
  return {
    secretDigest: digester.digest(secret),
    olderDigests: digester.hasOlder ? () => digester.older(secret) : null,
    apiId: null,
    creditCost: 1,
    limits: null,
    caller,
    idempotency: null,
    mayVerify: caller.mayVerify,
  };
}

function fullRequest(service: Service, body: VerifyBody, header: string | null, caller: HttpCaller): VerifyRequest {
  const { key, clientIp } = body;
  const named = clientIp === undefined ? null : parseAddress(clientIp);
  if (clientIp !== undefined && named === null) {
    throw badFields([{ path: 'clientIp', message: 'clientIp must be an IPv4 or IPv6 address' }]);
  }
  caller.named = named;
  return {
    ...plainRequest(service, key, caller),
    // Hashed all the same, so that the time it takes tells nothing; but no key can have such a secret.
    ...(isSecretShaped(key) ? {} : { secretDigest: null, olderDigests: null }),
    apiId: body.apiId ?? null,
    creditCost: body.remaining?.cost ?? 1,
    limits: toLimitRequests(body),
    idempotency: toIdempotency(body, header),
  };
}

function toLimitRequests({ ratelimit, ratelimits }: VerifyBody): LimitRequest[] | null {
  if (ratelimit?.cost === undefined && ratelimits === undefined) return null;
  const requests: LimitRequest[] = (ratelimits ?? []).map(({ duration, ...rest }) =>
    duration === undefined ? rest : { ...rest, durationMs: duration },
  );
  const names = requests.map(({ name }) => name);
  const doubled = names.find((name, i) => names.indexOf(name) !== i);
  if (doubled !== undefined) {
    throw badFields([{ path: 'ratelimits', message: `the limit ${repeatable(doubled)} is named twice` }]);
  }
  if (ratelimit?.cost !== undefined && !names.includes(DEFAULT_LIMIT_NAME)) {
    requests.push({ name: DEFAULT_LIMIT_NAME, cost: ratelimit.cost });
  }
  return requests;
}

function toIdempotency(body: VerifyBody, header: string | null): VerifyRequest['idempotency'] {
  const id = body.idempotencyKey ?? header;
  if (id === null) return null;
  if (header !== null && body.idempotencyKey !== undefined && header !== body.idempotencyKey) {
    throw badFields([{ path: 'idempotencyKey', message: 'idempotencyKey and the header Idempotency-Key differ' }]);
  }
  if (header !== null && !isIdempotencyKey.test(header)) {
    throw badFields([{ path: 'idempotencyKey', message: `the header Idempotency-Key must be ${IDEMPOTENCY_WORDS}` }]);
  }
  // The secret is left out: the scope is its key, and nothing derived from it should be stored twice.
  const { key: _key, idempotencyKey: _id, ...asked } = body;
  return { id, requestDigest: Bun.SHA256.hash(canonical(asked), 'base64') };
}

/** The same question gives the same text, in whatever order its fields were sent. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

/** Where verifying needs a root key: which apis' keys it may verify. */
async function verifiableApis({ engine, rootDigests }: Service, headers: Headers): Promise<VerifyRequest['mayVerify']> {
  const rootKey = await engine.access.authenticate(rootDigests(headers), engine.storage.ledger.nowMs());
  if (!holdsRightSomewhere(rootKey.rights, 'verify_key')) {
    throw new AppError('INSUFFICIENT_PERMISSIONS', 'This root key lacks the right api.*.verify_key.');
  }
  return (apiId) => holdsRight(rootKey.rights, 'verify_key', apiId);
}

function toResponse(service: Service, verdict: Verdict, url: string): Response {
  const text = verdictText(verdict, service.requestIds.next());
  const isPretty = url.includes('?') && new URL(url).searchParams.has('pretty');
  const shown = isPretty ? JSON.stringify(JSON.parse(text), null, 2) : text;
  if (verdict.limits === null && !verdict.replayed) return new Response(shown, JSON_HEADERS);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (verdict.replayed) headers['keystile-replayed'] = 'true';
  if (verdict.limits !== null && service.config.ratelimitHeaders) addLimitHeaders(headers, verdict, service);
  return new Response(shown, { headers });
}

/** IETF httpapi draft: RateLimit-Policy says what is granted, RateLimit what is left of it. */
function addLimitHeaders(headers: Record<string, string>, verdict: Verdict, service: Service): void {
  const limit = shownLimit(verdict.limits ?? []) ?? verdict.limits?.[0];
  if (limit === undefined) return;
  const seconds = Math.max(0, Math.ceil((limit.resetAtMs - service.engine.storage.ledger.nowMs()) / 1000));
  const name = textsOf(limit.name).quoted;
  headers['ratelimit-policy'] = `${name};q=${limit.limit};w=${Math.ceil(limit.durationMs / 1000)}`;
  headers['ratelimit'] = `${name};r=${limit.remaining};t=${seconds}`;
  if (verdict.code === 'RATE_LIMITED') headers['retry-after'] = String(seconds);
}
