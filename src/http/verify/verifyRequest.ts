import { parseAddress } from '../../core/address.ts';
import { DEFAULT_RESERVATION_MS } from '../../core/bounds.ts';
import { repeatable } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { LimitRequest } from '../../engine/verify/request.ts';
import type { VerifyRequest } from '../../engine/verify/request.ts';
import { badFields } from '../shapes/keys/keyFields.ts';
import { toPermissionQuery } from './permissionQuery.ts';
import type { Service } from '../service.ts';
import type { Asker } from './asker.ts';
import { IDEMPOTENCY_WORDS } from '../../model/schema/schemas.ts';
import { parseReserveBody, type ReserveBody } from './reserveBody.ts';
import { isIdempotencyKey, parseVerifyBody, soleSecret, type VerifyBody } from './verifyBody.ts';

/** The verification that the text of a body asks for. */
export function toVerifyRequest(service: Service, text: string, asker: Asker): VerifyRequest {
  const header = asker.asking.headers.get('idempotency-key');
  const secret = header === null ? soleSecret(text) : null;
  return secret === null
    ? fullRequest(service, parseVerifyBody(text), asker, header)
    : plainRequest(service, secret, asker);
}

/** A request that names only the key. */
function plainRequest(service: Service, secret: string, asker: Asker): VerifyRequest {
  const { digester } = service;
  return {
    secretDigest: digester.digest(secret),
    olderDigests: digester.hasOlder ? () => digester.older(secret) : null,
    apiId: null,
    creditCost: 1,
    limits: null,
    permissions: null,
    tags: null,
    caller: asker,
    idempotency: null,
    mayVerify: asker.mayVerify,
    reservation: null,
    isExplained: false,
  };
}

/** `header`: the Idempotency-Key of the call. */
export function fullRequest(
  service: Service,
  body: VerifyBody,
  asker: Asker,
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
    ...plainRequest(service, key, asker),
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
export function toReserveRequest(service: Service, text: string, asker: Asker): VerifyRequest {
  const body = parseReserveBody(text);
  const { cost, ttlMs = DEFAULT_RESERVATION_MS, onExpiry = 'release', ...shared } = body;
  const header = asker.asking.headers.get('idempotency-key');
  return {
    ...fullRequest(service, { ...shared, remaining: { cost } }, asker, header),
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
