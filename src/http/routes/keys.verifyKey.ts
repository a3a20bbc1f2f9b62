import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { parseAddress } from '../../core/address.ts';
import {
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_LIMITS_PER_KEY,
  MAX_VERIFY_BODY_BYTES,
  MIN_IDEMPOTENCY_KEY_LENGTH,
} from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { holdsRight, holdsRightSomewhere } from '../../core/rights.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { LimitRequest } from '../../engine/limits.ts';
import type { Verdict } from '../../engine/verdict.ts';
import type { VerifyRequest } from '../../engine/verify.ts';
import { checkContentType, readBody } from '../body.ts';
import { explain } from '../explain.ts';
import { parseJson } from '../json.ts';
import { badFields } from '../keyFields.ts';
import { IdentityObject } from '../keyObject.ts';
import { Count, DurationMs, Id, LimitName, Positive, strict, words } from '../schemas.ts';
import type { Service } from '../service.ts';
import { shownLimit, verdictText } from '../verdictText.ts';

const IDEMPOTENCY_PATTERN = `^[A-Za-z0-9_-]{${MIN_IDEMPOTENCY_KEY_LENGTH},${MAX_IDEMPOTENCY_KEY_LENGTH}}$`;
const IDEMPOTENCY_WORDS = `${MIN_IDEMPOTENCY_KEY_LENGTH} to ${MAX_IDEMPOTENCY_KEY_LENGTH} of the characters A-Z a-z 0-9 _ -`;
const isIdempotencyKey = new RegExp(IDEMPOTENCY_PATTERN);

const VerifyBody = strict({
  key: Type.String({ minLength: 1 }),
  apiId: Type.Optional(Id),
  remaining: Type.Optional(strict({ cost: Type.Optional(Count) })),
  ratelimit: Type.Optional(strict({ cost: Type.Optional(Count) })),
  ratelimits: Type.Optional(
    Type.Array(
      strict({
        name: LimitName,
        cost: Type.Optional(Count),
        limit: Type.Optional(Positive),
        duration: Type.Optional(DurationMs),
        async: Type.Optional(Type.Boolean()),
      }),
      { maxItems: MAX_LIMITS_PER_KEY },
    ),
  ),
  idempotencyKey: Type.Optional(Type.String({ pattern: IDEMPOTENCY_PATTERN, description: IDEMPOTENCY_WORDS })),
  clientIp: Type.Optional(words(1, 64)),
});

type VerifyBody = Static<typeof VerifyBody>;

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

const compiled = Compile(VerifyBody);

const JSON_HEADERS = { headers: { 'content-type': 'application/json' } };

/** The hot path: from the request to the answer, with nothing on the way that is not needed. */
export async function answerVerification(
  service: Service,
  request: Request,
  peer: () => string | null,
): Promise<Response> {
  const startedAt = service.monotonicMs();
  const { headers } = request;
  checkContentType(headers);
  const mayVerify = service.config.verifyAuth === 'open' ? null : await verifiableApis(service, headers);
  const body = parseVerifyBody(await readBody(request, MAX_VERIFY_BODY_BYTES));
  const decided = service.engine.verifier.verify(toVerifyRequest(service, body, headers, peer, mayVerify));
  const verdict = decided instanceof Promise ? await decided : decided;
  const response = toResponse(service, verdict, request.url);
  service.metrics.verified(verdict.code, service.monotonicMs() - startedAt);
  return response;
}

function parseVerifyBody(text: string): VerifyBody {
  const body = parseJson(text);
  if (compiled.Check(body)) return body;
  throw badFields(explain(VerifyBody, body));
}

function toVerifyRequest(
  { digester, trustedProxies, callerAddress }: Service,
  body: VerifyBody,
  headers: Headers,
  peer: () => string | null,
  mayVerify: VerifyRequest['mayVerify'],
): VerifyRequest {
  const { key, clientIp } = body;
  const isShaped = isSecretShaped(key);
  const clientAddress = clientIp === undefined ? null : parseAddress(clientIp);
  if (clientIp !== undefined && clientAddress === null) {
    throw badFields([{ path: 'clientIp', message: 'clientIp must be an IPv4 or IPv6 address' }]);
  }
  return {
    secretDigest: isShaped ? digester.digest(key) : null,
    olderDigests: isShaped && digester.hasOlder ? () => digester.older(key) : null,
    apiId: body.apiId ?? null,
    creditCost: body.remaining?.cost ?? 1,
    limits: toLimitRequests(body),
    clientAddress: () => clientAddress ?? callerAddress(peer(), headers.get('x-forwarded-for'), trustedProxies),
    idempotency: toIdempotency(body, headers.get('idempotency-key')),
    mayVerify,
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
    throw badFields([{ path: 'ratelimits', message: `the limit ${JSON.stringify(doubled)} is named twice` }]);
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
  const name = structuredText(limit.name);
  headers['ratelimit-policy'] = `${name};q=${limit.limit};w=${Math.ceil(limit.durationMs / 1000)}`;
  headers['ratelimit'] = `${name};r=${limit.remaining};t=${seconds}`;
  if (verdict.code === 'RATE_LIMITED') headers['retry-after'] = String(seconds);
}

/** A name as a quoted string of a structured header: ASCII only, the rest is replaced. */
function structuredText(name: string): string {
  return `"${name.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
}
