// Made by 'npm run docs' from the schemas of the service. Do not edit.
import type { CallOptions } from '../call.ts';

/** When an event tells that something is about to end. A field that is absent is that of the identity or the plan. */
export type Alerts = {
  /** How long before its expiry the event `key.expiring` tells of a key, in milliseconds, from a minute to 366 days. It comes once for each key and expiry. */
  readonly expiresWithinMs?: number | undefined;
  /** The event `credits.low` tells that the balance is below this number. It comes once until the balance reaches the number again. */
  readonly creditsBelow?: number | undefined;
};

/** When an event tells that something is about to end. A field that is absent stays as it is. */
export type AlertsInput = {
  /** How long before its expiry the event `key.expiring` tells of a key, in milliseconds, from a minute to 366 days. It comes once for each key and expiry. null removes it. */
  readonly expiresWithinMs?: number | null | undefined;
  /** The event `credits.low` tells that the balance is below this number. It comes once until the balance reaches the number again. At least 1 and at most the present balance. Needs credits. null removes it. */
  readonly creditsBelow?: number | null | undefined;
};

/** The key must satisfy all parts. */
export type AllPermissions = {
  /** The parts of a query that the key must satisfy, all of them. Each is a permission, `{"and": [...]}` or `{"or": [...]}`. null entries are skipped; a list with nothing left in it is a 400. */
  readonly and: readonly (string | AllPermissions | AnyPermission | null)[];
};

/** The fields of `analytics.getVerifications`. */
export type AnalyticsGetVerificationsRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** Count only verifications of keys that belonged to this owner at that time, by your own id of 1 to 256 characters. All owners when absent. */
  readonly externalId?: string | undefined;
  /** Count only verifications of these keys, by id: one, or up to 100. All keys of the api when absent. */
  readonly keyId?: string | readonly string[] | undefined;
  /** Count only verifications with any of these tags: one, or up to 100. All when absent. */
  readonly tag?: string | readonly string[] | undefined;
  /** Count only verifications with any of these tags: one, or up to 100. All when absent. The same as `tag`; both are added together. */
  readonly tags?: string | readonly string[] | undefined;
  /** Count from this time on, in unix milliseconds, extended to whole hours, days or months. When null or absent: the last 24 hours for `hour`, else the last 30 days. */
  readonly start?: number | null | undefined;
  /** Count up to this time, without it, in unix milliseconds, extended to whole hours, days or months. It must be after `start`. Now when null or absent. */
  readonly end?: number | null | undefined;
  /** What each row stands for: one or several of these, but only one of `minute`, `hour`, `day` and `month`. One row for everything when absent. */
  readonly groupBy?: VerificationGroup | readonly VerificationGroup[] | undefined;
  /** The largest number of rows, from 1 to 10000. When absent, more than 10000 rows are a 400. */
  readonly limit?: number | undefined;
  /** What the rows are sorted by. `time` needs a time in `groupBy`. When absent: `time` if there is one, else `total`. */
  readonly orderBy?:
    | 'time'
    | 'valid'
    | 'notFound'
    | 'forbidden'
    | 'disabled'
    | 'expired'
    | 'insufficientPermissions'
    | 'rateLimited'
    | 'usageExceeded'
    | 'unauthorized'
    | 'total'
    | 'credits'
    | undefined;
  /** `asc`: the earliest or smallest row first. `desc`: the latest or largest first. When absent: `asc` by time, else `desc`. */
  readonly order?: 'asc' | 'desc' | undefined;
};

/** The key must satisfy at least one part. */
export type AnyPermission = {
  /** The parts of a query that the key must satisfy, at least one of them. Each is a permission, `{"and": [...]}` or `{"or": [...]}`. null entries are skipped; a list with nothing left in it is a 400. */
  readonly or: readonly (string | AllPermissions | AnyPermission | null)[];
};

/** An api: a group of keys that belong to one of your services. Fields that are not set are absent. */
export type Api = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly id: string;
  /** The id of this installation. It is the same in every answer. */
  readonly workspaceId: string;
  /** The name of the api, for people. */
  readonly name: string;
  /** The prefix of new keys that bring none of their own. Absent when none is set. */
  readonly defaultPrefix?: string | undefined;
  /** The number of random bytes in the secret of new keys that bring none of their own. Absent when none is set: 16. */
  readonly defaultByteLength?: number | undefined;
  /** The rate limit of new keys that bring none of their own. Absent when none is set. */
  readonly defaultRatelimit?: DefaultRatelimitState | undefined;
  /** true: `apis.deleteApi` is refused with DELETE_PROTECTED. */
  readonly deleteProtection: boolean;
};

/** The answer of `apis.createApi`. */
export type ApisCreateApiAnswer = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The name of the api, as it was sent. */
  readonly name: string;
};

/** The fields of `apis.createApi`. */
export type ApisCreateApiRequest = {
  /** The name of the api, for people: 3 to 256 characters, not blank. It need not be unique. */
  readonly name: string;
};

/** The fields of `apis.deleteApi`. */
export type ApisDeleteApiRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
};

/** The answer of `apis.deleteKeys`. */
export type ApisDeleteKeysAnswer = {
  /** How many keys were deleted. */
  readonly deletedKeys: number;
};

/** The fields of `apis.deleteKeys`. */
export type ApisDeleteKeysRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** true: the records of the keys are removed too, and the keys cannot be restored. false when absent. */
  readonly permanent?: boolean | undefined;
};

/** The fields of `apis.getApi`. */
export type ApisGetApiRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
};

