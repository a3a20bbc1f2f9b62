import { type Address, parseAddress } from '../../core/address.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { holdsRight, holdsRightSomewhere } from '../../core/rights.ts';
import { isSecretShaped } from '../../core/secret.ts';
import type { LimitRequest } from '../../engine/verify/appliedLimits.ts';
import type { Caller, VerifyRequest } from '../../engine/verify/request.ts';
import { badFields } from '../shapes/keyFields.ts';
import { toPermissionQuery } from './permissionQuery.ts';
import type { Asking, HeaderLookup, Service } from '../service.ts';
import { IDEMPOTENCY_WORDS, isIdempotencyKey, parseVerifyBody, soleSecret, type VerifyBody } from './verifyBody.ts';

/** Who asks, and from where. */
export class HttpCaller implements Caller {
  readonly asking: Asking;
  readonly mayVerify: VerifyRequest['mayVerify'];
  /** The address that the request itself names. */
  named: Address | null = null;
  readonly #service: Service;

  constructor(service: Service, asking: Asking, mayVerify: VerifyRequest['mayVerify']) {
    this.asking = asking;
    this.mayVerify = mayVerify;
    this.#service = service;
  }

  address(): Address | null {
    return this.named ?? this.#service.addressOf(this.asking);
  }
}

/** From the text of a body to the question that it asks. */
export function toVerifyRequest(service: Service, text: string, caller: HttpCaller): VerifyRequest {
  const header = caller.asking.headers.get('idempotency-key');
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
    permissions: null,
    tags: null,
    caller,
    idempotency: null,
    mayVerify: caller.mayVerify,
  };
}

export function fullRequest(
  service: Service,
  body: VerifyBody,
  header: string | null,
  caller: HttpCaller,
): VerifyRequest {
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
    permissions: toPermissionQuery(body.authorization?.permissions),
    tags: body.tags === undefined || body.tags.length === 0 ? null : [...new Set(body.tags)].toSorted(),
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

/** Where verifying needs a root key: which apis' keys it may verify, and how many. */
export interface Asker {
  readonly mayVerify: NonNullable<VerifyRequest['mayVerify']>;
  /** Refused when they are too many for this second. */
  take(count: number): void;
}

export async function authenticateAsker({ engine, rootDigests }: Service, headers: HeaderLookup): Promise<Asker> {
  const { rootKey } = await engine.rootKeyAccess.authenticate(rootDigests(headers), engine.storage.ledger.nowMs());
  if (!holdsRightSomewhere(rootKey.rights, 'api.verify_key')) {
    throw new AppError('INSUFFICIENT_PERMISSIONS', 'This root key lacks the right api.*.verify_key.');
  }
  return {
    mayVerify: (apiId) => holdsRight(rootKey.rights, 'api.verify_key', apiId),
    take: (count) => engine.verificationQuota.take(rootKey.id, count, engine.storage.ledger.nowMs()),
  };
}
