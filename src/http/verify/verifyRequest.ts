import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { parseAddress } from '../../core/address.ts';
import {
  DEFAULT_RESERVATION_MS,
  MAX_QUERY_PARTS,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_ISSUES,
  MAX_LIMITS_PER_KEY,
  MAX_PERMISSION_LENGTH,
  MAX_RESERVATION_MS,
  MAX_SECRET_LENGTH,
  MIN_RESERVATION_MS,
} from '../../core/bounds.ts';
import { AppError, repeatable, type Issue } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { LimitRequest, VerifyRequest } from '../../engine/verify/request.ts';
import { explain, given } from '../request/explain.ts';
import type { Service } from '../service.ts';
import { badFields } from '../shapes/schema/badFields.ts';
import type { VerifyCaller } from './caller.ts';
import {
  optional,
  component,
  EXPECTED,
  field,
  former,
  recursive,
  recursiveReference,
} from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import {
  Count,
  Id,
  IDEMPOTENCY_WORDS,
  PermissionName,
  strict,
  words,
  DurationMs,
  IDEMPOTENCY_PATTERN,
  LimitName,
  Positive,
} from '../../model/schema/schemas.ts';
import type { PermissionQuery as Query } from '../../core/permissions.ts';
import { parseJson } from '../request/json.ts';
import { OnExpiryName } from '../shapes/counters/reservationObject.ts';
import { ApiId } from '../shapes/schema/commonFields.ts';
import { lengthOf } from '../../model/schema/textRules.ts';

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
const compiledQuery = Compile(ForwardQuery);

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
  if (compiledQuery.Check(query)) return query;
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

const isIdempotencyKey = new RegExp(IDEMPOTENCY_PATTERN);

const PARTS_WORDS =
  'Each is a permission, `{"and": [...]}` or `{"or": [...]}`. null entries are skipped; a list with nothing left in it answers 400.';
/** The valid parts of a query, at any depth. */
const QUERY_WORDS = `a permission of 1 to ${MAX_PERMISSION_LENGTH} characters, {and: [...]}, {or: [...]} or null`;

const Parts = Type.Array(recursiveReference('PermissionQuery'));

/** Any JSON value. `toPermissionQuery` reads and checks it. */
const PermissionQuery = recursive(
  'PermissionQuery',
  Type.Union(
    [
      words(1, MAX_PERMISSION_LENGTH),
      component(
        'AllPermissions',
        strict({
          and: field(Parts, `The parts of a query, all of which the key must satisfy. ${PARTS_WORDS}`, [
            'documents.read',
            'documents.write',
          ]),
        }),
        'The key must satisfy all parts.',
        { and: ['documents.read', 'documents.write'] },
      ),
      component(
        'AnyPermission',
        strict({
          or: field(Parts, `The parts of a query, of which the key must satisfy at least one. ${PARTS_WORDS}`, [
            'documents.read',
            'admin',
          ]),
        }),
        'The key must satisfy at least one part.',
        { or: ['documents.read', 'admin'] },
      ),
      Type.Null(),
    ],
    { [EXPECTED]: QUERY_WORDS },
  ),
);

const COST_WORDS = 'How much the verification takes. 0 checks without taking anything. 1 when absent.';

const Cost = component(
  'Cost',
  strict({ cost: optional(Count, COST_WORDS, 1) }),
  'How much a verification takes, of credits or of a limit.',
  { cost: 5 },
);

const RequestedLimit = component(
  'RequestedRatelimit',
  strict({
    name: field(
      LimitName,
      'The name of a limit of the key or its customer, or of a new one, 1 to 128 characters.',
      'exports',
    ),
    cost: optional(Count, COST_WORDS, 5),
    limit: optional(
      Positive,
      'Replaces the number of a configured limit for this verification. Together with `duration` it makes an ad-hoc limit. The configured number when absent.',
      100,
    ),
    duration: optional(
      DurationMs,
      'Replaces the window of a configured limit, in milliseconds from 1000 to 31622400000 (366 days). The configured one when absent.',
      60000,
    ),
    async: optional(
      Type.Boolean(),
      'The mode of an ad-hoc limit: true is local, false is strict. true when absent. It cannot be set for a configured limit.',
      true,
    ),
  }),
  'A rate limit that a verification names: to set its cost or numbers, or to add a limit for this verification.',
  { name: 'exports', cost: 5 },
);