/** The answer of `apis.listApis`. */
export type ApisListApisAnswer = {
  /** The apis of this page. */
  readonly apis: readonly Api[];
  /** The exact number of records on all pages together, at the time of this call. */
  readonly total: number;
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `apis.listApis`. */
export type ApisListApisRequest = {
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The answer of `apis.listKeys`. */
export type ApisListKeysAnswer = {
  /** The keys of this page. */
  readonly keys: readonly Key[];
  /** The exact number of records on all pages together, at the time of this call. Absent with `planId` or `state`, and when a word of `search` finds more than 20,000 keys: then a page can have fewer keys than `limit`, or none, before the last page. */
  readonly total?: number | undefined;
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `apis.listKeys`. */
export type ApisListKeysRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
  /** List only the keys of this owner, by your own id of 1 to 256 characters. All owners when absent. */
  readonly externalId?: string | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** List only keys whose `start` begins with this text in its exact spelling, or whose name and metadata have words that begin with each of its words, in upper or lower case. 1 to 256 characters. */
  readonly search?: string | undefined;
  /** List only the keys on this plan, by themselves or with their identity. */
  readonly planId?: string | undefined;
  /** List only keys in this state: `active`, `disabled`, or `expired` and not disabled. The state of their identity does not count. */
  readonly state?: 'active' | 'disabled' | 'expired' | undefined;
  /** Secrets are not stored, so they cannot be decrypted: true is refused with 412. false is accepted and changes nothing. */
  readonly decrypt?: boolean | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly revalidateKeysCache?: boolean | undefined;
};

/** The fields of `apis.updateApi`. */
export type ApisUpdateApiRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The name of the api, for people: 3 to 256 characters, not blank. It need not be unique. */
  readonly name?: string | undefined;
  /** The prefix of new keys that bring none of their own: 1 to 16 of the characters A-Z a-z 0-9 _ . -, and not `root`, `session` or `portal`. null: no prefix. */
  readonly defaultPrefix?: string | null | undefined;
  /** The number of random bytes in the secret of new keys that bring none of their own, from 16 to 255. null: 16. */
  readonly defaultByteLength?: number | null | undefined;
  /** The rate limit of new keys that bring none of their own. null: no limit. Existing keys keep theirs. */
  readonly defaultRatelimit?: DefaultRatelimit | null | undefined;
  /** true: `apis.deleteApi` is refused with DELETE_PROTECTED. */
  readonly deleteProtection?: boolean | undefined;
};

/** One change, as the audit log keeps it. It never contains a secret. */
export type AuditEntry = {
  /** The number of the entry, as a string. Later entries have higher numbers. */
  readonly id: string;
  /** When the change was made, in unix milliseconds. */
  readonly time: number;
  /** Who made the change: the id of a root key, `cli` for the command line, or `system` for the service itself. */
  readonly actor: string;
  /** What was done: a kind of record and a verb. */
  readonly action: string;
  /** The id of the record that was changed. */
  readonly target: string;
  /** The fields that differ, as they were before. Absent for a new record. */
  readonly before?: ChangedFields | undefined;
  /** The fields that differ, as they are after the change. Absent for a record that was deleted; a deleted key has `permanent` here. */
  readonly after?: ChangedFields | undefined;
  /** The address of the caller. Absent when the change did not come over the network. */
  readonly origin?: string | undefined;
  /** The `Keystile-Request-Id` of the call. One call can leave several entries. Absent when there was no request. */
  readonly requestId?: string | undefined;
  /** Where the actor made the change. `portal`: a customer did, on the customers' page that this root key gave it. Absent when the actor called the API itself, or used the command line. */
  readonly via?: 'dashboard' | 'portal' | undefined;
};

/** The answer of `audit.listEntries`. */
export type AuditListEntriesAnswer = {
  /** The entries of this page. */
  readonly entries: readonly AuditEntry[];
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `audit.listEntries`. */
export type AuditListEntriesRequest = {
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
  /** List only changes by this actor: the id of a root key, `cli` for the command line, or `system` for the service itself. */
  readonly actor?: string | undefined;
  /** List only changes of this kind. */
  readonly action?: string | undefined;
  /** List only changes of the record with this id. */
  readonly target?: string | undefined;
  /** List only changes from this time on, in unix milliseconds. */
  readonly start?: number | undefined;
  /** List only changes before this time, in unix milliseconds. It must be after `start`. */
  readonly end?: number | undefined;
};

/** Fields of a record under their names in the API. Which ones depends on the record. Of a value whose JSON is longer than 1024 bytes, the log keeps `{"sha256": ..., "bytes": ...}`: the SHA-256 of that JSON in hexadecimal, and its length. */
export type ChangedFields = Readonly<Record<string, unknown>>;

/** Something that the service looks at. */
export type Check = {
  /** The name of the check. */
  readonly name: string;
  /** What it makes sure of. */
  readonly text: string;
  /** true: nothing was found. */
  readonly isOk: boolean;
};

/** How much a verification takes of a counter. */
export type Cost = {
  /** What the verification takes. 0 only asks. 1 when absent. */
  readonly cost?: number | undefined;
};

/** The answer of `credits.adjust`. */
export type CreditsAdjustAnswer = {
  /** The id of the adjustment. */
  readonly adjustmentId: string;
  /** The balance after the call, without what reservations hold. */
  readonly remaining: number;
  /** true: the call was made before under the same idempotency key, and nothing changed now. Absent otherwise. */
  readonly replayed?: boolean | undefined;
};

/** The fields of `credits.adjust`. */
export type CreditsAdjustRequest = {
  /** The id of a key. Give one of `keyId`, `identityId` and `externalId`. */
  readonly keyId?: string | undefined;
  /** The id of an identity. Give one of `keyId`, `identityId` and `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of an identity, 1 to 256 characters. Give one of `keyId`, `identityId` and `externalId`. */
  readonly externalId?: string | undefined;
  /** How many credits are added, or with a minus sign taken. Not 0. */
  readonly by: number;
  /** Why, for the audit log, 1 to 256 characters. */
  readonly reason: string;
  /** Makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated call with the same key changes nothing. */
  readonly idempotencyKey?: string | undefined;
};

/** The answer of `credits.grant`. */
export type CreditsGrantAnswer = {
  /** The id of the grant. */
  readonly grantId: string;
  /** The balance after the call, without what reservations hold. */
  readonly remaining: number;
  /** true: the call was made before under the same idempotency key, and nothing changed now. Absent otherwise. */
  readonly replayed?: boolean | undefined;
};

/** The fields of `credits.grant`. */
export type CreditsGrantRequest = {
  /** The id of a key. Give one of `keyId`, `identityId` and `externalId`. */
  readonly keyId?: string | undefined;
  /** The id of an identity. Give one of `keyId`, `identityId` and `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of an identity, 1 to 256 characters. Give one of `keyId`, `identityId` and `externalId`. */
  readonly externalId?: string | undefined;
  /** How many credits. */
  readonly amount: number;
  /** When those that are left of them expire, in unix milliseconds. They do not expire when absent. */
  readonly expiresAt?: number | undefined;
  /** Why, for the audit log, 1 to 256 characters. */
  readonly reason: string;
  /** Names the payment: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated call with the same key changes nothing. It is remembered as long as statements are kept. */
  readonly idempotencyKey: string;
};

/** The rate limit that a new key of the api gets when it brings none of its own. */
export type DefaultRatelimit = {
  /** How many requests may pass in a window, by their cost. At least 1. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. true when absent. */
  readonly async?: boolean | undefined;
};

/** The rate limit that a new key of the api gets when it brings none of its own. */
export type DefaultRatelimitState = {
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
};

/** What became of an event for a webhook. */
export type Delivery = {
  /** The id of an event, as `events.listEvents` answers it. */
  readonly eventId: string;
  /** The type of the event. */
  readonly type: string;
  readonly state: DeliveryState;
  /** How often it was sent. */
  readonly attempts: number;
  /** When the event was put in the queue of the webhook, in unix milliseconds. */
  readonly queuedAt: number;
  /** When it is sent next, in unix milliseconds. Absent when it is finished, and while it is being sent. */
  readonly nextAttemptAt?: number | undefined;
  /** When it was last sent. Absent when it was not sent yet. */
  readonly lastAttemptAt?: number | undefined;
  /** The HTTP status of the last answer. Absent when there was none. */
  readonly lastStatus?: number | undefined;
  /** Why the last try failed. Absent when it did not. */
  readonly lastError?: string | undefined;
};

/** `waiting`: it is sent when its next try is due. `delivered`: the target answered with a status from 200 to 299. `failed`: given up after three days. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** The call is done, and there is nothing to say. */
export type Empty = Readonly<Record<string, unknown>>;

/** What became of the credits that a reservation held. */
export type EndedReservation = {
  /** The credits that were charged. Fewer than `settledCost` when the balance did not suffice, or the key had no credits. */
  readonly charged: number;
  /** The credits that came back to the balance. What came from a grant that has expired meanwhile does not come back. */
  readonly returned: number;
  /** The credits that were left then: those of the key or of its identity, whichever are fewer. Absent when neither has a counter. */
  readonly remaining?: number | undefined;
};

/** What kind of failure it is. `BAD_REQUEST` (400): The request is not valid: malformed JSON, a wrong type or number, an unknown field or limit name, or a permission query that names no permission. The message says what to correct. `UNAUTHORIZED` (401): The root key is missing, unknown, revoked or expired, or the session of the dashboard has ended; the message says which. An API key sent as a root key is unknown. For keys.forwardAuth: the client sent no key, or more than one. `INSUFFICIENT_PERMISSIONS` (403): The root key lacks a right that the call needs, the call would give a root key a longer life than the calling one has, or a session of the dashboard is used by another page. The message says which. `NOT_FOUND` (404): The record does not exist, or this root key may not see it; or the route does not exist. `METHOD_NOT_ALLOWED` (405): The route does not accept this HTTP method. The Allow header lists the methods that it accepts. `CONFLICT` (409): The record exists already, the secret belongs to another key, the idempotency key was used with a different request, or the reservation has ended in another way. `PRECONDITION_FAILED` (412): The service cannot do this now: secrets are not stored, so a key cannot be recovered or decrypted; a role or permission named in an import does not exist; a reservation holds less than it is to be settled with; or a maximum or quota is reached. The message says which. `DELETE_PROTECTED` (412): The api is protected from deletion. Set deleteProtection to false with apis.updateApi first. `PAYLOAD_TOO_LARGE` (413): The body is larger than this route accepts. `UNSUPPORTED_MEDIA_TYPE` (415): The body is not declared as JSON; the message says which header to add. `RATE_LIMITED` (429): The key has too many live idempotency keys or reservations, or the root key or address has reached its quota of verifications or of management calls. Wait, then try again. `HEADERS_TOO_LARGE` (431): The request line and the headers are too large. `INTERNAL_SERVER_ERROR` (500): The service has a bug, or a stored record cannot be read; the message names the record. The log has the details. `NOT_IMPLEMENTED` (501): This node does not support the HTTP method. `UNAVAILABLE` (503): Nothing was done: the database cannot be reached, or the node has too much to do. It is safe to try again. `OUTCOME_UNKNOWN` (503): The database did not confirm whether the request was carried out. Try again with the same idempotency key. `HTTP_VERSION_NOT_SUPPORTED` (505): The request is neither HTTP/1.0 nor HTTP/1.1. */
export type ErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'INSUFFICIENT_PERMISSIONS'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'PRECONDITION_FAILED'
  | 'DELETE_PROTECTED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL_SERVER_ERROR'
  | 'NOT_IMPLEMENTED'
  | 'UNAVAILABLE'
  | 'OUTCOME_UNKNOWN'
  | 'HTTP_VERSION_NOT_SUPPORTED';

/** Something that happened. It never contains the secret of a key. */
export type Event = {
  /** The id of the event. An event that is delivered twice has the same id. */
  readonly id: string;
  /** What happened, such as `key.created`. Later versions add types. */
  readonly type: string;
  /** When it happened, in unix milliseconds. */
  readonly time: number;
  /** The place of the event in the order of all events. A later one has a higher number; numbers can be left out. */
  readonly sequence: number;
  readonly data: EventData;
};

/** The ids of the records, who made the change (`actor`, `requestId`), and the fields that differ in `before` and `after`, under their names in the API. With `truncated: true` the fields were too long, and only the ids are here. */
export type EventData = Readonly<Record<string, unknown>>;

/** What happened. `key.created`: A key was created or imported. `key.updated`: A field, the balance, a role or a permission of a key was changed by a call. `key.deleted`: A key was deleted, alone, with its identity, or with all keys of its api. `key.restored`: A deleted key was restored. `key.rotated`: A key has a new secret. `key.expiring`: A key is about to expire, as early as `alerts.expiresWithinMs` of the key, its identity or its plan says. `identity.created`: An identity was created, by itself or with its first key. `identity.updated`: A field of an identity was changed by a call. `identity.deleted`: An identity was deleted. `credits.low`: A balance is below `alerts.creditsBelow` of its key, identity or plan. It comes once until the balance reaches the threshold again. `credits.exhausted`: A balance is 0, or too small for a verification that was refused. Each of the two comes once until there are more credits. `credits.refilled`: A refill has added credits. `limit.reached`: A rate limit with `notify` has refused a verification. It comes once in a window, for the key or identity that the limit counts for. `reservation.expired`: A reservation was neither settled nor released in time. `onExpiry` says what became of its credits. `plan.changed`: An identity, or a key without one, was put on a plan, moved to another one or left it, or is to move at its next refill. `plan.updated`: A plan was changed for all its holders. `webhook.paused`: A webhook is paused, because its target failed for three days. `webhook.test`: `webhooks.sendTest` was called. Only the webhook that it names gets this event. */
export type EventType =
  | 'key.created'
  | 'key.updated'
  | 'key.deleted'
  | 'key.restored'
  | 'key.rotated'
  | 'key.expiring'
  | 'identity.created'
  | 'identity.updated'
  | 'identity.deleted'
  | 'credits.low'
  | 'credits.exhausted'
  | 'credits.refilled'
  | 'limit.reached'
  | 'reservation.expired'
  | 'plan.changed'
  | 'plan.updated'
  | 'webhook.paused'
  | 'webhook.test';

/** The answer of `events.listEvents`. */
export type EventsListEventsAnswer = {
  /** The events after the cursor. `[]` when there are none yet. */
  readonly events: readonly Event[];
  /** Send it as `cursor` with the next call. It is there even when there are no further events. */
  readonly cursor: string;
};

/** The fields of `events.listEvents`. */
export type EventsListEventsRequest = {
  /** Only events of this type, or of these types. All when absent. */
  readonly types?: EventType | readonly EventType[] | undefined;
  /** The `cursor` of the last answer, which is the `sequence` of its last event. Without it, the answer begins with the oldest event that is kept. */
  readonly cursor?: string | undefined;
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
};

/** What one check of a verification found. */
export type ExplainedCheck = {
  /** The name of the check. */
  readonly check: string;
  /** `refused`: this check decided the code. `not reached`: an earlier one refused. */
  readonly result: 'passed' | 'refused' | 'not reached';
  /** What it found, in words. */
  readonly text: string;
  /** The counters that it looked at. Absent when there are none. */
  readonly counters?: readonly ExplainedCounter[] | undefined;
};

/** A counter that a check looked at. */
export type ExplainedCounter = {
  /** The name of a limit, or `credits`. */
  readonly name: string;
  /** Whose counter it is: that of the key, or one that the keys of an identity share. */
  readonly of: 'key' | 'identity';
  /** What this verification took of it. */
  readonly taken: number;
  /** What is left after this verification. Absent when usage is only metered. */
  readonly remaining?: number | undefined;
  /** When the window of a limit ends, in milliseconds since 1970. Absent for credits. */
  readonly reset?: number | undefined;
};

/** Granted credits. Those that expire are spent before all others, soonest expiry first, and those that do not after all others. Refills leave them alone. */
export type Grant = {
  /** The credits of the grant that are left. */
  readonly left: number;
  /** When they expire, in unix milliseconds. Absent: they do not, and are spent after all other credits. */
  readonly expiresAt?: number | undefined;
};

/** A plan as it is for one of its holders. A field that the holder has itself takes precedence. */
export type HeldPlan = {
  /** The id of a plan, as `plans.createPlan` answers it. */
  readonly id: string;
  /** The name of the plan. */
  readonly name: string;
  /** The limits of the plan that apply to the holder, with what it has used of them. */
  readonly ratelimits: readonly UsedRatelimit[];
  /** The refill of the plan. Absent when there is none, or the holder has its own. */
  readonly refill?: RefillState | undefined;
  /** How many keys the plan allows an identity. Absent when any number is allowed, and for a key. */
  readonly maxKeys?: number | undefined;
};

/** The answer of `identities.createIdentity`. */
export type IdentitiesCreateIdentityAnswer = {
  /** The id of an identity, as `identities.createIdentity` answers it. */
  readonly identityId: string;
};

/** The fields of `identities.createIdentity`. */
export type IdentitiesCreateIdentityRequest = {
  /** Your own id of the owner, 1 to 256 characters. It is unique: one that exists is a 409. */
  readonly externalId: string;
  /** A name for people, 1 to 256 characters. */
  readonly name?: string | undefined;
  /** Metadata of the identity, which verdicts of its keys repeat. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** false: verifications of all keys of the identity answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** How many keys the identity may have. Any number when absent. */
  readonly maxKeys?: number | undefined;
  /** When an event tells that the credits of the identity run low, or that a key of it is about to expire, for keys that do not say so themselves. */
  readonly alerts?: AlertsInput | undefined;
  /** The rate limits that the keys of the identity share, at most 50. */
  readonly ratelimits?: readonly SharedRatelimit[] | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits that the keys of the identity share. A verification takes them together with those of the key. No counter when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
};

/** The fields of `identities.deleteIdentity`. */
export type IdentitiesDeleteIdentityRequest = {
  /** The id of the identity. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
  /** `disable`: the keys stay without an owner and answer DISABLED. `delete`: they are deleted, as keys.deleteKey does it. `detach`: they stay valid, without an owner and without its limits and credits. */
  readonly keys?: 'disable' | 'delete' | 'detach' | undefined;
};

/** The fields of `identities.getIdentity`. */
export type IdentitiesGetIdentityRequest = {
  /** The id of the identity. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
};

/** The answer of `identities.listIdentities`. */
export type IdentitiesListIdentitiesAnswer = {
  /** The identities of this page. */
  readonly identities: readonly Identity[];
  /** The exact number of records on all pages together, at the time of this call. */
  readonly total: number;
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `identities.listIdentities`. */
export type IdentitiesListIdentitiesRequest = {
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
  /** Finds identities by `externalId`, name and metadata. 1 to 256 characters. */
  readonly search?: string | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly environment?: string | undefined;
};

/** The fields of `identities.updateIdentity`. */
export type IdentitiesUpdateIdentityRequest = {
  /** The id of the identity. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly environment?: string | undefined;
  /** A name for people, 1 to 256 characters. null removes it. It stays when absent. */
  readonly name?: string | null | undefined;
  /** Metadata of the identity, which verdicts of its keys repeat. It replaces the old as a whole. null removes it. It stays when absent. */
  readonly meta?: Meta | null | undefined;
  /** false: verifications of all keys of the identity answer DISABLED. It stays when absent. */
  readonly enabled?: boolean | undefined;
  /** How many keys the identity may have. Keys that exist stay. null removes the bound. It stays when absent. */
  readonly maxKeys?: number | null | undefined;
  /** When an event tells that a key of the identity is about to expire. null: nothing is told. It stays when absent. */
  readonly alerts?: AlertsInput | null | undefined;
  /** The new rate limits, at most 50, which replace all old ones. null or `[]` removes them. They stay when absent. */
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go), and a balance ends. false: it is no longer counted. It stays as it is when absent. */
  readonly metered?: boolean | undefined;
  /** The new number of credits. null removes the counter and its refill. The counter stays as it is when absent. */
  readonly remaining?: number | null | undefined;
  /** The new refill, which begins at its next boundary. null removes it. It stays when absent. */
  readonly refill?: Refill | null | undefined;
};

/** An identity: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent. */
export type Identity = {
  /** The id of an identity, as `identities.createIdentity` answers it. */
  readonly id: string;
  /** Your own id of the owner. */
  readonly externalId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the identity, which verdicts of its keys repeat. `{}` when none is set. */
  readonly meta: Meta;
  /** false: verifications of all keys of the identity answer DISABLED. */
  readonly enabled: boolean;
  /** How many keys the identity may have. Absent when any number is allowed. */
  readonly maxKeys?: number | undefined;
  /** The plan that the identity, or a key without one, is on. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event tells that the credits of the identity run low, or that a key of it is about to expire. Absent when none is set. */
  readonly alerts?: Alerts | undefined;
  /** The credits that the keys of the identity share, as many as are left. Absent when the identity has no counter. */
  readonly remaining?: number | undefined;
  /** The credits that reservations hold. They are not in `remaining`. Absent when nothing is held. */
  readonly held?: number | undefined;
  /** The part of `remaining` that was granted, in the order in which it is spent; all that does not expire is one entry. Absent when there is none. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. The refill of a plan stands with the plan. */
  readonly refill?: RefillState | undefined;
  /** The rate limits that the keys of the identity share. `[]` when there are none. */
  readonly ratelimits: readonly SharedRatelimitState[];
};

/** An identity: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent. */
export type IdentityDetails = {
  /** The id of an identity, as `identities.createIdentity` answers it. */
  readonly id: string;
  /** Your own id of the owner. */
  readonly externalId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the identity, which verdicts of its keys repeat. `{}` when none is set. */
  readonly meta: Meta;
  /** false: verifications of all keys of the identity answer DISABLED. */
  readonly enabled: boolean;
  /** How many keys the identity may have. Absent when any number is allowed. */
  readonly maxKeys?: number | undefined;
  /** The plan that the identity, or a key without one, is on. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event tells that the credits of the identity run low, or that a key of it is about to expire. Absent when none is set. */
  readonly alerts?: Alerts | undefined;
  /** The credits that the keys of the identity share, as many as are left. Absent when the identity has no counter. */
  readonly remaining?: number | undefined;
  /** The credits that reservations hold. They are not in `remaining`. Absent when nothing is held. */
  readonly held?: number | undefined;
  /** The part of `remaining` that was granted, in the order in which it is spent; all that does not expire is one entry. Absent when there is none. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. The refill of a plan stands with the plan. */
  readonly refill?: RefillState | undefined;
  /** How many keys the identity has, in all apis. Deleted keys do not count. */
  readonly keys: number;
  /** The rate limits that the keys of the identity share. `[]` when there are none. */
  readonly ratelimits: readonly UsedRatelimit[];
  /** What the identity gets from its plan. Absent when it is on none. */
  readonly plan?: HeldPlan | undefined;
};

/** The identity that a key belongs to. */
export type IdentityReference = {
  /** The id of an identity, as `identities.createIdentity` answers it. */
  readonly id: string;
  /** Your own id of the owner. */
  readonly externalId: string;
  /** Metadata of the identity. `{}` when none is set. */
  readonly meta: Meta;
};

/** A queued key that could not be created. */
export type ImportFailure = {
  /** The position of the key among all queued keys of the migration, from 0. */
  readonly index: number;
  /** Why the key could not be created. */
  readonly message: string;
};

/** One problem of a request. */
export type Issue = {
  /** Where the problem is in the request. */
  readonly path: string;
  /** What is wrong, and what is expected. */
  readonly message: string;
};

/** A key, without its secret. Fields that are not set are absent. */
export type Key = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly id: string;
  /** The beginning of the secret: the prefix and four characters. A person recognises the key by it; nobody can use it as a key. */
  readonly start: string;
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The id of this installation. It is the same in every answer. */
  readonly workspaceId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** A text that every verdict repeats, such as the stage that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. */
  readonly enabled: boolean;
  /** The `externalId` of the identity that the key belongs to. Absent when the key has no owner. */
  readonly ownerId?: string | undefined;
  /** When the key was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When the key was last changed, in unix milliseconds. Absent when it was never changed. */
  readonly updatedAt?: number | undefined;
  /** When the key stops being valid, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** The credits that the key has left. Refills that are due are included. Absent when the key is unlimited. */
  readonly remaining?: number | undefined;
  /** The credits that reservations hold. They are not in `remaining`. Absent when nothing is held. */
  readonly held?: number | undefined;
  /** The part of `remaining` that was granted, in the order in which it is spent; all that does not expire is one entry. Absent when there is none. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. The refill of a plan stands with the plan. */
  readonly refill?: RefillState | undefined;
  /** The rate limit with the name `default`. Absent when there is none. */
  readonly ratelimit?: RatelimitState | undefined;
  /** The further rate limits of the key. Absent when there are none. */
  readonly ratelimits?: readonly NamedRatelimitState[] | undefined;
  /** The names of the roles of the key. `[]` when it has none. */
  readonly roles: readonly string[];
  /** The slugs of all permissions of the key, its own and those of its roles, sorted. `[]` when it has none. */
  readonly permissions: readonly string[];
  /** The addresses and CIDR blocks that the key may be used from. Absent when every address is allowed. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** The plan that the identity, or a key without one, is on. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. Absent when the key itself has none. */
  readonly alerts?: Alerts | undefined;
  /** When the key was last verified, with any verdict, in unix milliseconds. Written some seconds later, at most once a minute. Absent when the key was never used or analytics are off. */
  readonly lastUsedAt?: number | undefined;
  /** The identity that the key belongs to. Absent when the key has no owner. */
  readonly identity?: IdentityReference | undefined;
};

/** What keys get that a customer creates on the customers' page: the fields of keys.createKey. Nothing when absent. */
export type KeyDefaults = {
  /** The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ . -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the api when absent. */
  readonly prefix?: string | undefined;
  /** The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16. */
  readonly byteLength?: number | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key then waits for its refill. The key is unlimited when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
  /** The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit` of the api when absent. */
  readonly ratelimit?: Ratelimit | undefined;
  /** Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification. `default` is not allowed here: it is `ratelimit`. */
  readonly ratelimits?: readonly NamedRatelimit[] | undefined;
  /** The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address is FORBIDDEN. Any address is allowed when absent or empty. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. When absent, its identity and the plan of its identity decide when an event tells that the key expires. */
  readonly alerts?: AlertsInput | undefined;
};

/** A key, without its secret. Fields that are not set are absent. */
export type KeyDetails = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly id: string;
  /** The beginning of the secret: the prefix and four characters. A person recognises the key by it; nobody can use it as a key. */
  readonly start: string;
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The id of this installation. It is the same in every answer. */
  readonly workspaceId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** A text that every verdict repeats, such as the stage that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. */
  readonly enabled: boolean;
  /** The `externalId` of the identity that the key belongs to. Absent when the key has no owner. */
  readonly ownerId?: string | undefined;
  /** When the key was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When the key was last changed, in unix milliseconds. Absent when it was never changed. */
  readonly updatedAt?: number | undefined;
  /** When the key stops being valid, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** The credits that the key has left. Refills that are due are included. Absent when the key is unlimited. */
  readonly remaining?: number | undefined;
  /** The credits that reservations hold. They are not in `remaining`. Absent when nothing is held. */
  readonly held?: number | undefined;
  /** The part of `remaining` that was granted, in the order in which it is spent; all that does not expire is one entry. Absent when there is none. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. The refill of a plan stands with the plan. */
  readonly refill?: RefillState | undefined;
  /** The rate limit with the name `default`, and what was used of it. Absent when there is none. */
  readonly ratelimit?: UsedDefaultRatelimit | undefined;
  /** The further rate limits of the key, and what was used of them. Absent when there are none. */
  readonly ratelimits?: readonly UsedNamedRatelimit[] | undefined;
  /** The names of the roles of the key. `[]` when it has none. */
  readonly roles: readonly string[];
  /** The slugs of all permissions of the key, its own and those of its roles, sorted. `[]` when it has none. */
  readonly permissions: readonly string[];
  /** The addresses and CIDR blocks that the key may be used from. Absent when every address is allowed. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** The plan that the identity, or a key without one, is on. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. Absent when the key itself has none. */
  readonly alerts?: Alerts | undefined;
  /** When the key was last verified, with any verdict, in unix milliseconds. Written some seconds later, at most once a minute. Absent when the key was never used or analytics are off. */
  readonly lastUsedAt?: number | undefined;
  /** The identity that the key belongs to. Absent when the key has no owner. */
  readonly identity?: IdentityReference | undefined;
  /** The slugs of the permissions that the key has itself, without those of its roles. `[]` when it has none. */
  readonly directPermissions: readonly string[];
  /** What the key gets from its plan. Absent when it is on none. A key that belongs to an identity uses the plan of the identity. */
  readonly plan?: HeldPlan | undefined;
};

/** The digest of a secret that you do not have in plain text. */
export type KeyDigest = {
  /** The 32 bytes of the SHA-256 in base64, 44 characters. */
  readonly value: string;
  /** The only kind of digest that is accepted. */
  readonly variant: 'sha256_base64';
};

/** A key to create, with the fields of `keys.createKey`. */
export type KeyToCreate = {
  /** The api of this key. The `apiId` of the call when absent. */
  readonly apiId?: string | undefined;
  /** The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ . -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the api when absent. */
  readonly prefix?: string | undefined;
  /** The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16. */
  readonly byteLength?: number | undefined;
  /** A name for people, at most 256 characters. It need not be unique. An empty text counts as absent. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The owner of the key, by your own id: at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key then waits for its refill. The key is unlimited when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
  /** The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit` of the api when absent. */
  readonly ratelimit?: Ratelimit | undefined;
  /** Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification. `default` is not allowed here: it is `ratelimit`. */
  readonly ratelimits?: readonly NamedRatelimit[] | undefined;
  /** The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address is FORBIDDEN. Any address is allowed when absent or empty. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. When absent, its identity and the plan of its identity decide when an event tells that the key expires. */
  readonly alerts?: AlertsInput | undefined;
  /** Secrets are not stored, so a key cannot be recovered: true is refused with 412. false is accepted and changes nothing. */
  readonly recoverable?: boolean | undefined;
};

/** A key that was created elsewhere. */
export type KeyToImport = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The secret of the key: 16 to 512 characters of printable ASCII. It is digested at once and stored nowhere. Give either `plaintext` or `hash`. */
  readonly plaintext?: string | undefined;
  /** The SHA-256 of the secret. Give either `plaintext` or `hash`. */
  readonly hash?: KeyDigest | undefined;
  /** The prefix that is shown to people: 1 to 16 of the characters A-Z a-z 0-9 _ . -. It does not change the secret. */
  readonly prefix?: string | undefined;
  /** The beginning of the secret that is shown to people, 1 to 64 characters and at most half of the secret. When absent, a plaintext shows its prefix and four characters, and a digest shows its prefix. */
  readonly start?: string | undefined;
  /** A name for people, at most 256 characters. It need not be unique. An empty text counts as absent. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The owner of the key, by your own id: at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key then waits for its refill. The key is unlimited when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
  /** The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit` of the api when absent. */
  readonly ratelimit?: Ratelimit | undefined;
  /** Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification. `default` is not allowed here: it is `ratelimit`. */
  readonly ratelimits?: readonly NamedRatelimit[] | undefined;
  /** The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address is FORBIDDEN. Any address is allowed when absent or empty. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. When absent, its identity and the plan of its identity decide when an event tells that the key expires. */
  readonly alerts?: AlertsInput | undefined;
};

