import { Type } from 'typebox';

import { MAX_VERIFY_BODY_BYTES } from '../../core/bounds.ts';
import type { Verdict } from '../../engine/verdict.ts';
import type { VerifyRequest } from '../../engine/verify.ts';
import { checkContentType, readBody } from '../body.ts';
import { IdentityObject } from '../keyObject.ts';
import { strict } from '../schemas.ts';
import type { PeerOf, Service } from '../service.ts';
import { shownLimit, textsOf, verdictText } from '../verdictText.ts';
import { VerifyBody } from '../verifyBody.ts';
import { authenticateAsker, HttpCaller, toVerifyRequest } from '../verifyRequest.ts';

const LimitAnswer = { limit: Type.Integer(), remaining: Type.Integer(), reset: Type.Integer() };

export const VerdictObject = strict({
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
  permissions: Type.Optional(Type.Array(Type.String())),
  roles: Type.Optional(Type.Array(Type.String())),
  identity: Type.Optional(IdentityObject),
  remaining: Type.Optional(Type.Integer()),
  ratelimit: Type.Optional(strict(LimitAnswer)),
  ratelimits: Type.Optional(
    Type.Array(strict({ name: Type.String(), ...LimitAnswer, async: Type.Boolean(), exceeded: Type.Boolean() })),
  ),
});

/** What the documentation says of this route; it is answered by `answerVerification`, which a table cannot describe. */
export const verifyKey = {
  path: '/v1/keys.verifyKey',
  method: 'POST',
  summary: 'May this request pass? Every verdict is HTTP 200; `valid` and `code` tell which.',
  request: VerifyBody,
  response: VerdictObject,
  example: {
    request: { key: 'demo_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' },
    response: {
      valid: true,
      code: 'VALID',
      requestId: 'req_1Jm8ZuAk6pTt8HlM9vVz4T1111',
      keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S',
      meta: {},
      enabled: true,
      permissions: [],
      roles: [],
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
    const asker = service.config.verifyAuth === 'open' ? null : await authenticateAsker(service, request.headers);
    const text = await readBody(request, MAX_VERIFY_BODY_BYTES);
    const asked = toVerifyRequest(
      service,
      text,
      new HttpCaller(service, request, peerOf, asker === null ? null : asker.mayVerify),
    );
    asker?.take(1);
    const decided = service.engine.verifier.verify(asked);
    const verdict = decided instanceof Promise ? await decided : decided;
    const response = toResponse(service, verdict, request.url);
    service.metrics.verified(verdict.code, service.monotonicMs() - startedAt);
    countVerdict(service, asked, verdict);
    return response;
  } catch (failure) {
    return fail(failure, request);
  }
}

/** For the analytics. */
export function countVerdict({ config, engine }: Service, asked: VerifyRequest, verdict: Verdict): void {
  if (config.analytics) engine.tally.count(asked, verdict);
}

function toResponse(service: Service, verdict: Verdict, url: string): Response {
  const text = verdictText(verdict, service.requestIds.next());
  const isPretty = url.includes('?') && new URL(url).searchParams.has('pretty');
  const shown = isPretty ? JSON.stringify(JSON.parse(text), null, 2) : text;
  if (verdict.limits === null && !verdict.replayed) return new Response(shown, JSON_HEADERS);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (verdict.replayed) headers['keystile-replayed'] = 'true';
  if (verdict.limits !== null && service.config.ratelimitHeaders) addLimitHeaders(headers, verdict);
  return new Response(shown, { headers });
}

/** IETF httpapi draft: RateLimit-Policy says what is granted, RateLimit what is left of it. */
function addLimitHeaders(headers: Record<string, string>, verdict: Verdict): void {
  const limit = shownLimit(verdict.limits ?? []) ?? verdict.limits?.[0];
  if (limit === undefined) return;
  const seconds = Math.max(0, Math.ceil((limit.resetAtMs - verdict.atMs) / 1000));
  const name = textsOf(limit.name).quoted;
  headers['ratelimit-policy'] = `${name};q=${limit.limit};w=${Math.ceil(limit.durationMs / 1000)}`;
  headers['ratelimit'] = `${name};r=${limit.remaining};t=${seconds}`;
  if (verdict.code === 'RATE_LIMITED') headers['retry-after'] = String(seconds);
}
