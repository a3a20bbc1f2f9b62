import { AppError } from '../../core/errors.ts';
import type { Asking, HeaderLookup, Peer } from '../service.ts';
import type { ForwardQuery } from './verifyRequest.ts';
import type { VerifyBody } from './verifyBody.ts';

/** A gateway's own header: the Authorization header belongs to its client. */
const ROOT_KEY_HEADER = 'keystile-root-key';
/** Two headers of one name arrive as one, with a comma and a blank. So a key of a client has no blank. */
const TOKEN = /^\S+$/;
const BEARER = /^Bearer +(\S+)$/i;
const ANY_BEARER = /(?:^|,)\s*Bearer(?:\s|,|$)/i;

const NO_KEY = 'The request has no key: send it as "Authorization: Bearer <key>" or as "X-API-Key: <key>".';
const UNCLEAR_KEY = 'The request must have one key, in one header Authorization or X-API-Key.';

/** The one key of the client. With two of them, the gateway's service and this node could mean different ones. */
export function clientKey(headers: HeaderLookup): string {
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
export function gatewayAsking(headers: HeaderLookup, peer: Peer): Asking {
  const rootKey = headers.get(ROOT_KEY_HEADER);
  const shown: Readonly<Record<string, string | null>> = {
    'content-type': 'application/json',
    'x-forwarded-for': headers.get('x-forwarded-for'),
    authorization: rootKey === null || !TOKEN.test(rootKey) ? null : `Bearer ${rootKey}`,
  };
  return { headers: { get: (name) => shown[name] ?? null }, peer };
}

export function forwardBody(key: string, { permission, cost, apiId, tag }: ForwardQuery): VerifyBody {
  return {
    key,
    ...(apiId === undefined ? {} : { apiId }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(permission === undefined ? {} : { authorization: { permissions: { and: permission } } }),
    ...(cost === undefined ? {} : { remaining: { cost } }),
  };
}

/** A refused root key is a fault of the gateway. With a 401, its client would look for the fault in its own key. */
export function gatewayFailure(failure: unknown, { headers }: Asking): unknown {
  if (!(failure instanceof AppError) || failure.code !== 'UNAUTHORIZED') return failure;
  const told =
    headers.get('authorization') === null
      ? 'The root key of the gateway is missing: let the gateway set the header Keystile-Root-Key, once.'
      : `The root key that the gateway set in Keystile-Root-Key is refused. ${failure.message}`;
  return new AppError('INSUFFICIENT_PERMISSIONS', told);
}