/** How many verifications of a key there were with each verdict, and the credits that they took. */
export type KeyVerificationCounts = {
  /** When the day or hour (UTC) begins, in unix milliseconds. */
  readonly time: number;
  /** How many verifications were valid. */
  readonly success: number;
  /** How many verifications answered FORBIDDEN, because the key belongs to another api, or the address is not allowed. */
  readonly forbidden: number;
  /** How many verifications answered DISABLED, because the key or its identity is not enabled. */
  readonly disabled: number;
  /** How many verifications answered EXPIRED, because the time of the key is over. */
  readonly expired: number;
  /** How many verifications answered INSUFFICIENT_PERMISSIONS, because the key lacks a permission that the request asks for. */
  readonly insufficientPermissions: number;
  /** How many verifications answered RATE_LIMITED, because a rate limit is used up. */
  readonly rateLimited: number;
  /** How many verifications answered USAGE_EXCEEDED, because the credits do not suffice. */
  readonly usageExceeded: number;
  /** Credits that these verifications took. A remembered answer takes none. Where key and identity both pay, the cost counts once. */
  readonly credits: number;
};

/** The fields of `keys.addPermissions`. */
export type KeysAddPermissionsRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The permissions that the key gets in addition, at most 1000. */
  readonly permissions: readonly PermissionToGive[];
};

/** The fields of `keys.addRoles`. */
export type KeysAddRolesRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The roles that the key gets in addition, at most 100. */
  readonly roles: readonly RoleToGive[];
};

/** The fields of `keys.createKey`. */
export type KeysCreateKeyRequest = {
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ . -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the api when absent. */
  readonly prefix?: string | undefined;
  /** The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16. */
  readonly byteLength?: number | undefined;
  /** A name for people, at most 256 characters. It need not be unique. An empty text counts as absent. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The owner of the key, by your own id: at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key then waits for its refill. The key is unlimited when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
  /** The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit` of the api when absent. */
  readonly ratelimit?: Ratelimit | undefined;
  /** Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification. `default` is not allowed here: it is `ratelimit`. */
  readonly ratelimits?: readonly NamedRatelimit[] | undefined;
  /** The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address is FORBIDDEN. Any address is allowed when absent or empty. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. When absent, its identity and the plan of its identity decide when an event tells that the key expires. */
  readonly alerts?: AlertsInput | undefined;
  /** Secrets are not stored, so a key cannot be recovered: true is refused with 412. false is accepted and changes nothing. */
  readonly recoverable?: boolean | undefined;
};

/** The answer of `keys.createKeys`. */
export type KeysCreateKeysAnswer = {
  /** The new keys with their secrets, in the order of the request. */
  readonly keys: readonly NewSecret[];
};

/** The fields of `keys.createKeys`. */
export type KeysCreateKeysRequest = {
  /** The api of every key that names none. */
  readonly apiId?: string | undefined;
  /** The keys to create, 1 to 1000. */
  readonly keys: readonly KeyToCreate[];
};

/** The fields of `keys.deleteKey`. */
export type KeysDeleteKeyRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** true: the record of the key is removed too, and the key cannot be restored. false when absent. */
  readonly permanent?: boolean | undefined;
};

/** The answer of `keys.forwardAuth`. */
export type KeysForwardAuthAnswer = {
  /** true: the request may pass. It is true with the code VALID only. */
  readonly valid: boolean;
  readonly code: VerdictCode;
  /** The id of this request. The log and the audit log of the service name the request by it. */
  readonly requestId: string;
  /** false: to repeat the request does not help, also when the status is 429. true: it can pass later. Absent with the code VALID. */
  readonly retryable?: boolean | undefined;
};

/** The fields of `keys.getKey`. */
export type KeysGetKeyRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** Secrets are not stored, so they cannot be decrypted: true is refused with 412. false is accepted and changes nothing. */
  readonly decrypt?: boolean | undefined;
};

/** The answer of `keys.getVerifications`. */
export type KeysGetVerificationsAnswer = {
  /** One row for each day or hour (UTC) of the period, earliest first, also where nothing happened. */
  readonly verifications: readonly KeyVerificationCounts[];
};

/** The fields of `keys.getVerifications`. */
export type KeysGetVerificationsRequest = {
  /** The id of the key. Give either `keyId` or `ownerId`. */
  readonly keyId?: string | undefined;
  /** Your own id of the owner, 1 to 256 characters: count all its keys that the root key may read. Give either `keyId` or `ownerId`. */
  readonly ownerId?: string | undefined;
  /** Count from this time on, in unix milliseconds, extended to whole hours, days or months. When null or absent: the last 24 hours for `hour`, else the last 30 days. */
  readonly start?: number | null | undefined;
  /** Count up to this time, without it, in unix milliseconds, extended to whole hours, days or months. It must be after `start`. Now when null or absent. */
  readonly end?: number | null | undefined;
  /** What each row stands for. `day` when absent. */
  readonly granularity?: 'day' | 'hour' | undefined;
};

/** The fields of `keys.removePermissions`. */
export type KeysRemovePermissionsRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The permissions that the key loses, at most 1000. One that the key does not have is ignored. */
  readonly permissions: readonly PermissionToRemove[];
};

/** The fields of `keys.removeRoles`. */
export type KeysRemoveRolesRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The roles that the key loses, at most 100. One that the key does not have is ignored. */
  readonly roles: readonly RoleToRemove[];
};

/** The fields of `keys.restoreKey`. */
export type KeysRestoreKeyRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
};

/** The fields of `keys.rotateKey`. */
export type KeysRotateKeyRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** How long the old secret stays valid, in milliseconds: from 0 to 2592000000 (30 days). 0 ends every former secret at once. */
  readonly overlapMs: number;
};

/** The fields of `keys.setPermissions`. */
export type KeysSetPermissionsRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The permissions that the key has from now on, at most 1000. `[]` takes all away. */
  readonly permissions: readonly PermissionToGive[];
};

/** The fields of `keys.setRoles`. */
export type KeysSetRolesRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The roles that the key has from now on, at most 100. `[]` takes all away. */
  readonly roles: readonly RoleToGive[];
};

/** The fields of `keys.updateKey`. */
export type KeysUpdateKeyRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** A name for people, at most 256 characters. It need not be unique. null or an empty text removes it. It stays when absent. */
  readonly name?: string | null | undefined;
  /** Metadata of the key, which every verdict repeats. It replaces the old as a whole. null removes it. It stays when absent. */
  readonly meta?: Meta | null | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for, at most 256 characters. null or an empty text removes it. It stays when absent. */
  readonly environment?: string | null | undefined;
  /** false: verifications of the key answer DISABLED. It stays when absent. */
  readonly enabled?: boolean | undefined;
  /** The new owner, by your own id of at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. null or an empty text removes the owner. It stays when absent. */
  readonly externalId?: string | null | undefined;
  /** true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | null | undefined;
  /** The roles that the key has from now on, at most 100. null or `[]` takes all away. They stay when absent. */
  readonly roles?: readonly RoleToGive[] | null | undefined;
  /** The permissions that the key has directly from now on, at most 1000. null or `[]` takes all away. They stay when absent. */
  readonly permissions?: readonly PermissionToGive[] | null | undefined;
  /** When the key stops being valid, in unix milliseconds. A time in the past ends it at once. null: it does not expire. It stays when absent. */
  readonly expires?: number | null | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go), and a balance ends. false: it is no longer counted. It stays as it is when absent. */
  readonly metered?: boolean | undefined;
  /** The new number of credits. null makes the key unlimited and removes its refill. The counter stays as it is when absent. `keys.updateRemaining` adds or subtracts. */
  readonly remaining?: number | null | undefined;
  /** The new refill, which begins at its next boundary. It needs a counter. null removes it. It stays when absent. */
  readonly refill?: Refill | null | undefined;
  /** The new rate limit with the name `default`. Another `limit` keeps the running count; another `duration` or `async` begins a new one. null removes it. It stays when absent. */
  readonly ratelimit?: Ratelimit | null | undefined;
  /** The new further rate limits, at most 50, which replace all old ones. null or `[]` removes them. They stay when absent. */
  readonly ratelimits?: readonly NamedRatelimit[] | null | undefined;
  /** The addresses and CIDR blocks that the key may be used from, at most 100. null or `[]` allows every address. It stays when absent. */
  readonly ipAllowlist?: readonly string[] | null | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. null removes all of it: then its identity and the plan of its identity decide when an event tells that the key expires. It stays when absent. */
  readonly alerts?: AlertsInput | null | undefined;
  /** Secrets are not stored, so a key cannot be recovered: true is refused with 412. false is accepted and changes nothing. */
  readonly recoverable?: boolean | undefined;
};

/** The answer of `keys.updateRemaining`. */
export type KeysUpdateRemainingAnswer = {
  /** The credits that the key has after the change. null: the key is unlimited. */
  readonly remaining: number | null;
};

/** The fields of `keys.updateRemaining`. */
export type KeysUpdateRemainingRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** What to do with `value`: add it, subtract it (never below 0), or make it the new number. */
  readonly op: 'increment' | 'decrement' | 'set';
  /** The number of credits, at least 0. null makes the key unlimited, only with `set`. */
  readonly value: number | null;
};

/** The answer of `keys.verifyKeys`. */
export type KeysVerifyKeysAnswer = {
  /** A verdict for each key, in the order of the request, or an error for a key that could not be decided. */
  readonly results: readonly (Verdict | Error)[];
};

