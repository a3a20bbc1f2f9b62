import type { Address } from '../../core/address.ts';
import type { PermissionQuery } from '../../core/permissions.ts';
import type { OnExpiry } from '../../core/reservation.ts';

/** A request to verify one key. */
export interface VerifyRequest {
  /** The digest of the secret; null when no key can have a secret of this shape. */
  readonly secretDigest: string | null;
  /** Digests under older peppers, to try when the first is unknown; null = none. */
  readonly olderDigests: (() => readonly string[]) | null;
  readonly apiId: string | null;
  readonly creditCost: number;
  readonly limits: readonly LimitRequest[] | null;
  /** The permissions that the key must hold; null = not asked. */
  readonly permissions: PermissionQuery | null;
  /** Tags that analytics counts the verification under, besides its key. */
  readonly tags: readonly string[] | null;
  readonly caller: Caller;
  readonly idempotency: { readonly id: string; readonly requestDigest: string } | null;
  /** The caller may verify keys of this api; null = of all apis. Any other key is NOT_FOUND for it. */
  readonly mayVerify: ((apiId: string) => boolean) | null;
  /** The credits are held under these terms, instead of taken; null = a plain verification. */
  readonly reservation: ReservationTerms | null;
  /** The verdict says what each check found (explanation.ts). With a cost of 0, limits that are not named cost nothing either. */
  readonly isExplained: boolean;
}

export interface ReservationTerms {
  /** The id of the reservation, if it is made. */
  readonly id: string;
  readonly ttlMs: number;
  readonly onExpiry: OnExpiry;
}

/** The caller. Its address is read only for keys that have an allowlist. */
export interface Caller {
  address(): Address | null;
}

/** One limit as a request names it. */
export interface LimitRequest {
  readonly name: string;
  readonly cost?: number;
  readonly limit?: number;
  readonly durationMs?: number;
  readonly async?: boolean;
}
