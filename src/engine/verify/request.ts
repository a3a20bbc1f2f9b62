import type { Address } from '../../core/address.ts';
import type { PermissionQuery } from '../../core/permissions.ts';
import type { LimitRequest } from './appliedLimits.ts';

/** One question: may this key pass? */
export interface VerifyRequest {
  /** What the secret is stored under; null when the secret has a shape that no key can have. */
  readonly secretDigest: string | null;
  /** Where else to look when that is unknown: digests under older peppers. */
  readonly olderDigests: (() => readonly string[]) | null;
  readonly apiId: string | null;
  readonly creditCost: number;
  readonly limits: readonly LimitRequest[] | null;
  /** What the key must be allowed to do; null = not asked. */
  readonly permissions: PermissionQuery | null;
  /** How the verification is counted, beside its key. */
  readonly tags: readonly string[] | null;
  readonly caller: Caller;
  readonly idempotency: { readonly id: string; readonly requestDigest: string } | null;
  /** Apis whose keys the caller may verify; null = all. A key of another api looks to it like an unknown one. */
  readonly mayVerify: ((apiId: string) => boolean) | null;
}

/** Who asks. The address is looked up only for keys that have an allowlist. */
export interface Caller {
  address(): Address | null;
}