/** The fields of `keys.verifyKeys`. */
export type KeysVerifyKeysRequest = {
  /** The verifications, 1 to 100. They are decided in order. */
  readonly keys: readonly VerifyRequest[];
};

/** The answer of `keys.whoami`. */
export type KeysWhoamiAnswer = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly id: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** A text that every verdict repeats, such as the stage that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. */
  readonly enabled: boolean;
  /** The credits that the key has left. Refills that are due are included. Absent when the key is unlimited. */
  readonly remaining?: number | undefined;
  /** The identity that the key belongs to. Absent when the key has no owner. */
  readonly identity?: IdentityReference | undefined;
  /** When the key was created, in unix milliseconds. */
  readonly createdAt: number;
};

/** The fields of `keys.whoami`. */
export type KeysWhoamiRequest = {
  /** The secret of the key. A text that cannot be a secret is a 404. */
  readonly key: string;
};

/** A standalone limit to take: so much for one identifier in one namespace. */
export type LimitRequest = {
  /** The name of the namespace that the identifier lives in, 1 to 128 characters. The first use creates it, if the root key may. `default` when absent. */
  readonly namespace?: string | undefined;
  /** What is limited, by your own id: a user, an address, an organisation. 1 to 256 characters. */
  readonly identifier: string;
  /** How many requests may pass in a window, by their cost. At least 1. An override replaces it. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. From 1000 (a second) to 31622400000 (366 days). An override replaces it. */
  readonly duration: number;
  /** How much this call takes. 0 asks without taking anything. 1 when absent. */
  readonly cost?: number | undefined;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. false when absent. An override replaces it. */
  readonly async?: boolean | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly meta?: Meta | undefined;
  /** What the call is about, at most 10 things. They are written to the audit log with the decision, before the answer. */
  readonly resources?: readonly LimitedResource[] | undefined;
};

/** Whether a limited call may pass, and what is left. */
export type LimitResult = {
  /** true: the call may pass. false: it may not, and nothing was taken. */
  readonly success: boolean;
  /** How much may pass in the window. */
  readonly limit: number;
  /** How much may still pass in the window, after this call. */
  readonly remaining: number;
  /** When the window ends and the next one begins, in unix milliseconds. */
  readonly reset: number;
};

/** A thing that a limited call is about. It is written to the audit log with the decision. */
export type LimitedResource = {
  /** What kind of thing it is, 1 to 256 characters. */
  readonly type: string;
  /** Your own id of it, 1 to 256 characters. */
  readonly id: string;
  /** A name for people, 1 to 256 characters. */
  readonly name?: string | undefined;
  readonly meta?: Meta | undefined;
};

/** The answer of `liveness`. */
export type LivenessAnswer = {
  /** Always `ok`: a process that does not run does not answer. */
  readonly status: string;
  /** The parts of the service, under the names that older programs read. */
  readonly services: {
    /** Always `on`. Older programs read it. */
    readonly metrics: string;
    /** Always `on`. Older programs read it. */
    readonly logger: string;
    /** Always `on`. Older programs read it. */
    readonly ratelimit: string;
    /** Always `on`. Older programs read it. */
    readonly usagelimit: string;
  };
};

/** Metadata: a JSON object of your own, which the service stores and gives back unchanged. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
export type Meta = Readonly<Record<string, unknown>>;

/** The answer of `migrations.createKeys`. */
export type MigrationsCreateKeysAnswer = {
  /** The ids of the new keys, in the order of the list. */
  readonly keyIds: readonly string[];
};

/** The fields of `migrations.enqueueKeys`. */
export type MigrationsEnqueueKeysRequest = {
  /** An id of your choice, 1 to 128 characters. Calls of `migrations.enqueueKeys` with the same id are one migration, which belongs to one api. */
  readonly migrationId: string;
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The keys to import, 1 to 100. */
  readonly keys: readonly QueuedKey[];
};

/** The answer of `migrations.getProgress`. */
export type MigrationsGetProgressAnswer = {
  /** An id of your choice, 1 to 128 characters. Calls of `migrations.enqueueKeys` with the same id are one migration, which belongs to one api. */
  readonly migrationId: string;
  /** How many keys were queued in all calls together. */
  readonly queued: number;
  /** How many keys are created. The migration is finished when `done` and `failed` equal `queued`. */
  readonly done: number;
  /** How many keys could not be created. */
  readonly failed: number;
  /** The first 1,000 failures. `[]` when there are none. */
  readonly errors: readonly ImportFailure[];
};

/** The fields of `migrations.getProgress`. */
export type MigrationsGetProgressRequest = {
  /** An id of your choice, 1 to 128 characters. Calls of `migrations.enqueueKeys` with the same id are one migration, which belongs to one api. */
  readonly migrationId: string;
};

/** A rate limit with a name of your choice. */
export type NamedRatelimit = {
  /** The name of the limit, 1 to 128 characters, once in the list. A verification names the limit by it. */
  readonly name: string;
  /** How many requests may pass in a window, by their cost. At least 1. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. When absent, a limit that exists keeps its mode, and a new one is local. */
  readonly async?: boolean | undefined;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. When absent, a limit that exists stays as it is, and a new one has false. */
  readonly notify?: boolean | undefined;
};

/** What a verification left of a rate limit, by its name. */
export type NamedRatelimitResult = {
  /** The name of the limit. `default` is the `ratelimit` of the key. */
  readonly name: string;
  /** How much may pass in the window. */
  readonly limit: number;
  /** How much may still pass in the window, after this call. */
  readonly remaining: number;
  /** When the window ends and the next one begins, in unix milliseconds. */
  readonly reset: number;
  /** The window, in milliseconds. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: this limit refused the verification. */
  readonly exceeded: boolean;
  /** true: all keys of the identity count in this limit together. Absent for a limit of the key itself. */
  readonly shared?: boolean | undefined;
};

/** A rate limit of a key or an identity, by its name. */
export type NamedRatelimitState = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
};

/** A root key with its new secret. */
export type NewRootSecret = {
  /** The id of a root key, as `rootKeys.createRootKey` answers it. It is not the secret. */
  readonly rootKeyId: string;
  /** The secret of the root key. It is shown only in this answer: store it now, or hand it to its owner. */
  readonly key: string;
};

/** A key with its new secret. */
export type NewSecret = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The secret of the key. It is shown only in this answer: store it now, or hand it to its owner. */
  readonly key: string;
};

/** A process that serves this installation. */
export type Node = {
  /** The id of the node. Every start has a new one. */
  readonly id: string;
  /** Where it runs: `KEYSTILE_LOCATION`, or the name of its machine. */
  readonly location: string;
  /** The version that it runs. */
  readonly version: string;
  /** When it started, in unix milliseconds. */
  readonly startedAt: number;
  /** When it last told the others that it runs, in unix milliseconds. */
  readonly lastSeenAt: number;
  /** true: this node has answered. */
  readonly isSelf: boolean;
  /** true: it was not seen for ten seconds, and it was not stopped. */
  readonly isGone: boolean;
  /** How old its knowledge of changes by other nodes is, in milliseconds. Absent with the embedded database. */
  readonly freshnessAgeMs?: number | undefined;
  /** How long ago it exchanged the counts of local limits, in milliseconds. Absent when it never did. */
  readonly syncLagMs?: number | undefined;
  /** The database's clock minus its own, in milliseconds. */
  readonly clockOffsetMs: number;
};

/** `release`: the credits come back. `charge`: all that is held is charged. */
export type OnExpiry = 'release' | 'charge';

