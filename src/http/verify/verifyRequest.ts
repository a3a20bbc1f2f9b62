import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { parseAddress } from '../../core/address.ts';
import { DEFAULT_RESERVATION_MS, MAX_QUERY_PARTS, MAX_TAG_LENGTH, MAX_TAGS } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { LimitRequest, VerifyRequest } from '../../engine/verify/request.ts';
import { explain } from '../request/explain.ts';
import type { Service } from '../service.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import {
  isIdempotencyKey,
  parseReserveBody,
  parseVerifyBody,
  type ReserveBody,
  soleSecret,
  toPermissionQuery,
  type VerifyBody,
} from './verifyBody.ts';
import type { VerifyCaller } from './caller.ts';
import { optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { Count, Id, IDEMPOTENCY_WORDS, PermissionName, strict, words } from '../../model/schema/schemas.ts';

/** The verification that the text of a body asks for. */
export function toVerifyRequest(service: Service, text: string, caller: VerifyCaller): VerifyRequest {
  const header = caller.asking.headers.get('idempotency-key');
  const secret = header === null ? soleSecret(text) : null;
  return secret === null
    ? fullRequest(service, parseVerifyBody(text), caller, header)
    : plainRequest(service, secret, caller);
}

/** A request that names only the key. */
function plainRequest(service: Service, secret: string, caller: VerifyCaller): VerifyRequest {
  const { digester } = service;
  return {
    secretDigest: digester.digest(secret),
    olderDigests: digester.hasOlder ? () => digester.older(secret) : null,
    apiId: null,
    creditCost: 1,
    limits: null,
    permissions: null,
    tags: null,
    caller: caller,
    idempotency: null,
    mayVerify: caller.mayVerify,
    reservation: null,
    isExplained: false,
  };
}

/** `header`: the Idempotency-Key of the call. */
export function fullRequest(
  service: Service,
  body: VerifyBody,
  caller: VerifyCaller,
  header: string | null = null,
): VerifyRequest {
  const { key, clientIp } = body;
  const named = clientIp === undefined ? null : parseAddress(clientIp);
  if (clientIp !== undefined && named === null) {
    throw badFields([
      { path: 'clientIp', message: `clientIp must be an IPv4 or IPv6 address, got ${repeatable(clientIp)}` },
    ]);
  }
  return {
    ...plainRequest(service, key, caller),
    ...(named === null ? {} : { caller: { address: () => named } }),
    // No key has such a secret. It is hashed all the same, so that the time of the answer does not show its shape.
    ...(isSecretShaped(key) ? {} : { secretDigest: null, olderDigests: null }),
    apiId: body.apiId ?? null,
    creditCost: body.remaining?.cost ?? 1,
    limits: toLimitRequests(body),
    permissions: toPermissionQuery(body.authorization?.permissions),
    tags: body.tags === undefined || body.tags.length === 0 ? null : [...new Set(body.tags)].toSorted(),
    idempotency: toIdempotency(body, header),
    isExplained: body.explain === true,
  };
}

/** The verification that the body of a reservation asks for. */
export function toReserveRequest(service: Service, text: string, caller: VerifyCaller): VerifyRequest {
  const body = parseReserveBody(text);
  const { cost, ttlMs = DEFAULT_RESERVATION_MS, onExpiry = 'release', ...shared } = body;
  const header = caller.asking.headers.get('idempotency-key');
  return {
    ...fullRequest(service, { ...shared, remaining: { cost } }, caller, header),
    idempotency: toIdempotency(body, header),
    reservation: service.engine.reservations.terms(ttlMs, onExpiry),
  };
}

function toLimitRequests({ ratelimit, ratelimits = [] }: VerifyBody): LimitRequest[] | null {
  if (ratelimit?.cost === undefined && ratelimits.length === 0) return null;
  const requests: LimitRequest[] = ratelimits.map(({ duration, ...rest }) =>
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

function toIdempotency(body: VerifyBody | ReserveBody, header: string | null): VerifyRequest['idempotency'] {
  const id = body.idempotencyKey ?? header;
  if (id === null) return null;
  if (header !== null && body.idempotencyKey !== undefined && header !== body.idempotencyKey) {
    throw badFields([{ path: 'idempotencyKey', message: 'idempotencyKey and the header Idempotency-Key differ' }]);
  }
  if (header !== null && !isIdempotencyKey.test(header)) {
    throw badFields([
      {
        path: 'idempotencyKey',
        message: `the header Idempotency-Key must be ${IDEMPOTENCY_WORDS}, got ${repeatable(header)}`,
      },
    ]);
  }
  // The secret is left out: the key is the scope, and nothing derived from the secret is stored twice. An explanation takes nothing.
  const { key: _key, idempotencyKey: _id, explain: _explain, ...asked } = { explain: false, ...body };
  return { id, requestDigest: Bun.SHA256.hash(canonical(asked), 'base64') };
}

/** The same request gives the same text, whatever the order of its fields. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

/** The whole list is one more part of a permission query. */
const MAX_PERMISSIONS_ASKED = MAX_QUERY_PARTS - 1;

/** What a gateway asks for, in the query of its own configuration. */
export const ForwardQuery = strict({
  permission: optional(
    Type.Array(PermissionName, { maxItems: MAX_PERMISSIONS_ASKED }),
    'A permission that the key must hold. Repeated: it must hold all of them.',
    ['orders.read'],
  ),
  cost: optional(Count, 'The credits to take. 0 checks the key without taking anything. 1 when absent.', 1),
  apiId: optional(Id, 'The api that the key must belong to. A key of another api is FORBIDDEN.', EXAMPLE.apiId),
  tag: optional(
    Type.Array(words(1, MAX_TAG_LENGTH), { maxItems: MAX_TAGS }),
    'A tag that analytics counts the verification under. It can be repeated.',
    ['path=/orders'],
  ),
  deny: optional(
    Type.Literal('403'),
    'Answers every refusal but 401 with 403, for gateways that pass on no other status, such as nginx.',
    '403',
  ),
});

export type ForwardQuery = Static<typeof ForwardQuery>;

const LISTS: readonly string[] = ['permission', 'tag'];
/** All permissions and tags, and one of each other parameter. */
const MAX_PARAMETERS = MAX_PERMISSIONS_ASKED + MAX_TAGS + 3;
const REPEATED = 'A parameter of the query was sent twice. Only permission and tag may be repeated.';
const compiled = Compile(ForwardQuery);

/** Reads the query of a gateway strictly: a parameter that is unknown or unclear may be one that should refuse requests. */
export function readForwardQuery({ search, searchParams }: URL): ForwardQuery {
  checkEscapes(search);
  const query: Record<string, string | number | string[]> = Object.create(null) as Record<string, never>;
  if (searchParams.size > MAX_PARAMETERS) {
    throw new AppError(
      'BAD_REQUEST',
      `The query must have at most ${MAX_PARAMETERS} parameters, got ${searchParams.size}.`,
    );
  }
  for (const [name, value] of searchParams) {
    const before = query[name];
    if (Array.isArray(before)) before.push(value);
    else if (before !== undefined) throw new AppError('BAD_REQUEST', REPEATED);
    else query[name] = LISTS.includes(name) ? [value] : toValue(name, value);
  }
  if (compiled.Check(query)) return query;
  throw badFields(explain(ForwardQuery, query));
}

function toValue(name: string, text: string): string | number {
  return name === 'cost' && /^\d{1,16}$/.test(text) ? Number(text) : text;
}

/** `URLSearchParams` would read a wrong escape as another text. */
function checkEscapes(search: string): void {
  try {
    decodeURIComponent(search);
  } catch {
    throw new AppError('BAD_REQUEST', 'The query has a "%" that does not begin an escaped character of UTF-8.');
  }
}