const RequestedAuthorization = component(
  'RequestedAuthorization',
  strict({
    permissions: optional(
      PermissionQuery,
      'The permissions that the key must have: one of 1 to 512 characters, `{"and": [...]}` or `{"or": [...]}`, nested as deep as you like, with at most 100 parts together. null asks for nothing.',
      { and: ['documents.read', { or: ['billing.pay', 'admin'] }] },
    ),
  }),
  'What a verification asks a key to be allowed to do.',
  { permissions: 'documents.read' },
);

/** The fields that a verification and a reservation share: the key, and what is asked of it. */
const ASKED_FIELDS = {
  key: field(
    Type.String({ minLength: 1 }),
    'The secret that your customer sent. A text that cannot be a key answers NOT_FOUND.',
    EXAMPLE.secret,
  ),
  apiId: optional(ApiId, 'The api that the key must belong to; any other key is FORBIDDEN. Any api when absent.'),
  tags: optional(
    Type.Array(words(1, MAX_TAG_LENGTH), { maxItems: MAX_TAGS }),
    'Tags that analytics count the verification by: at most 10, each of 1 to 128 characters. Use tags with few different values, such as a route or a region.',
    ['path=/v1/charge', 'eu'],
  ),
  authorization: optional(
    RequestedAuthorization,
    'What the key must be allowed to do. Nothing is asked for when absent.',
    { permissions: 'documents.read' },
  ),
};

/** How both are counted. */
const COUNTED_FIELDS = {
  ratelimits: optional(
    Type.Array(RequestedLimit, { maxItems: MAX_LIMITS_PER_KEY }),
    'Limits with another cost or other numbers than configured, and limits with `autoApply: false` that should apply: at most 50. The other limits apply with a cost of 1.',
    [{ name: 'exports', cost: 5 }],
  ),
  idempotencyKey: optional(
    Type.String({ pattern: IDEMPOTENCY_PATTERN, [EXPECTED]: IDEMPOTENCY_WORDS }),
    `A text of your own that makes a retry safe: ${IDEMPOTENCY_WORDS}. A repeated verification gets the same verdict and is charged once. You can send it as the header Idempotency-Key instead; if you send both, they must be equal.`,
    'order-4711',
  ),
  clientIp: optional(
    words(1, 64),
    "The address of your customer, which is checked against the key's `ipAllowlist`. The address of the caller when absent.",
    '203.0.113.7',
  ),
};

export const VerifyBody = component(
  'VerifyRequest',
  strict({
    ...ASKED_FIELDS,
    remaining: optional(Cost, 'How many credits the verification takes.', {
      cost: 5,
    }),
    ratelimit: former(Cost, 'Older form of `ratelimits` for the limit with the name `default`.', { cost: 1 }),
    ...COUNTED_FIELDS,
    explain: optional(
      Type.Boolean(),
      'true: the verdict says what each check found, and what was taken of credits and limits (`explanation`). It needs a root key with the right `api.<apiId>.read_key`. With `remaining.cost` 0, limits that are not named cost 0 too, so that nothing is spent; analytics do not count such a verification. false when absent.',
      true,
    ),
  }),
  'A verification: the key, and what the request needs.',
  { key: EXAMPLE.secret },
);

export type VerifyBody = Static<typeof VerifyBody>;

const compiled = Compile(VerifyBody);

/** Parses any verify body strictly. */
export function parseVerifyBody(text: string): VerifyBody {
  const body = parseJson(text);
  if (compiled.Check(body)) return body;
  throw badFields(explain(VerifyBody, body));
}

const HEAD = '{"key":"';
const TAIL = '"}';