/** Other numbers for some identifiers of a namespace than their requests name. */
export type Override = {
  /** The id of an override. */
  readonly id: string;
  /** The id of a namespace of standalone limits. `ratelimits.listOverrides` answers it for a name. */
  readonly namespaceId: string;
  /** The identifier or pattern that the override is for. */
  readonly identifier: string;
  /** How much may pass in a window. 0 blocks every call. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
};

/** A permission: something that a key may do in your service. */
export type Permission = {
  /** The id of a permission, as `permissions.createPermission` answers it. */
  readonly id: string;
  /** The name of the permission, for people. */
  readonly name: string;
  /** What verifications ask for. It equals the name when none was given. */
  readonly slug: string;
  /** A description for people. Absent when none is set. */
  readonly description?: string | undefined;
};

/** A permission that a key or a role has. */
export type PermissionReference = {
  /** The id of a permission, as `permissions.createPermission` answers it. */
  readonly id: string;
  /** The name of the permission. */
  readonly name: string;
};

/** A permission, by its id, its slug or its name. */
export type PermissionToGive = {
  /** The id of the permission. If a reference has several of `id`, `slug` and `name`, the first of these counts. */
  readonly id?: string | undefined;
  /** The name or the slug of the permission, 1 to 512 characters. */
  readonly name?: string | undefined;
  /** The slug of the permission, 1 to 512 characters. */
  readonly slug?: string | undefined;
  /** true: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is never created. false when absent: what does not exist is a 404. */
  readonly create?: boolean | undefined;
};

/** A permission, by its id, its slug or its name. */
export type PermissionToRemove = {
  /** The id of the permission. If a reference has several of `id`, `slug` and `name`, the first of these counts. */
  readonly id?: string | undefined;
  /** The name or the slug of the permission, 1 to 512 characters. */
  readonly name?: string | undefined;
  /** The slug of the permission, 1 to 512 characters. */
  readonly slug?: string | undefined;
};

/** The answer of `permissions.createPermission`. */
export type PermissionsCreatePermissionAnswer = {
  /** The id of a permission, as `permissions.createPermission` answers it. */
  readonly permissionId: string;
};

/** The fields of `permissions.createPermission`. */
export type PermissionsCreatePermissionRequest = {
  /** The name of the permission, for people: 1 to 512 characters. */
  readonly name: string;
  /** What verifications ask for, 1 to 512 characters. In it, `*` as a whole word between dots is a wildcard. The `name` when absent. */
  readonly slug?: string | undefined;
  /** A description for people, at most 512 characters. An empty text counts as absent. */
  readonly description?: string | undefined;
};

/** The answer of `permissions.createRole`. */
export type PermissionsCreateRoleAnswer = {
  /** The id of a role, as `permissions.createRole` answers it. */
  readonly roleId: string;
};

/** The fields of `permissions.createRole`. */
export type PermissionsCreateRoleRequest = {
  /** The name of the role, 1 to 512 characters. It is unique. */
  readonly name: string;
  /** A description for people, at most 512 characters. An empty text counts as absent. */
  readonly description?: string | undefined;
};

/** The fields of `permissions.deletePermission`. */
export type PermissionsDeletePermissionRequest = {
  /** The id of a permission, as `permissions.createPermission` answers it. */
  readonly permissionId: string;
};

/** The fields of `permissions.deleteRole`. */
export type PermissionsDeleteRoleRequest = {
  /** The id of a role, as `permissions.createRole` answers it. */
  readonly roleId: string;
};

/** The fields of `permissions.getPermission`. */
export type PermissionsGetPermissionRequest = {
  /** The id of a permission, as `permissions.createPermission` answers it. */
  readonly permissionId: string;
};

/** The answer of `permissions.getRole`. */
export type PermissionsGetRoleAnswer = {
  /** The id of a role, as `permissions.createRole` answers it. */
  readonly id: string;
  /** The name of the role. */
  readonly name: string;
  /** A description for people. Absent when none is set. */
  readonly description?: string | undefined;
  /** The permissions of the role, sorted by name. */
  readonly permissions: readonly PermissionReference[];
};

/** The fields of `permissions.getRole`. */
export type PermissionsGetRoleRequest = {
  /** The id of a role, as `permissions.createRole` answers it. */
  readonly roleId: string;
};

/** The fields of `permissions.listPermissions`. */
export type PermissionsListPermissionsRequest = Readonly<Record<string, unknown>>;

/** The fields of `permissions.listRoles`. */
export type PermissionsListRolesRequest = Readonly<Record<string, unknown>>;

/** The fields of `permissions.setRolePermissions`. */
export type PermissionsSetRolePermissionsRequest = {
  /** The id of the role. Give either `roleId` or `name`. */
  readonly roleId?: string | undefined;
  /** The name of the role, 1 to 512 characters. Give either `roleId` or `name`. */
  readonly name?: string | undefined;
  /** The permissions that the role has from now on, at most 1000. `[]` takes all away. */
  readonly permissions: readonly PermissionToGive[];
};

/** A plan: what a customer buys. Its holders refer to it, so a change of the plan is a change for all of them. */
export type Plan = {
  /** The id of a plan, as `plans.createPlan` answers it. */
  readonly id: string;
  /** The name of the plan. It is unique. */
  readonly name: string;
  /** Metadata of the plan, which no verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** The credits of a new holder. Absent when the plan has no credits. */
  readonly remaining?: number | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of its holders. Absent when there is none. */
  readonly refill?: RefillState | undefined;
  /** The limits that apply to each holder. `[]` when there are none. */
  readonly ratelimits: readonly SharedRatelimitState[];
  /** The ids of the roles that keys of a holder, or a key that is one, have. `[]` when there are none. */
  readonly roles: readonly string[];
  /** The ids of the permissions that keys of a holder, or a key that is one, have. `[]` when there are none. */
  readonly permissions: readonly string[];
  /** How many keys an identity on the plan may have. Absent when any number is allowed. */
  readonly maxKeys?: number | undefined;
  /** When an event tells that the credits of a holder run low, or that a key of it is about to expire. Absent when none is set. */
  readonly alerts?: Alerts | undefined;
  /** How many identities, and keys without one, are on the plan or move to it. */
  readonly holders: number;
};

/** A move to another plan that was put off until the next refill. */
export type PlanMove = {
  /** The plan that it moves to. null: it leaves its plan. */
  readonly planId: string | null;
  /** When it moves, in unix milliseconds: at the next refill. */
  readonly at: number;
  /** What becomes of the balance, as `plans.assign` was asked. */
  readonly balance: 'keep' | 'upgrade' | 'reset';
};

/** The answer of `plans.assign`. */
export type PlansAssignAnswer = {
  /** The identity. Absent when the holder is a key. */
  readonly identityId?: string | undefined;
  /** The key. Absent when the holder is an identity. */
  readonly keyId?: string | undefined;
  /** The plan that the identity, or a key without one, is on. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** true: the call was made before under the same idempotency key, and nothing changed now. Absent otherwise. */
  readonly replayed?: boolean | undefined;
};

/** The fields of `plans.assign`. */
export type PlansAssignRequest = {
  /** The id of a key. Give one of `keyId`, `identityId` and `externalId`. */
  readonly keyId?: string | undefined;
  /** The id of an identity. Give one of `keyId`, `identityId` and `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of an identity, 1 to 256 characters. Give one of `keyId`, `identityId` and `externalId`. */
  readonly externalId?: string | undefined;
  /** The plan. null: the holder leaves its plan. */
  readonly planId: string | null;
  /** `now`, or `nextRefill`: at the next refill of the present plan, which is then one of the new plan. `now` when absent. */
  readonly when?: 'now' | 'nextRefill' | undefined;
  /** `keep`: the balance stays. `upgrade`: what the plan gives becomes the `remaining` of the new plan, and what was granted stays. `reset`: the whole balance becomes the `remaining` of the new plan, and what was granted is gone. `keep` when absent. */
  readonly balance?: 'keep' | 'upgrade' | 'reset' | undefined;
  /** true: assigns the plan that the holder is on already once more, so that `balance` sets the balance again. Otherwise that changes nothing but a move that waits, which is withdrawn. */
  readonly force?: boolean | undefined;
  /** Makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated call with the same key changes nothing, also when the holder is on another plan by now. For example the id of the event of your payment provider. */
  readonly idempotencyKey?: string | undefined;
};

/** The answer of `plans.createPlan`. */
export type PlansCreatePlanAnswer = {
  /** The id of a plan, as `plans.createPlan` answers it. */
  readonly planId: string;
};

/** The fields of `plans.createPlan`. */
export type PlansCreatePlanRequest = {
  /** The name of the plan, 1 to 256 characters. It is unique. */
  readonly name: string;
  /** The credits that a new holder begins with. Whether a plan has credits stays as it was when the plan was made. No credits when null or absent. */
  readonly remaining?: number | null | undefined;
  /** true: what each holder spends is counted exactly, without a balance. Not together with `remaining`. It stays as it was when the plan was made. false when absent. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits of all holders. A new one begins at its next boundary. Needs `remaining`. null: none. */
  readonly refill?: Refill | null | undefined;
  /** The rate limits of each holder, at most 50. A holder that has a limit of the same name uses its own. */
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
  /** The roles that all keys of a holder, or a key that is on the plan itself, have beside their own, at most 100. */
  readonly roles?: readonly RoleToGive[] | null | undefined;
  /** The permissions that all keys of a holder, or a key that is on the plan itself, have beside their own, at most 1000. */
  readonly permissions?: readonly PermissionToGive[] | null | undefined;
  /** How many keys an identity on the plan may have. Any number when null or absent. */
  readonly maxKeys?: number | null | undefined;
  /** When an event tells that the credits of a holder run low, or that a key of it is about to expire, for holders and keys that do not say so themselves. `creditsBelow` is at most `remaining` of the plan. null: none. */
  readonly alerts?: AlertsInput | null | undefined;
  /** Metadata of the plan, which no verdict repeats. null: none. */
  readonly meta?: Meta | null | undefined;
};

/** The answer of `plans.deletePlan`. */
export type PlansDeletePlanAnswer = Readonly<Record<string, unknown>>;

/** The fields of `plans.deletePlan`. */
export type PlansDeletePlanRequest = {
  /** The id of a plan, as `plans.createPlan` answers it. */
  readonly planId: string;
};

/** The fields of `plans.getPlan`. */
export type PlansGetPlanRequest = {
  /** The id of a plan, as `plans.createPlan` answers it. */
  readonly planId: string;
};

/** The answer of `plans.listPlans`. */
export type PlansListPlansAnswer = {
  /** The plans of this page. */
  readonly plans: readonly Plan[];
  /** The exact number of records on all pages together, at the time of this call. */
  readonly total: number;
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `plans.listPlans`. */
export type PlansListPlansRequest = {
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The fields of `plans.updatePlan`. */
export type PlansUpdatePlanRequest = {
  /** The id of a plan, as `plans.createPlan` answers it. */
  readonly planId: string;
  /** A new name, 1 to 256 characters. It stays when absent. */
  readonly name?: string | undefined;
  /** The credits that a new holder begins with. Whether a plan has credits stays as it was when the plan was made. No credits when null or absent. */
  readonly remaining?: number | null | undefined;
  /** true: what each holder spends is counted exactly, without a balance. Not together with `remaining`. It stays as it was when the plan was made. false when absent. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits of all holders. A new one begins at its next boundary. Needs `remaining`. null: none. */
  readonly refill?: Refill | null | undefined;
  /** The rate limits of each holder, at most 50. A holder that has a limit of the same name uses its own. */
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
  /** The roles that all keys of a holder, or a key that is on the plan itself, have beside their own, at most 100. */
  readonly roles?: readonly RoleToGive[] | null | undefined;
  /** The permissions that all keys of a holder, or a key that is on the plan itself, have beside their own, at most 1000. */
  readonly permissions?: readonly PermissionToGive[] | null | undefined;
  /** How many keys an identity on the plan may have. Any number when null or absent. */
  readonly maxKeys?: number | null | undefined;
  /** When an event tells that the credits of a holder run low, or that a key of it is about to expire, for holders and keys that do not say so themselves. `creditsBelow` is at most `remaining` of the plan. null: none. */
  readonly alerts?: AlertsInput | null | undefined;
  /** Metadata of the plan, which no verdict repeats. It replaces the old as a whole. null removes it. It stays when absent. */
  readonly meta?: Meta | null | undefined;
};

/** The answer of `portal.createSession`. */
export type PortalCreateSessionAnswer = {
  /** The id of the session, as the audit log names it. */
  readonly sessionId: string;
  /** The link. Send only this customer there. Whoever opens it first has the page. */
  readonly url: string;
  /** Until when the link can be opened, in unix milliseconds. */
  readonly expiresAt: number;
};

/** The fields of `portal.createSession`. */
export type PortalCreateSessionRequest = {
  /** The id of the identity. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** What the customer may do with its keys: `create` (the root key needs `api.<apiId>.create_key`, and the right to name this owner), `rotate` (`api.<apiId>.create_key` and `api.<apiId>.update_key`), `delete` (`api.<apiId>.delete_key`). Nothing when absent: it only looks. */
  readonly allow?: readonly ('create' | 'rotate' | 'delete')[] | undefined;
  readonly keyDefaults?: KeyDefaults | undefined;
  /** Where the page leads back to, http or https. Its origin must be one that KEYSTILE_PORTAL_RETURN_ORIGINS names. The page has no such link when absent. */
  readonly returnUrl?: string | undefined;
};

/** The answer of `portal.endSessions`. */
export type PortalEndSessionsAnswer = {
  /** How many links and pages have ended. */
  readonly ended: number;
};

/** The fields of `portal.endSessions`. */
export type PortalEndSessionsRequest = {
  /** The id of the identity. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the owner, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
};

/** Something that is wrong with the service, and what to do. */
export type Problem = {
  /** The check that has found it. */
  readonly name: string;
  /** `problem`: something fails or is about to. `advice`: something could be better. */
  readonly severity: 'problem' | 'advice';
  /** What is wrong. */
  readonly text: string;
  /** What to do. */
  readonly fix: string;
  /** A command for a shell that does it, or leads there. */
  readonly command: string;
};

/** A key that was created elsewhere. Its api is that of the call. */
export type QueuedKey = {
  /** The secret of the key: 16 to 512 characters of printable ASCII. It is digested at once and stored nowhere. Give either `plaintext` or `hash`. */
  readonly plaintext?: string | undefined;
  /** The SHA-256 of the secret. Give either `plaintext` or `hash`. */
  readonly hash?: KeyDigest | undefined;
  /** The prefix that is shown to people: 1 to 16 of the characters A-Z a-z 0-9 _ . -. It does not change the secret. */
  readonly prefix?: string | undefined;
  /** The beginning of the secret that is shown to people, 1 to 64 characters and at most half of the secret. When absent, a plaintext shows its prefix and four characters, and a digest shows its prefix. */
  readonly start?: string | undefined;
  /** A name for people, at most 256 characters. It need not be unique. An empty text counts as absent. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The owner of the key, by your own id: at most 256 characters. An identity with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: the `externalId` must be that of an identity. Otherwise the answer is 404, and nothing is created. An identity is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: what is spent is counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits of the key. Each valid verification takes 1, or the cost that it names. 0 is allowed: the key then waits for its refill. The key is unlimited when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
  /** The rate limit of the key with the name `default`. It applies to every verification. The `defaultRatelimit` of the api when absent. */
  readonly ratelimit?: Ratelimit | undefined;
  /** Further rate limits of the key, at most 50, each with its own name. All of them apply to every verification. `default` is not allowed here: it is `ratelimit`. */
  readonly ratelimits?: readonly NamedRatelimit[] | undefined;
  /** The addresses and CIDR blocks (IPv4 and IPv6) that the key may be used from, at most 100. Every other address is FORBIDDEN. Any address is allowed when absent or empty. */
  readonly ipAllowlist?: readonly string[] | undefined;
  /** When an event tells that the key is about to expire, or that its credits run low. When absent, its identity and the plan of its identity decide when an event tells that the key expires. */
  readonly alerts?: AlertsInput | undefined;
};

/** The rate limit of a key, which has the name `default`. It applies to every verification. */
export type Ratelimit = {
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. When absent, a limit that exists keeps its mode, and a new one is local. In an import, it is strict. */
  readonly async?: boolean | undefined;
  /** How many requests may pass in a window, by their cost. At least 1. Required, unless `refillRate` is given. */
  readonly limit?: number | undefined;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. From 1000 (a second) to 31622400000 (366 days). Required, unless `refillInterval` is given. */
  readonly duration?: number | undefined;
  /** Older form of `async`: `fast` is `async: true`, `consistent` is `async: false`. `async` takes precedence. */
  readonly type?: 'fast' | 'consistent' | undefined;
  /** Older name of `limit`, which takes precedence. */
  readonly refillRate?: number | undefined;
  /** Older name of `duration`, which takes precedence. */
  readonly refillInterval?: number | undefined;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. When absent, a limit that exists stays as it is, and a new one has false. */
  readonly notify?: boolean | undefined;
};

/** What a verification left of a rate limit. */
export type RatelimitResult = {
  /** How much may pass in the window. */
  readonly limit: number;
  /** How much may still pass in the window, after this call. */
  readonly remaining: number;
  /** When the window ends and the next one begins, in unix milliseconds. */
  readonly reset: number;
};

/** The rate limit of a key with the name `default`. */
export type RatelimitState = {
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** The same number as `limit`, for older programs. */
  readonly refillRate: number;
  /** The same number as `duration`, for older programs. */
  readonly refillInterval: number;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
};

/** The fields of `ratelimits.deleteOverride`. */
export type RatelimitsDeleteOverrideRequest = {
  /** The id of the namespace. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceId?: string | undefined;
  /** The name of the namespace, 1 to 128 characters. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceName?: string | undefined;
  /** The identifier that the override is for, 1 to 256 characters. `*` stands for any characters, at most 10 times. An exact identifier wins over a pattern, a longer pattern over a shorter one. */
  readonly identifier: string;
};

/** The fields of `ratelimits.getOverride`. */
export type RatelimitsGetOverrideRequest = {
  /** The id of the namespace. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceId?: string | undefined;
  /** The name of the namespace, 1 to 128 characters. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceName?: string | undefined;
  /** The identifier that the override is for, 1 to 256 characters. `*` stands for any characters, at most 10 times. An exact identifier wins over a pattern, a longer pattern over a shorter one. */
  readonly identifier: string;
};

/** The answer of `ratelimits.listOverrides`. */
export type RatelimitsListOverridesAnswer = {
  /** The id of a namespace of standalone limits. `ratelimits.listOverrides` answers it for a name. */
  readonly namespaceId: string;
  /** The overrides of this page. */
  readonly overrides: readonly Override[];
  /** The exact number of records on all pages together, at the time of this call. */
  readonly total: number;
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `ratelimits.listOverrides`. */
export type RatelimitsListOverridesRequest = {
  /** The id of the namespace. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceId?: string | undefined;
  /** The name of the namespace, 1 to 128 characters. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceName?: string | undefined;
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The answer of `ratelimits.multiLimit`. */
export type RatelimitsMultiLimitAnswer = {
  /** true: all limits were taken. false: at least one refused, and nothing was taken. */
  readonly success: boolean;
  /** What became of each limit, in the order of the request. */
  readonly results: readonly LimitResult[];
};

/** The fields of `ratelimits.multiLimit`. */
export type RatelimitsMultiLimitRequest = {
  /** The limits to take, 1 to 100, over any namespaces and in both modes. */
  readonly limits: readonly LimitRequest[];
};

/** The answer of `ratelimits.setOverride`. */
export type RatelimitsSetOverrideAnswer = {
  /** The id of an override. */
  readonly overrideId: string;
  /** The id of a namespace of standalone limits. `ratelimits.listOverrides` answers it for a name. */
  readonly namespaceId: string;
};

/** The fields of `ratelimits.setOverride`. */
export type RatelimitsSetOverrideRequest = {
  /** The id of the namespace. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceId?: string | undefined;
  /** The name of the namespace, 1 to 128 characters. Give either `namespaceId` or `namespaceName`. */
  readonly namespaceName?: string | undefined;
  /** The identifier that the override is for, 1 to 256 characters. `*` stands for any characters, at most 10 times. An exact identifier wins over a pattern, a longer pattern over a shorter one. */
  readonly identifier: string;
  /** How much may pass in a window, instead of the limit of the request. 0 blocks every call. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. false when absent. */
  readonly async?: boolean | undefined;
};

/** The answer of `readiness`. */
export type ReadinessAnswer = {
  /** true: this node can answer what was asked for. */
  readonly ready: boolean;
  /** Why the node is not ready. `[]` when it is. */
  readonly reasons: readonly string[];
  /** What an operator should look at, although the node answers. `[]` when there is nothing. */
  readonly warnings: readonly string[];
};

/** When credits are refilled, and with how many. A refill needs a counter, so `remaining` must be set. */
export type Refill = {
  /** `hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`. `monthly`: at midnight on the first day of the month, or on `refillDay`. The clock is that of `timezone`. */
  readonly interval: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /** How many credits. `restore` raises the counter to this number and never lowers it; `add` adds this number. At least 1. */
  readonly amount: number;
  /** The day of the month, from 1 to 31, only with the interval `monthly`. A shorter month uses its last day. The first day when null or absent. */
  readonly refillDay?: number | null | undefined;
  /** The day of the week, from 1 (Monday) to 7 (Sunday), only with the interval `weekly`. Monday when null or absent. */
  readonly refillWeekday?: number | null | undefined;
  /** The IANA time zone whose clock counts. The setting KEYSTILE_TIMEZONE (UTC) when absent. */
  readonly timezone?: string | undefined;
  /** `restore`: each refill raises the counter to `amount` and never lowers it. `add`: each refill adds `amount`, up to `max`. `restore` when absent. */
  readonly mode?: 'restore' | 'add' | undefined;
  /** The most that the mode `add` fills the counter to, at least 1. Allowed only with `add`. No ceiling when absent. */
  readonly max?: number | undefined;
};

/** The refill of a counter, with the times of the last and the next refill. */
export type RefillState = {
  /** `hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`. `monthly`: at midnight on the first day of the month, or on `refillDay`. The clock is that of `timezone`. */
  readonly interval: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /** How many credits. `restore` raises the counter to this number and never lowers it; `add` adds this number. */
  readonly amount: number;
  /** The day of the month, from 1 to 31. null: the first day, or no monthly refill. */
  readonly refillDay: number | null;
  /** The day of the week of a weekly refill, from 1 (Monday) to 7 (Sunday). */
  readonly refillWeekday?: number | undefined;
  /** The IANA time zone whose clock counts. */
  readonly timezone: string;
  /** `restore`: each refill raises the counter to `amount` and never lowers it. `add`: each refill adds `amount`, up to `max`. */
  readonly mode: 'restore' | 'add';
  /** The most that the mode `add` fills the counter to. Absent when there is no ceiling. */
  readonly max?: number | undefined;
  /** The time of the last refill, in unix milliseconds. Absent before the first one. */
  readonly lastRefillAt?: number | undefined;
  /** The time of the next refill, in unix milliseconds. */
  readonly nextRefillAt?: number | undefined;
};

/** What a verification asks a key to be allowed to do. */
export type RequestedAuthorization = {
  /** The permissions that the key must have: one of 1 to 512 characters, `{"and": [...]}` or `{"or": [...]}`, nested as deep as you like, with at most 100 parts together. null asks for nothing. */
  readonly permissions?: string | AllPermissions | AnyPermission | null | undefined;
};

/** A rate limit that a verification names: to set its cost or other numbers, or to bring a limit along. */
export type RequestedRatelimit = {
  /** The name of a limit of the key or its identity, or of a new one, 1 to 128 characters. */
  readonly name: string;
  /** What the verification takes. 0 only asks. 1 when absent. */
  readonly cost?: number | undefined;
  /** Replaces the number of a configured limit for this verification. Together with `duration` it makes an ad-hoc limit. The configured number when absent. */
  readonly limit?: number | undefined;
  /** Replaces the window of a configured limit, in milliseconds from 1000 to 31622400000 (366 days). The configured one when absent. */
  readonly duration?: number | undefined;
  /** The mode of an ad-hoc limit: true is local, false is strict. true when absent. It cannot be set for a configured limit. */
  readonly async?: boolean | undefined;
};

/** A reservation. `charged` and `returned` are absent while it is held. */
export type Reservation = {
  /** The id of a reservation, as `reservations.create` answers it. */
  readonly id: string;
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The id of an api, as `apis.createApi` answers it. */
  readonly apiId: string;
  /** The identity whose credits are held beside those of the key. Absent when there are none. */
  readonly identityId?: string | undefined;
  /** The credits that it holds or held. */
  readonly cost: number;
  readonly state: ReservationState;
  readonly onExpiry: OnExpiry;
  /** When it was made, in unix milliseconds. */
  readonly createdAt: number;
  /** When it expires, in unix milliseconds. */
  readonly expiresAt: number;
  /** When it ended, in unix milliseconds. Absent while it is held. */
  readonly endedAt?: number | undefined;
  /** The cost that it was settled with. Absent when it was not settled. */
  readonly settledCost?: number | undefined;
  /** The credits that were charged. Fewer than `settledCost` when the balance did not suffice, or the key had no credits. */
  readonly charged?: number | undefined;
  /** The credits that came back to the balance. What came from a grant that has expired meanwhile does not come back. */
  readonly returned?: number | undefined;
};

/** `held`: it can be settled or released. `settled`: it was charged with its real cost. `released`: all came back. `expired`: its time was over first. */
export type ReservationState = 'held' | 'settled' | 'released' | 'expired';

/** The fields of `reservations.get`. */
export type ReservationsGetRequest = {
  /** The id of a reservation, as `reservations.create` answers it. */
  readonly reservationId: string;
};

/** The answer of `reservations.list`. */
export type ReservationsListAnswer = {
  /** The reservations of this page. */
  readonly reservations: readonly Reservation[];
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `reservations.list`. */
export type ReservationsListRequest = {
  /** The id of a key, as `keys.createKey` answers it. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** Only reservations in this state. */
  readonly state?: ReservationState | undefined;
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The fields of `reservations.release`. */
export type ReservationsReleaseRequest = {
  /** The id of a reservation, as `reservations.create` answers it. */
  readonly reservationId: string;
};

/** The fields of `reservations.settle`. */
export type ReservationsSettleRequest = {
  /** The id of a reservation, as `reservations.create` answers it. */
  readonly reservationId: string;
  /** What the call has cost. 0 charges nothing. */
  readonly cost: number;
  /** true: a cost above the reservation takes the difference from the credits that are left, as far as they suffice. Otherwise it is a 412. false when absent. */
  readonly allowOverage?: boolean | undefined;
};

/** A reservation: a verification, with the credits that it holds. */
export type ReserveRequest = {
  /** The secret that your customer sent. A text that cannot be a key answers NOT_FOUND. */
  readonly key: string;
  /** The api that the key must belong to; any other key is FORBIDDEN. Any api when absent. */
  readonly apiId?: string | undefined;
  /** Tags that analytics count the verification by: at most 10, each of 1 to 128 characters. Use values of which there are few, such as a route or a region. */
  readonly tags?: readonly string[] | undefined;
  /** What the key must be allowed to do. Nothing is asked for when absent. */
  readonly authorization?: RequestedAuthorization | undefined;
  /** The credits to hold, from 1 on: the most that you expect the call to cost. */
  readonly cost: number;
  /** How long the credits are held, in milliseconds from 1000 to 86400000 (24 hours). 600000 (10 minutes) when absent. */
  readonly ttlMs?: number | undefined;
  /** What becomes of the credits when the reservation is neither settled nor released in time. `release` when absent. */
  readonly onExpiry?: OnExpiry | undefined;
  /** Limits with another cost or other numbers than configured, and limits of the identity that are to count: at most 50. The other limits of the key apply with a cost of 1. */
  readonly ratelimits?: readonly RequestedRatelimit[] | undefined;
  /** A text of your own that makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated verification gets the same verdict and is charged once. The header Idempotency-Key is the same; both given must be equal. */
  readonly idempotencyKey?: string | undefined;
  /** The address of your customer, which is checked against the key's `ipAllowlist`. The address of the caller when absent. */
  readonly clientIp?: string | undefined;
};

/** The verdict on a key, with the reservation. `remaining` is what is left beside what is held. */
export type ReservedVerdict = {
  /** true: the request may pass. It is true with the code VALID only. */
  readonly valid: boolean;
  readonly code: VerdictCode;
  /** The id of this request. The log and the audit log of the service name the request by it. */
  readonly requestId: string;
  /** The id of the key. Absent with the code NOT_FOUND. */
  readonly keyId?: string | undefined;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** The `externalId` of the identity that the key belongs to. Absent when the key has no owner. */
  readonly ownerId?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** When the key stops being valid, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** false: the key is not enabled. Absent with the code NOT_FOUND. */
  readonly enabled?: boolean | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** The slugs of all permissions of the key, its own and those of its roles. Absent with the code NOT_FOUND. */
  readonly permissions?: readonly string[] | undefined;
  /** The names of the roles of the key. Absent with the code NOT_FOUND. */
  readonly roles?: readonly string[] | undefined;
  /** The identity that the key belongs to. Absent when the key has no owner. */
  readonly identity?: IdentityReference | undefined;
  /** The credits that are left after this verification: those of the key or of its identity, whichever are fewer. Absent when neither has a counter. */
  readonly remaining?: number | undefined;
  /** When the credits that did not suffice are refilled next, in unix milliseconds. Only with the code USAGE_EXCEEDED, and absent when they have no refill. */
  readonly nextRefillAt?: number | undefined;
  /** The rate limit that refused, else the one with the name `default`. Absent when there is neither. */
  readonly ratelimit?: RatelimitResult | undefined;
  /** All rate limits that were checked. Absent when none was. */
  readonly ratelimits?: readonly NamedRatelimitResult[] | undefined;
  /** The id of the reservation. Absent when the code is not VALID. */
  readonly reservationId?: string | undefined;
  /** When the reservation expires, in unix milliseconds. Absent when the code is not VALID. */
  readonly expiresAt?: number | undefined;
};

/** A role: a named set of permissions that keys get and lose together. */
export type Role = {
  /** The id of a role, as `permissions.createRole` answers it. */
  readonly id: string;
  /** The name of the role. */
  readonly name: string;
  /** A description for people. Absent when none is set. */
  readonly description?: string | undefined;
};

/** A role that a key has. */
export type RoleReference = {
  /** The id of a role, as `permissions.createRole` answers it. */
  readonly id: string;
  /** The name of the role. */
  readonly name: string;
};

/** A role, by its id or its name. */
export type RoleToGive = {
  /** The id of the role. Give an `id` or a `name`; the `id` takes precedence. */
  readonly id?: string | undefined;
  /** The name of the role, 1 to 512 characters. */
  readonly name?: string | undefined;
  /** true: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is never created. false when absent: what does not exist is a 404. */
  readonly create?: boolean | undefined;
};

/** A role, by its id or its name. */
export type RoleToRemove = {
  /** The id of the role. Give an `id` or a `name`; the `id` takes precedence. */
  readonly id?: string | undefined;
  /** The name of the role, 1 to 512 characters. */
  readonly name?: string | undefined;
};

/** A root key, without its secret. Fields that are not set are absent. */
export type RootKey = {
  /** The id of a root key, as `rootKeys.createRootKey` answers it. It is not the secret. */
  readonly id: string;
  /** The beginning of the secret, by which a person recognises the root key. */
  readonly start: string;
  /** The name of the root key, for people. Absent when it has none. */
  readonly name?: string | undefined;
  /** The rights of the root key. `*` is every right. */
  readonly permissions: readonly string[];
  /** When the root key was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When the root key ends, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** When the root key was revoked, in unix milliseconds. Absent when it is not revoked. */
  readonly revokedAt?: number | undefined;
};

/** The fields of `rootKeys.createRootKey`. */
export type RootKeysCreateRootKeyRequest = {
  /** A name for people, 1 to 256 characters, such as the program that uses the root key. */
  readonly name: string;
  /** The rights of the root key, 1 to 1000, each as `resource.id.action`. The id may be `*`, and a single `*` is every right. Nothing is added to them. */
  readonly permissions: readonly string[];
  /** When the root key ends, in unix milliseconds, in the future. It does not expire when absent. A calling root key that expires can create only root keys that expire no later. */
  readonly expires?: number | undefined;
};

/** The answer of `rootKeys.listRootKeys`. */
export type RootKeysListRootKeysAnswer = {
  /** All root keys, oldest first. */
  readonly rootKeys: readonly RootKey[];
};

/** The fields of `rootKeys.listRootKeys`. */
export type RootKeysListRootKeysRequest = Readonly<Record<string, unknown>>;

/** The fields of `rootKeys.revokeRootKey`. */
export type RootKeysRevokeRootKeyRequest = {
  /** The id of a root key, as `rootKeys.createRootKey` answers it. It is not the secret. */
  readonly rootKeyId: string;
};

/** The fields of `rootKeys.rotateRootKey`. */
export type RootKeysRotateRootKeyRequest = {
  /** The id of a root key, as `rootKeys.createRootKey` answers it. It is not the secret. */
  readonly rootKeyId: string;
  /** How long the old secret stays valid, in milliseconds: from 0 to 2592000000 (30 days). 0 ends every former secret at once. */
  readonly overlapMs: number;
};

/** The answer of `service.getStatus`. */
export type ServiceGetStatusAnswer = {
  /** The time of the service, in unix milliseconds. */
  readonly time: number;
  /** The version of the answering node. */
  readonly version: string;
  /** All nodes on this database, sorted by location. The embedded database has one. */
  readonly nodes: readonly Node[];
  readonly work: Work;
  /** What the checks have found, the gravest first. `[]` when all is well. */
  readonly problems: readonly Problem[];
  /** Everything that was looked at. */
  readonly checks: readonly Check[];
  /** The settings in effect on the answering node. */
  readonly configuration: readonly Setting[];
};

/** The fields of `service.getStatus`. */
export type ServiceGetStatusRequest = Readonly<Record<string, unknown>>;

/** A browser that is signed in to the dashboard with a root key. */
export type Session = {
  /** The id of the session. */
  readonly id: string;
  /** The id of a root key, as `rootKeys.createRootKey` answers it. It is not the secret. */
  readonly rootKeyId: string;
  /** When the browser signed in, in unix milliseconds. */
  readonly createdAt: number;
  /** When the session was last used, in unix milliseconds; up to ten minutes too early. */
  readonly lastUsedAt: number;
  /** When the session ends if it is not used again, in unix milliseconds. */
  readonly endsAt: number;
  /** The address that signed in. Absent when it is not known. */
  readonly origin?: string | undefined;
  /** How the browser names itself. Absent when it does not. */
  readonly browser?: string | undefined;
};

/** The fields of `sessions.endSession`. */
export type SessionsEndSessionRequest = {
  /** The id of a session, as `sessions.listSessions` answers it. */
  readonly sessionId: string;
};

/** The answer of `sessions.listSessions`. */
export type SessionsListSessionsAnswer = {
  /** The sessions that have not ended, the newest first. */
  readonly sessions: readonly Session[];
};

/** The fields of `sessions.listSessions`. */
export type SessionsListSessionsRequest = Readonly<Record<string, unknown>>;

/** A setting in effect on the answering node. */
export type Setting = {
  /** The name of the variable. */
  readonly name: string;
  /** The value in effect. Of a secret only `set` or `not set`. */
  readonly value: string;
  /** Where the value comes from. `environment`: a variable, also of the file that `--env-file` names. `file`: the file that `NAME_FILE` names. `flag`: the command line. */
  readonly source: 'default' | 'environment' | 'file' | 'flag';
  /** What the setting means. */
  readonly text: string;
};

/** A rate limit that all keys of an identity share. */
export type SharedRatelimit = {
  /** The name of the limit, 1 to 128 characters, once in the list. A verification names the limit by it. */
  readonly name: string;
  /** How many requests may pass in a window, by their cost. At least 1. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. When absent, a limit that exists keeps its mode, and a new one is local. */
  readonly async?: boolean | undefined;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. When absent, a limit that exists stays as it is, and a new one has false. */
  readonly notify?: boolean | undefined;
  /** true: the limit applies to every verification of a key of the identity. false: only to verifications that name it. When absent, a limit that exists stays as it is, and a new one has true. */
  readonly autoApply?: boolean | undefined;
};

/** A rate limit that all keys of an identity share. */
export type SharedRatelimitState = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** true: the limit applies to every verification of a key of the identity. false: only to verifications that name it. */
  readonly autoApply: boolean;
};

/** What happened to the credits of one key or identity, in one day or one refill period. */
export type StatementRow = {
  /** The key whose credits these are. Absent for an identity. */
  readonly keyId?: string | undefined;
  /** The identity whose credits these are. Absent for a key. */
  readonly identityId?: string | undefined;
  /** Your own id of this identity. Absent for a key, and when the identity was deleted. */
  readonly externalId?: string | undefined;
  /** When the day (UTC) or the refill period begins, in unix milliseconds. The first period begins with the credits. */
  readonly start: number;
  /** When the day or period ends, in unix milliseconds. For the period that runs: the next refill. Absent when there is none. */
  readonly end?: number | undefined;
  /** The balance at the beginning, with what reservations hold. */
  readonly opening: number;
  /** Credits that were granted. */
  readonly granted: number;
  /** Credits that refills brought. */
  readonly refilled: number;
  /** Credits that other calls set or added; negative where they took some. */
  readonly adjusted: number;
  /** Credits that verifications and settled reservations have spent. */
  readonly spent: number;
  /** Credits of grants that nobody used in time. */
  readonly expired: number;
  /** The balance at the end, with what reservations hold: opening + granted + refilled + adjusted - spent - expired. */
  readonly closing: number;
  /** The part of `closing` that reservations hold. */
  readonly held: number;
};

/** The answer of `usage.getStatement`. */
export type UsageGetStatementAnswer = {
  /** The rows of this page. */
  readonly rows: readonly StatementRow[];
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `usage.getStatement`. */
export type UsageGetStatementRequest = {
  /** The statement of this key's own credits. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly keyId?: string | undefined;
  /** The statement of the identity with this id of your own. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly externalId?: string | undefined;
  /** The statement of this identity, also after it was deleted. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly identityId?: string | undefined;
  /** The statements of all identities and keys that are on this plan now. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly planId?: string | undefined;
  /** true: the statements of all keys and identities, also of those that were deleted. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly all?: boolean | undefined;
  /** What a row stands for: `day`, one UTC day, or `period`, the time from one refill to the next. `day` when absent. */
  readonly per?: 'day' | 'period' | undefined;
  /** Only days or periods that end after this time, in unix milliseconds. They are whole, so the first may begin earlier. All that are kept when null or absent. */
  readonly start?: number | null | undefined;
  /** Only days or periods that begin before this time, in unix milliseconds. It must be after `start`. Up to now when null or absent. */
  readonly end?: number | null | undefined;
  /** `json`: one page. `csv` or `ndjson`: all rows, sent while they are read. When absent, the Accept header decides: `text/csv` or `application/x-ndjson`, else `json`. */
  readonly format?: 'json' | 'csv' | 'ndjson' | undefined;
  /** The largest number of rows in a page, from 1 to 1000. 1000 when absent. A page also ends after 100 keys and identities, so it can have fewer rows, or none. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The rate limit of a key with the name `default`, and what was used of it. */
export type UsedDefaultRatelimit = {
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** The same number as `limit`, for older programs. */
  readonly refillRate: number;
  /** The same number as `duration`, for older programs. */
  readonly refillInterval: number;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** How much has passed in the running window. The count of a local limit is saved behind the requests, and lags by some seconds. */
  readonly used: number;
  /** When the running window ends, in unix milliseconds. */
  readonly reset: number;
};

/** A rate limit of a key, by its name, and what was used of it. */
export type UsedNamedRatelimit = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** How much has passed in the running window. The count of a local limit is saved behind the requests, and lags by some seconds. */
  readonly used: number;
  /** When the running window ends, in unix milliseconds. */
  readonly reset: number;
};

/** A rate limit that all keys of an identity share, and what was used of it. */
export type UsedRatelimit = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, by their cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to the epoch: with 60000 they begin at every full minute UTC. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the event `limit.reached` tells of the first refusal in each window. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** true: the limit applies to every verification of a key of the identity. false: only to verifications that name it. */
  readonly autoApply: boolean;
  /** How much has passed in the running window. The count of a local limit is saved behind the requests, and lags by some seconds. */
  readonly used: number;
  /** When the running window ends, in unix milliseconds. */
  readonly reset: number;
};

/** The verdict on a key. Fields that are not set are absent. */
export type Verdict = {
  /** true: the request may pass. It is true with the code VALID only. */
  readonly valid: boolean;
  readonly code: VerdictCode;
  /** The id of this request. The log and the audit log of the service name the request by it. */
  readonly requestId: string;
  /** The id of the key. Absent with the code NOT_FOUND. */
  readonly keyId?: string | undefined;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** The `externalId` of the identity that the key belongs to. Absent when the key has no owner. */
  readonly ownerId?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** When the key stops being valid, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** false: the key is not enabled. Absent with the code NOT_FOUND. */
  readonly enabled?: boolean | undefined;
  /** A text that every verdict repeats, such as the stage that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** The slugs of all permissions of the key, its own and those of its roles. Absent with the code NOT_FOUND. */
  readonly permissions?: readonly string[] | undefined;
  /** The names of the roles of the key. Absent with the code NOT_FOUND. */
  readonly roles?: readonly string[] | undefined;
  /** The identity that the key belongs to. Absent when the key has no owner. */
  readonly identity?: IdentityReference | undefined;
  /** The credits that are left after this verification: those of the key or of its identity, whichever are fewer. Absent when neither has a counter. */
  readonly remaining?: number | undefined;
  /** When the credits that did not suffice are refilled next, in unix milliseconds. Only with the code USAGE_EXCEEDED, and absent when they have no refill. */
  readonly nextRefillAt?: number | undefined;
  /** The rate limit that refused, else the one with the name `default`. Absent when there is neither. */
  readonly ratelimit?: RatelimitResult | undefined;
  /** All rate limits that were checked. Absent when none was. */
  readonly ratelimits?: readonly NamedRatelimitResult[] | undefined;
  /** What each check found, in the order of the checks. Absent unless the request has `explain`. */
  readonly explanation?: readonly ExplainedCheck[] | undefined;
};

/** The outcome of a verification. `VALID`: the request may pass. `NOT_FOUND`: there is no such key. `FORBIDDEN`: the key belongs to another api, or the address is not allowed. `DISABLED`: the key or its identity is not enabled. `EXPIRED`: the time of the key is over. `INSUFFICIENT_PERMISSIONS`: the key lacks a permission that the request asks for. `RATE_LIMITED`: a rate limit is used up. `USAGE_EXCEEDED`: the credits do not suffice. Only `VALID` takes credits and counts against limits. */
export type VerdictCode =
  | 'VALID'
  | 'NOT_FOUND'
  | 'FORBIDDEN'
  | 'DISABLED'
  | 'EXPIRED'
  | 'INSUFFICIENT_PERMISSIONS'
  | 'RATE_LIMITED'
  | 'USAGE_EXCEEDED';

/** How many verifications there were with each verdict, and the credits that they took. */
export type VerificationCounts = {
  /** When the minute, hour, day or month (UTC) begins, in unix milliseconds. Absent when the rows are not grouped by time. */
  readonly time?: number | undefined;
  /** How many verifications were valid. */
  readonly valid: number;
  /** How many verifications answered NOT_FOUND, because there is no such key. */
  readonly notFound: number;
  /** How many verifications answered FORBIDDEN, because the key belongs to another api, or the address is not allowed. */
  readonly forbidden: number;
  /** How many verifications answered DISABLED, because the key or its identity is not enabled. */
  readonly disabled: number;
  /** How many verifications answered EXPIRED, because the time of the key is over. */
  readonly expired: number;
  /** How many verifications answered INSUFFICIENT_PERMISSIONS, because the key lacks a permission that the request asks for. */
  readonly insufficientPermissions: number;
  /** How many verifications answered RATE_LIMITED, because a rate limit is used up. */
  readonly rateLimited: number;
  /** How many verifications answered USAGE_EXCEEDED, because the credits do not suffice. */
  readonly usageExceeded: number;
  /** Always 0. Older programs read it. */
  readonly unauthorized: number;
  /** How many verifications there were, whatever their verdict. */
  readonly total: number;
  /** Credits that these verifications took. A remembered answer takes none. Where key and identity both pay, the cost counts once. */
  readonly credits: number;
  /** The key that the row stands for, grouped by `key`. Absent in the row of unknown keys. */
  readonly keyId?: string | undefined;
  /** The owner that the row stands for, grouped by `identity`. Absent in the row of keys without an owner. */
  readonly identity?:
    | {
        /** The id of an identity, as `identities.createIdentity` answers it. */
        readonly id: string;
        /** Your own id of the owner. Empty when the identity was deleted. */
        readonly externalId: string;
      }
    | undefined;
  /** The tag that the row stands for, grouped by `tag`. Absent in the row of verifications without tags. */
  readonly tag?: string | undefined;
  /** The whole list of tags that the row stands for, sorted, grouped by `tags`. `[]` for verifications without tags. */
  readonly tags?: readonly string[] | undefined;
};

/** What a row of counts can stand for. `tag` counts a verification under each of its tags, `tags` once, under all its tags together. */
export type VerificationGroup = 'minute' | 'hour' | 'day' | 'month' | 'key' | 'identity' | 'tag' | 'tags';

/** A verification: the key, and what the request needs. */
export type VerifyRequest = {
  /** The secret that your customer sent. A text that cannot be a key answers NOT_FOUND. */
  readonly key: string;
  /** The api that the key must belong to; any other key is FORBIDDEN. Any api when absent. */
  readonly apiId?: string | undefined;
  /** Tags that analytics count the verification by: at most 10, each of 1 to 128 characters. Use values of which there are few, such as a route or a region. */
  readonly tags?: readonly string[] | undefined;
  /** What the key must be allowed to do. Nothing is asked for when absent. */
  readonly authorization?: RequestedAuthorization | undefined;
  /** How many credits the verification takes. */
  readonly remaining?: Cost | undefined;
  /** Older form of `ratelimits` for the limit with the name `default`. */
  readonly ratelimit?: Cost | undefined;
  /** Limits with another cost or other numbers than configured, and limits of the identity that are to count: at most 50. The other limits of the key apply with a cost of 1. */
  readonly ratelimits?: readonly RequestedRatelimit[] | undefined;
  /** A text of your own that makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated verification gets the same verdict and is charged once. The header Idempotency-Key is the same; both given must be equal. */
  readonly idempotencyKey?: string | undefined;
  /** The address of your customer, which is checked against the key's `ipAllowlist`. The address of the caller when absent. */
  readonly clientIp?: string | undefined;
  /** true: the verdict says what each check found and which counters moved (`explanation`). It needs a root key with the right `api.<apiId>.read_key`. With `remaining.cost` 0, limits that are not named cost 0 too, so that nothing is spent; such a verification is not counted by analytics. false when absent. */
  readonly explain?: boolean | undefined;
};

/** A target that events are sent to, without its secret. */
export type Webhook = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly id: string;
  /** Where events are sent. */
  readonly url: string;
  /** The types of events that are sent. Absent when all are. */
  readonly events?: readonly string[] | undefined;
  /** The apis whose events are sent. Absent when events of everything are. */
  readonly apis?: readonly string[] | undefined;
  /** false: nothing is sent. What happens meanwhile is sent when it is enabled again. */
  readonly enabled: boolean;
  /** When the service paused the webhook, because its target failed for three days, in unix milliseconds. Absent when it is not paused. */
  readonly pausedAt?: number | undefined;
  /** How the last delivery failed before the pause. */
  readonly pausedBecause?: string | undefined;
  /** Until when the secret before the last rotation signs too, in unix milliseconds. Absent when there was none. */
  readonly formerSecretUntil?: number | undefined;
  /** When the webhook was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When it was last changed. Absent when it was never changed. */
  readonly updatedAt?: number | undefined;
};

/** A webhook, with what waits for it. */
export type WebhookDetails = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly id: string;
  /** Where events are sent. */
  readonly url: string;
  /** The types of events that are sent. Absent when all are. */
  readonly events?: readonly string[] | undefined;
  /** The apis whose events are sent. Absent when events of everything are. */
  readonly apis?: readonly string[] | undefined;
  /** false: nothing is sent. What happens meanwhile is sent when it is enabled again. */
  readonly enabled: boolean;
  /** When the service paused the webhook, because its target failed for three days, in unix milliseconds. Absent when it is not paused. */
  readonly pausedAt?: number | undefined;
  /** How the last delivery failed before the pause. */
  readonly pausedBecause?: string | undefined;
  /** Until when the secret before the last rotation signs too, in unix milliseconds. Absent when there was none. */
  readonly formerSecretUntil?: number | undefined;
  /** When the webhook was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When it was last changed. Absent when it was never changed. */
  readonly updatedAt?: number | undefined;
  /** How many deliveries wait, at most 1000. Further events are put in the queue when there is room. */
  readonly waiting: number;
};

/** The answer of `webhooks.createWebhook`. */
export type WebhooksCreateWebhookAnswer = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
  /** The secret that signs what is sent. Keep it where the target can read it: it is shown only in this answer. */
  readonly secret: string;
};

/** The fields of `webhooks.createWebhook`. */
export type WebhooksCreateWebhookRequest = {
  /** Where events are sent, with POST. It must begin with https and lead to a public address, unless KEYSTILE_WEBHOOK_ALLOW_PRIVATE is on. */
  readonly url: string;
  /** The types of events that are sent. All of them when absent or null, also those of later versions. */
  readonly events?: readonly EventType[] | null | undefined;
  /** The apis whose events are sent, by their ids. Events that belong to no api, such as those of identities and plans, are not sent then. Events of everything when absent or null. */
  readonly apis?: readonly string[] | null | undefined;
};

/** The fields of `webhooks.deleteWebhook`. */
export type WebhooksDeleteWebhookRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
};

/** The fields of `webhooks.getWebhook`. */
export type WebhooksGetWebhookRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
};

/** The answer of `webhooks.listDeliveries`. */
export type WebhooksListDeliveriesAnswer = {
  /** The deliveries of this page. */
  readonly deliveries: readonly Delivery[];
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `webhooks.listDeliveries`. */
export type WebhooksListDeliveriesRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
  /** Only deliveries in this state. */
  readonly state?: DeliveryState | undefined;
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The answer of `webhooks.listWebhooks`. */
export type WebhooksListWebhooksAnswer = {
  /** The webhooks, the oldest first. */
  readonly webhooks: readonly Webhook[];
};

/** The fields of `webhooks.listWebhooks`. */
export type WebhooksListWebhooksRequest = Readonly<Record<string, unknown>>;

/** The fields of `webhooks.redeliver`. */
export type WebhooksRedeliverRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
  /** The id of an event, as `events.listEvents` answers it. */
  readonly eventId: string;
};

/** The answer of `webhooks.rotateSecret`. */
export type WebhooksRotateSecretAnswer = {
  /** The secret that signs what is sent. Keep it where the target can read it: it is shown only in this answer. */
  readonly secret: string;
};

/** The fields of `webhooks.rotateSecret`. */
export type WebhooksRotateSecretRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
  /** How long the old secret signs too, in milliseconds, from 0 to 30 days. 24 hours when absent. */
  readonly overlapMs?: number | undefined;
};

/** The answer of `webhooks.sendTest`. */
export type WebhooksSendTestAnswer = {
  /** The id of an event, as `events.listEvents` answers it. */
  readonly eventId: string;
};

/** The fields of `webhooks.sendTest`. */
export type WebhooksSendTestRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
};

