import type { Schedule } from './calendar.ts';
/** The records as they are stored. Times are unix milliseconds. A field that is not set is null. */
export interface RefillRule extends Schedule {
  readonly amount: number;
  readonly mode: 'restore' | 'add';
  /** Ceiling of `add`; null = 2^53-1. */
  readonly max: number | null;
  /** When the rule was set. Boundaries before that instant refilled nothing. */
  readonly sinceMs: number;
}
/** A refill rule of a plan, and since when it is in force; null = no refill. */
export interface RefillVersion {
  readonly fromMs: number;
  readonly rule: RefillRule | null;
}
/** One rule for all time, or the rules that a plan has had, the oldest first. */
export type RefillRules = RefillRule | readonly RefillVersion[];
/** What events tell of in advance. A field that is absent is that of the identity or the plan. */
export interface Alerts {
  /** How long before its expiry `key.expiring` tells of a key. */
  readonly expiresWithinMs?: number;
  /** `credits.low` tells of a balance below this one. */
  readonly creditsBelow?: number;
}
/** The credits of a key or an identity. The ledger holds the balance, under this account. */
export interface CreditsRecord {
  readonly account: number;
  readonly refill: RefillRule | null;
  /** A plan brought the counter. It ends with a move to a plan without credits. */
  readonly ofPlan?: true;
  /** It counts what is spent, without a balance. */
  readonly metered?: true;
}
/** Credits with the rules that refill them: those of their owner, or those of the owner's plan. */
export interface HeldCredits {
  readonly account: number;
  readonly refill: RefillRules | null;
  readonly metered?: true;
}
/** A call that granted or adjusted credits. It is kept, so that a repeated payment does not top up twice. */
export interface CreditCall {
  /** `grant_...` or `adj_...` */
  readonly id: string;
  /** The key or identity. */
  readonly owner: string;
  readonly kind: 'grant' | 'adjust';
  /** Negative for an adjustment that lowers the balance. */
  readonly amount: number;
  readonly expiresAtMs: number | null;
  readonly reason: string;
  readonly idempotencyId: string | null;
  readonly atMs: number;
}
export interface LimitRecord {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  /** The strict window's account in the ledger; null when the limit is local. */
  readonly account: number | null;
  /** Of an identity's limit. false: it applies to the verifications that name it. Absent: to every verification of its keys. */
  readonly autoApply?: false;
  /** `limit.reached` tells of the first refusal in each window. */
  readonly notify?: true;
}
/** What a holder of a plan has of it: an identity, or a key without one. It refers to the plan and copies nothing. */
export interface OnPlan {
  /** The plan that it is on; null = none. */
  readonly planId: string | null;
  /** The plan that it moves to at an instant; null = none. */
  readonly planMove: PlanMove | null;
}
/** A key of an identity is on no plan: its identity is. */
export interface KeyRecord extends OnPlan {
  readonly id: string;
  readonly apiId: string;
  readonly identityId: string | null;
  readonly secretDigest: string;
  readonly start: string;
  /** Random bytes of the secret. A rotated secret has as many. null = the key was imported. */
  readonly byteLength: number | null;
  readonly name: string | null;
  /** JSON text of an object; null = none. It stays text, because verification never reads it. */
  readonly meta: string | null;
  readonly environment: string | null;
  readonly enabled: boolean;
  readonly expiresAtMs: number | null;
  readonly credits: CreditsRecord | null;
  readonly limits: readonly LimitRecord[];
  readonly ipAllowlist: readonly string[];
  /** null = those of its identity, or of the plan of that. */
  readonly alerts: Alerts | null;
  /** The expiry that `key.expiring` has told of; null = it has not yet. */
  readonly toldExpiryMs: number | null;
  /** May still contain ids of deleted roles and permissions. Such an id has no effect. */
  readonly roleIds: readonly string[];
  readonly permissionIds: readonly string[];
  /** The generation that its api had when the key was made or restored. Deleting all keys of an api begins a new generation. */
  readonly generation: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly deletedAtMs: number | null;
  /** Grows with every change. A spend names the revision that it was decided under. */
  readonly revision: number;
}
/** The limit that a new key of an api gets when its creation names none. */
export interface DefaultLimit {
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
}
export interface ApiRecord {
  readonly id: string;
  readonly name: string;
  readonly defaultPrefix: string | null;
  readonly defaultByteLength: number | null;
  readonly defaultLimit: DefaultLimit | null;
  readonly isDeleteProtected: boolean;
  /** Keys of earlier generations are deleted. */
  readonly generation: number;
  /** Keys of generations below this one are removed for good. */
  readonly purgesBelow: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly deletedAtMs: number | null;
  readonly revision: number;
}
/** A user, customer or organisation that keys belong to, with the credits and limits that its keys share. */
export interface IdentityRecord extends OnPlan {
  readonly id: string;
  readonly externalId: string;
  readonly name: string | null;
  readonly meta: string | null;
  /** False: none of its keys is valid. */
  readonly enabled: boolean;
  /** How many keys it may have; null = any number. */
  readonly maxKeys: number | null;
  /** Of its credits, and of its keys that have none themselves. null = those of its plan. */
  readonly alerts: Alerts | null;
  readonly credits: CreditsRecord | null;
  readonly limits: readonly LimitRecord[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly revision: number;
}
/**
 * What customers buy. Its holders refer to it and copy nothing: a change of the plan is a change for all of them. A field that a holder
 * has itself takes precedence.
 */
export interface PlanRecord {
  readonly id: string;
  readonly name: string;
  readonly meta: string | null;
  /** The balance of a new holder; null = the plan has no credits. It stays one or the other for all time. */
  readonly remaining: number | null;
  /** Only ever added to: a refill that was missed follows the rule that was in force then. */
  /** Its holders are counted without a balance, and `remaining` is null. */
  readonly metered: boolean;
  readonly refills: readonly RefillVersion[];
  readonly limits: readonly PlanLimit[];
  readonly roleIds: readonly string[];
  readonly permissionIds: readonly string[];
  readonly maxKeys: number | null;
  /** For its holders that have none themselves. */
  readonly alerts: Alerts | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly revision: number;
}
/** A limit of a plan has no account: each holder counts in a window of its own, which is found by its name. */
export type PlanLimit = Omit<LimitRecord, 'account'>;
export interface PlanMove {
  /** null: it leaves its plan. */
  readonly planId: string | null;
  readonly atMs: number;
  readonly balance: 'keep' | 'reset';
}
export interface PermissionRecord {
  readonly id: string;
  readonly name: string;
  /** The text that a verification asks for. */
  readonly slug: string;
  readonly description: string | null;
  readonly createdAtMs: number;
}
export interface RoleRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly permissionIds: readonly string[];
  readonly createdAtMs: number;
  readonly revision: number;
}
/** A group of identifiers of standalone limits. The same identifier in two namespaces has separate counters. */
export interface NamespaceRecord {
  readonly id: string;
  readonly name: string;
  /** Grows with every change of an override whose identifier is a pattern. */
  readonly patternsRevision: number;
  readonly createdAtMs: number;
}
/** Other numbers for one identifier, or for all identifiers that a pattern with `*` matches. */
export interface OverrideRecord {
  readonly id: string;
  readonly namespaceId: string;
  readonly identifier: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly revision: number;
}
export interface RootKeyRecord {
  readonly id: string;
  readonly secretDigest: string;
  readonly start: string;
  readonly name: string | null;
  readonly rights: readonly string[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
}
/** A browser that is signed in with a root key. */
export interface SessionRecord {
  /** `ses_...` */
  readonly id: string;
  /** Of the secret in the browser's cookie. */
  readonly digest: string;
  readonly rootKeyId: string;
  readonly createdAtMs: number;
  /** Saved now and then, not with every request. */
  readonly usedAtMs: number;
  /** When it ends if it is not used again. */
  readonly untilMs: number;
  /** The address that signed in. */
  readonly origin: string | null;
  /** How the browser names itself. */
  readonly browser: string | null;
}
/** A target that events are sent to. */
export interface WebhookRecord {
  readonly id: string;
  readonly url: string;
  /** The types of events that it gets; null = all. */
  readonly types: readonly string[] | null;
  readonly enabled: boolean;
  /** When the service paused it, because its target failed for too long; null = it is not paused. */
  readonly pausedAtMs: number | null;
  readonly pausedBecause: string | null;
  /** The signing secret, encrypted. */
  readonly secret: string;
  /** The secret before the last rotation, which also signs until `formerUntilMs`. */
  readonly formerSecret: string | null;
  readonly formerUntilMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number | null;
  readonly revision: number;
}
/** The name of the limit that a key's `ratelimit` sets. */
export declare const DEFAULT_LIMIT_NAME = 'default';