/**
 * The secret of a body that is just `{"key":"..."}` with nothing to unescape, or null. Nearly every verification looks so,
 * and reading it so costs about a sixth (0.06 µs against 0.33). It answers only where `parseVerifyBody` would say the same, and where
 * the secret has the shape that `isSecretShaped` asks for.
 */
export function soleSecret(text: string): string | null {
  const end = text.length - TAIL.length;
  const length = end - HEAD.length;
  if (length < 1 || length > MAX_SECRET_LENGTH || !text.startsWith(HEAD) || !text.endsWith(TAIL)) return null;
  for (let i = HEAD.length; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return null;
  }
  return text.slice(HEAD.length, end);
}

export const ReserveBody = component(
  'ReserveRequest',
  strict({
    ...ASKED_FIELDS,
    // Not 0: a reservation that holds nothing could be charged for nothing.
    cost: field(Positive, 'The credits to hold, from 1 on: the most that you expect the call to cost.', 4000),
    ttlMs: optional(
      Type.Integer({ minimum: MIN_RESERVATION_MS, maximum: MAX_RESERVATION_MS }),
      'How long the credits are held, in milliseconds from 1000 to 86400000 (24 hours). 600000 (10 minutes) when absent.',
      600000,
    ),
    onExpiry: optional(
      OnExpiryName,
      'What becomes of the credits when the reservation is neither settled nor released in time. `release` when absent.',
    ),
    ...COUNTED_FIELDS,
  }),
  'A reservation: a verification that holds credits.',
  { key: EXAMPLE.secret, cost: 4000 },
);

export type ReserveBody = Static<typeof ReserveBody>;

const compiledReserve = Compile(ReserveBody);

function parseReserveBody(text: string): ReserveBody {
  const body = parseJson(text);
  if (compiledReserve.Check(body)) return body;
  throw badFields(explain(ReserveBody, body));
}

const PATH = 'authorization.permissions';

/**
 * Null: the query asks for nothing. Null entries are left out. A part without any entries left is refused, at any depth: leaving
 * it out would let requests pass that its author meant to refuse.
 */
export function toPermissionQuery(query: unknown): Query | null {
  if (query === undefined) return null;
  const reading = new QueryReading();
  const read = reading.part(query, PATH);
  if (reading.issues.length > 0) throw badFields(reading.issues);
  return read;
}

/** Stops after the last problem that is reported, or at the first part beyond the maximum. */
class QueryReading {
  readonly issues: Issue[] = [];
  #parts = 0;

  part(query: unknown, path: string): Query | null {
    if (++this.#parts === MAX_QUERY_PARTS + 1) {
      this.issues.push({
        path: PATH,
        message: `${PATH} must have at most ${MAX_QUERY_PARTS} parts, at all depths together`,
      });
    }
    if (query === null || this.#isOver()) return null;
    if (typeof query === 'string' && query !== '' && lengthOf(query) <= MAX_PERMISSION_LENGTH) return query;
    const members = typeof query === 'object' ? Object.entries(query) : [];
    const [[name, list] = ['', null]] = members;
    if (members.length === 1 && (name === 'and' || name === 'or') && Array.isArray(list)) {
      return this.#list(name, list, path);
    }
    this.issues.push({ path, message: `${path} must be ${QUERY_WORDS}, got ${given(path, query)}` });
    return null;
  }

  #list(name: 'and' | 'or', list: readonly unknown[], path: string): Query | null {
    const parts: Query[] = [];
    for (let i = 0; i < list.length && !this.#isOver(); i++) {
      const part = this.part(list[i], `${path}.${name}[${i}]`);
      if (part !== null) parts.push(part);
    }
    if (parts.length > 0) return name === 'and' ? { and: parts } : { or: parts };
    // The parts have reported their own problems already.
    if (!this.#isOver() && list.every((part) => part === null)) {
      this.issues.push({ path, message: `${path} names no permission; name one, or leave the field out` });
    }
    return null;
  }

  #isOver(): boolean {
    return this.#parts > MAX_QUERY_PARTS || this.issues.length >= MAX_ISSUES;
  }
}