/** The fields of `webhooks.updateWebhook`. */
export type WebhooksUpdateWebhookRequest = {
  /** The id of a webhook, as `webhooks.createWebhook` answers it. */
  readonly webhookId: string;
  /** Where events are sent, with POST. It must begin with https and lead to a public address, unless KEYSTILE_WEBHOOK_ALLOW_PRIVATE is on. */
  readonly url?: string | undefined;
  /** The types of events that are sent. All of them when absent or null, also those of later versions. */
  readonly events?: readonly EventType[] | null | undefined;
  /** The apis whose events are sent, by their ids. Events that belong to no api, such as those of identities and plans, are not sent then. Events of everything when absent or null. */
  readonly apis?: readonly string[] | null | undefined;
  /** false: nothing is sent, and what happens is kept. true: all that was kept is sent, and a pause ends. */
  readonly enabled?: boolean | undefined;
};

/** What the answering node did lately. */
export type Work = {
  /** From when on it is counted, in unix milliseconds: the start of the node, and for those who ask again, about a minute ago. */
  readonly since: number;
  /** How many keys were verified. */
  readonly verifications: number;
  /** The time from a request to its verdict. Absent when there were no verifications. */
  readonly latency?:
    | {
        /** One in two verifications took at most this many milliseconds. */
        readonly p50: number;
        /** Nine in ten verifications took at most this many milliseconds. */
        readonly p90: number;
        /** Of a hundred, 99 verifications took at most this many milliseconds. */
        readonly p99: number;
      }
    | undefined;
  /** How many spends and changes were committed. */
  readonly spends: number;
  /** In how many commits. */
  readonly batches: number;
};

