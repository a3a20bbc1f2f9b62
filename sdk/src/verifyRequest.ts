import type { VerifyRequest } from './generated/api.ts';

/** A permission, or several of which all (`and`) or one (`or`) must be held. */
export type PermissionQuery =
  | string
  | { readonly and: readonly PermissionQuery[] }
  | { readonly or: readonly PermissionQuery[] };

export interface RequestedLimit {
  /** A limit of the key or its identity, or with `limit` and `duration` one of this request. */
  readonly name: string;
  readonly cost?: number | undefined;
  readonly limit?: number | undefined;
  /** Milliseconds. */
  readonly duration?: number | undefined;
  readonly async?: boolean | undefined;
}

export interface VerifyOptions {
  /** The key must belong to this api. */
  readonly apiId?: string | undefined;
  /** Credits to take; 1 if absent, 0 takes none. */
  readonly cost?: number | undefined;
  readonly permissions?: PermissionQuery | undefined;
  /** Counted in analytics. */
  readonly tags?: readonly string[] | undefined;
  readonly ratelimits?: readonly RequestedLimit[] | undefined;
  /** The address that is checked against the key's `ipAllowlist`. */
  readonly clientIp?: string | undefined;
  /**
   * Sends an idempotency key, so that a verification whose answer was lost is tried again and charged once. A key has at most 10,000 of
   * them at a time: use it for what must not be lost, not for every call.
   */
  readonly idempotent?: boolean | undefined;
  /** The idempotency key to send, when the caller repeats a call by itself. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The options as the service reads them. */
export function toWire(key: string, options: VerifyOptions): VerifyRequest {
  const { apiId, cost, permissions, tags, ratelimits, clientIp, idempotent, idempotencyKey } = options;
  return {
    key,
    ...(apiId === undefined ? {} : { apiId }),
    ...(cost === undefined ? {} : { remaining: { cost } }),
    ...(permissions === undefined ? {} : { authorization: { permissions } }),
    ...(tags === undefined ? {} : { tags }),
    ...(ratelimits === undefined ? {} : { ratelimits }),
    ...(clientIp === undefined ? {} : { clientIp }),
    ...(idempotencyKey !== undefined ? { idempotencyKey } : idempotent === true ? { idempotencyKey: newKey() } : {}),
  };
}

function newKey(): string {
  return crypto.randomUUID();
}