export interface Keys {
  /** Verify a key: may this request pass? */
  readonly verify: (request: VerifyRequest, options?: CallOptions) => Promise<Verdict>;
  /** Verify up to 100 keys in one call, in order, each as with keys.verifyKey. */
  readonly verifyKeys: (request: KeysVerifyKeysRequest, options?: CallOptions) => Promise<KeysVerifyKeysAnswer>;
  /** Create a key. */
  readonly create: (request: KeysCreateKeyRequest, options?: CallOptions) => Promise<NewSecret>;
  /** Create up to 1000 keys: all of them, or none. */
  readonly createKeys: (request: KeysCreateKeysRequest, options?: CallOptions) => Promise<KeysCreateKeysAnswer>;
  /** Read one key. */
  readonly get: (request: KeysGetKeyRequest, options?: CallOptions) => Promise<KeyDetails>;
  /** Change a key. */
  readonly update: (request: KeysUpdateKeyRequest, options?: CallOptions) => Promise<Empty>;
  /** Set, increase or decrease the credits of a key, exactly, also while the key is in use. */
  readonly updateRemaining: (
    request: KeysUpdateRemainingRequest,
    options?: CallOptions,
  ) => Promise<KeysUpdateRemainingAnswer>;
  /** Delete a key. */
  readonly delete: (request: KeysDeleteKeyRequest, options?: CallOptions) => Promise<Empty>;
  /** Restore a key that was deleted without `permanent`. */
  readonly restore: (request: KeysRestoreKeyRequest, options?: CallOptions) => Promise<Empty>;
  /** Give a key a new secret. */
  readonly rotate: (request: KeysRotateKeyRequest, options?: CallOptions) => Promise<NewSecret>;
  /** Find the key that a secret belongs to, without verifying it and without counting anything. */
  readonly whoami: (request: KeysWhoamiRequest, options?: CallOptions) => Promise<KeysWhoamiAnswer>;
  /** Add permissions to a key, and return all that it has directly. */
  readonly addPermissions: (
    request: KeysAddPermissionsRequest,
    options?: CallOptions,
  ) => Promise<readonly PermissionReference[]>;
  /** Replace the permissions that a key has directly, and return them. */
  readonly setPermissions: (
    request: KeysSetPermissionsRequest,
    options?: CallOptions,
  ) => Promise<readonly PermissionReference[]>;
  /** Remove permissions from a key. */
  readonly removePermissions: (request: KeysRemovePermissionsRequest, options?: CallOptions) => Promise<Empty>;
  /** Add roles to a key, and return all that it has. */
  readonly addRoles: (request: KeysAddRolesRequest, options?: CallOptions) => Promise<readonly RoleReference[]>;
  /** Replace the roles of a key, and return them. */
  readonly setRoles: (request: KeysSetRolesRequest, options?: CallOptions) => Promise<readonly RoleReference[]>;
  /** Remove roles from a key. */
  readonly removeRoles: (request: KeysRemoveRolesRequest, options?: CallOptions) => Promise<Empty>;
  /** Count the verifications of a key, or of all keys of an owner, by outcome and by day or hour. */
  readonly getVerifications: (
    request?: KeysGetVerificationsRequest,
    options?: CallOptions,
  ) => Promise<KeysGetVerificationsAnswer>;
}

export interface Apis {
  /** Create an api: a group of keys that belong to one of your services. */
  readonly create: (request: ApisCreateApiRequest, options?: CallOptions) => Promise<ApisCreateApiAnswer>;
  /** Read one api, with the defaults for its new keys. */
  readonly get: (request: ApisGetApiRequest, options?: CallOptions) => Promise<Api>;
  /** List the apis that the root key may read, oldest first. */
  readonly list: (request?: ApisListApisRequest, options?: CallOptions) => AsyncIterable<Api>;
  /** List the keys of an api, oldest first. */
  readonly listKeys: (request: ApisListKeysRequest, options?: CallOptions) => AsyncIterable<Key>;
  /** Delete an api with all its keys. */
  readonly delete: (request: ApisDeleteApiRequest, options?: CallOptions) => Promise<Empty>;
  /** Delete all keys of an api at once. */
  readonly deleteKeys: (request: ApisDeleteKeysRequest, options?: CallOptions) => Promise<ApisDeleteKeysAnswer>;
  /** Change an api: its name, the defaults for its new keys, and its protection from deletion. */
  readonly update: (request: ApisUpdateApiRequest, options?: CallOptions) => Promise<Empty>;
}

export interface Identities {
  /** Create an identity: one of your users or organisations, with limits and credits that all its keys share. */
  readonly create: (
    request: IdentitiesCreateIdentityRequest,
    options?: CallOptions,
  ) => Promise<IdentitiesCreateIdentityAnswer>;
  /** Delete an identity with its limits and credits. */
  readonly delete: (request?: IdentitiesDeleteIdentityRequest, options?: CallOptions) => Promise<Empty>;
  /** Read one identity: its balance, what was used of its limits, and how many keys it has. */
  readonly get: (request?: IdentitiesGetIdentityRequest, options?: CallOptions) => Promise<IdentityDetails>;
  /** List or search identities, oldest first. */
  readonly list: (request?: IdentitiesListIdentitiesRequest, options?: CallOptions) => AsyncIterable<Identity>;
  /** Change an identity. */
  readonly update: (request?: IdentitiesUpdateIdentityRequest, options?: CallOptions) => Promise<Identity>;
}

export interface Plans {
  /** Create a plan: the credits, limits and permissions that a customer buys. */
  readonly create: (request: PlansCreatePlanRequest, options?: CallOptions) => Promise<PlansCreatePlanAnswer>;
  /** Read one plan, with the number of its holders. */
  readonly get: (request: PlansGetPlanRequest, options?: CallOptions) => Promise<Plan>;
  /** List plans, oldest first. */
  readonly list: (request?: PlansListPlansRequest, options?: CallOptions) => AsyncIterable<Plan>;
  /** Change a plan for all its holders at once. */
  readonly update: (request: PlansUpdatePlanRequest, options?: CallOptions) => Promise<Plan>;
  /** Delete a plan that nobody is on. */
  readonly delete: (request: PlansDeletePlanRequest, options?: CallOptions) => Promise<PlansDeletePlanAnswer>;
  /** Put an identity, or a key without one, on a plan, or move it to another one. */
  readonly assign: (request: PlansAssignRequest, options?: CallOptions) => Promise<PlansAssignAnswer>;
}

export interface Credits {
  /** Give credits to a key or an identity, once. */
  readonly grant: (request: CreditsGrantRequest, options?: CallOptions) => Promise<CreditsGrantAnswer>;
  /** Correct the credits of a key or an identity by a number, up or down. */
  readonly adjust: (request: CreditsAdjustRequest, options?: CallOptions) => Promise<CreditsAdjustAnswer>;
}

export interface Reservations {
  /** Verify a key, and hold the credits that the call may cost. */
  readonly create: (request: ReserveRequest, options?: CallOptions) => Promise<ReservedVerdict>;
  /** Charge what a call has cost, and return the rest of its reservation. */
  readonly settle: (request: ReservationsSettleRequest, options?: CallOptions) => Promise<EndedReservation>;
  /** Return all that a reservation holds: the call did not happen. */
  readonly release: (request: ReservationsReleaseRequest, options?: CallOptions) => Promise<EndedReservation>;
  /** Read a reservation. */
  readonly get: (request: ReservationsGetRequest, options?: CallOptions) => Promise<Reservation>;
  /** List the reservations of a key, the oldest first. */
  readonly list: (request: ReservationsListRequest, options?: CallOptions) => AsyncIterable<Reservation>;
}

export interface Permissions {
  /** Create a permission. */
  readonly create: (
    request: PermissionsCreatePermissionRequest,
    options?: CallOptions,
  ) => Promise<PermissionsCreatePermissionAnswer>;
  /** Delete a permission. */
  readonly delete: (request: PermissionsDeletePermissionRequest, options?: CallOptions) => Promise<Empty>;
  /** Read one permission. */
  readonly get: (request: PermissionsGetPermissionRequest, options?: CallOptions) => Promise<Permission>;
  /** List all permissions, sorted by name. */
  readonly list: (request?: PermissionsListPermissionsRequest, options?: CallOptions) => AsyncIterable<Permission>;
  /** Create a role: a group of permissions that keys get and lose together. */
  readonly createRole: (
    request: PermissionsCreateRoleRequest,
    options?: CallOptions,
  ) => Promise<PermissionsCreateRoleAnswer>;
  /** Delete a role. */
  readonly deleteRole: (request: PermissionsDeleteRoleRequest, options?: CallOptions) => Promise<Empty>;
  /** Read one role and its permissions. */
  readonly getRole: (request: PermissionsGetRoleRequest, options?: CallOptions) => Promise<PermissionsGetRoleAnswer>;
  /** List all roles, sorted by name. */
  readonly listRoles: (request?: PermissionsListRolesRequest, options?: CallOptions) => AsyncIterable<Role>;
  /** Replace the permissions of a role, and return them. */
  readonly setRolePermissions: (
    request: PermissionsSetRolePermissionsRequest,
    options?: CallOptions,
  ) => Promise<readonly PermissionReference[]>;
}

export interface Ratelimits {
  /** Limit anything by your own identifier, without a key. */
  readonly limit: (request: LimitRequest, options?: CallOptions) => Promise<LimitResult>;
  /** Take up to 100 limits together, all or nothing. */
  readonly multiLimit: (
    request: RatelimitsMultiLimitRequest,
    options?: CallOptions,
  ) => Promise<RatelimitsMultiLimitAnswer>;
  /** Override the limit of an identifier, or of all identifiers that match a pattern with `*`: these numbers replace those of a request. */
  readonly setOverride: (
    request: RatelimitsSetOverrideRequest,
    options?: CallOptions,
  ) => Promise<RatelimitsSetOverrideAnswer>;
  /** Read the override that was set for this identifier or pattern. */
  readonly getOverride: (request: RatelimitsGetOverrideRequest, options?: CallOptions) => Promise<Override>;
  /** List the overrides of a namespace, oldest first. */
  readonly listOverrides: (request?: RatelimitsListOverridesRequest, options?: CallOptions) => AsyncIterable<Override>;
  /** Remove the override that was set for this identifier or pattern. */
  readonly deleteOverride: (request: RatelimitsDeleteOverrideRequest, options?: CallOptions) => Promise<Empty>;
}

export interface Analytics {
  /** Count the verifications of an api by outcome: in total, or by minute, hour, day or month, key, identity, single `tag` or whole list of `tags`. */
  readonly getVerifications: (
    request: AnalyticsGetVerificationsRequest,
    options?: CallOptions,
  ) => Promise<readonly VerificationCounts[]>;
}

export interface Usage {
  /** Read what happened to credits, by day or by refill period: of one key or identity, of all on a plan, or of all. */
  readonly getStatement: (
    request?: UsageGetStatementRequest,
    options?: CallOptions,
  ) => Promise<UsageGetStatementAnswer>;
}

export interface Migrations {
  /** Import up to 100 keys that were created elsewhere: all of them, or none. */
  readonly createKeys: (request?: readonly KeyToImport[], options?: CallOptions) => Promise<MigrationsCreateKeysAnswer>;
  /** Import up to 100 keys in the background. */
  readonly enqueueKeys: (request: MigrationsEnqueueKeysRequest, options?: CallOptions) => Promise<Empty>;
  /** Read the progress of a migration: how many keys were `queued`, how many are `done` and how many have `failed`. */
  readonly getProgress: (
    request: MigrationsGetProgressRequest,
    options?: CallOptions,
  ) => Promise<MigrationsGetProgressAnswer>;
}

export interface RootKeys {
  /** Create a root key with the rights in `permissions`. */
  readonly create: (request: RootKeysCreateRootKeyRequest, options?: CallOptions) => Promise<NewRootSecret>;
  /** List the root keys, oldest first, including revoked and expired ones. */
  readonly list: (request?: RootKeysListRootKeysRequest, options?: CallOptions) => AsyncIterable<RootKey>;
  /** Revoke a root key permanently, with all its secrets. */
  readonly revoke: (request: RootKeysRevokeRootKeyRequest, options?: CallOptions) => Promise<Empty>;
  /** Give a root key a new secret. */
  readonly rotate: (request: RootKeysRotateRootKeyRequest, options?: CallOptions) => Promise<NewRootSecret>;
}

export interface Portal {
  /** Make a link to the customers' page for one customer. */
  readonly createSession: (
    request: PortalCreateSessionRequest,
    options?: CallOptions,
  ) => Promise<PortalCreateSessionAnswer>;
  /** End all links to the customers' page of one customer, and the pages that are open, at once. */
  readonly endSessions: (request?: PortalEndSessionsRequest, options?: CallOptions) => Promise<PortalEndSessionsAnswer>;
}

export interface Sessions {
  /** List the browsers that are signed in to the dashboard, the newest first. */
  readonly list: (request?: SessionsListSessionsRequest, options?: CallOptions) => AsyncIterable<Session>;
  /** End a session of the dashboard at once, on all nodes. */
  readonly end: (request: SessionsEndSessionRequest, options?: CallOptions) => Promise<Empty>;
}

export interface Audit {
  /** List the changes, newest first: who changed what, when, from where, and by which request. */
  readonly listEntries: (request?: AuditListEntriesRequest, options?: CallOptions) => AsyncIterable<AuditEntry>;
}

export interface Events {
  /** Read the events after a cursor, oldest first: the same that webhooks deliver. */
  readonly list: (request?: EventsListEventsRequest, options?: CallOptions) => AsyncIterable<Event>;
}

export interface Webhooks {
  /** Create a webhook: events are sent to a URL of yours from now on. */
  readonly create: (
    request: WebhooksCreateWebhookRequest,
    options?: CallOptions,
  ) => Promise<WebhooksCreateWebhookAnswer>;
  /** Read one webhook. */
  readonly get: (request: WebhooksGetWebhookRequest, options?: CallOptions) => Promise<WebhookDetails>;
  /** List the webhooks, at most 100. */
  readonly list: (request?: WebhooksListWebhooksRequest, options?: CallOptions) => AsyncIterable<Webhook>;
  /** Change a webhook, or enable one that is paused. */
  readonly update: (request: WebhooksUpdateWebhookRequest, options?: CallOptions) => Promise<Empty>;
  /** Delete a webhook, and its waiting deliveries and its log. */
  readonly delete: (request: WebhooksDeleteWebhookRequest, options?: CallOptions) => Promise<Empty>;
  /** Give a webhook another signing secret. */
  readonly rotateSecret: (
    request: WebhooksRotateSecretRequest,
    options?: CallOptions,
  ) => Promise<WebhooksRotateSecretAnswer>;
  /** List what was sent to a webhook and what waits, the newest event first. */
  readonly listDeliveries: (request: WebhooksListDeliveriesRequest, options?: CallOptions) => AsyncIterable<Delivery>;
  /** Send an event to a webhook again, or one that it did not get yet. */
  readonly redeliver: (request: WebhooksRedeliverRequest, options?: CallOptions) => Promise<Empty>;
  /** Send an event of the type `webhook.test` to a webhook. */
  readonly sendTest: (request: WebhooksSendTestRequest, options?: CallOptions) => Promise<WebhooksSendTestAnswer>;
}

export interface Service {
  /** Read how the service is doing: its nodes, how fast this one answers, what is wrong and what to do, its settings. */
  readonly getStatus: (request?: ServiceGetStatusRequest, options?: CallOptions) => Promise<ServiceGetStatusAnswer>;
}

export interface Groups {
  readonly keys: Keys;
  readonly apis: Apis;
  readonly identities: Identities;
  readonly plans: Plans;
  readonly credits: Credits;
  readonly reservations: Reservations;
  readonly permissions: Permissions;
  readonly ratelimits: Ratelimits;
  readonly analytics: Analytics;
  readonly usage: Usage;
  readonly migrations: Migrations;
  readonly rootKeys: RootKeys;
  readonly portal: Portal;
  readonly sessions: Sessions;
  readonly audit: Audit;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly service: Service;
}
