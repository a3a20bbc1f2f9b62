// Made by 'npm run docs' from the schemas of the service. Do not edit.
import type { CallOptions } from '../call.ts';

/** When an event warns that a key is about to expire or that credits run low. A field that is absent is taken from the customer or the plan. */
export type Alerts = {
  /** How long before a key expires the event `key.expiring` is sent, in milliseconds, from a minute to 366 days. It is sent once for each key and expiry. */
  readonly expiresWithinMs?: number | undefined;
  /** The event `credits.low` is sent when fewer credits than this are left. It is sent once, until the credits reach this number again. */
  readonly creditsBelow?: number | undefined;
};

/** When an event warns that a key is about to expire or that credits run low. A field that is absent stays as it is. */
export type AlertsInput = {
  /** How long before a key expires the event `key.expiring` is sent, in milliseconds, from a minute to 366 days. It is sent once for each key and expiry. null removes it. */
  readonly expiresWithinMs?: number | null | undefined;
  /** The event `credits.low` is sent when fewer credits than this are left. It is sent once, until the credits reach this number again. At least 1, and at most the credits that are left. Needs credits. null removes it. */
  readonly creditsBelow?: number | null | undefined;
};

/** The key must satisfy all parts. */
export type AllPermissions = {
  /** The parts of a query, all of which the key must satisfy. Each is a permission, `{"and": [...]}` or `{"or": [...]}`. null entries are skipped; a list with nothing left in it answers 400. */
  readonly and: readonly (string | AllPermissions | AnyPermission | null)[];
};

/** The fields of `analytics.getVerifications`. */
export type AnalyticsGetVerificationsRequest = {
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** Your own id of a customer, 1 to 256 characters: count only verifications of keys that belonged to it at that time. All customers when absent. */
  readonly externalId?: string | undefined;
  /** Count only verifications of these keys, by id: one, or up to 100. All keys of the api when absent. */
  readonly keyId?: string | readonly string[] | undefined;
  /** Count only verifications with any of these tags: one, or up to 100. All when absent. */
  readonly tag?: string | readonly string[] | undefined;
  /** Count only verifications with any of these tags: one, or up to 100. All when absent. The same as `tag`; the two lists are added together. */
  readonly tags?: string | readonly string[] | undefined;
  /** Count from this time on, in unix milliseconds, extended to whole hours, days or months. When absent (or null), the last 24 hours for `hour`, else the last 30 days. */
  readonly start?: number | null | undefined;
  /** Count up to this time, which is not included, in unix milliseconds, extended to whole hours, days or months. It must be after `start`. Now when absent (or null). */
  readonly end?: number | null | undefined;
  /** What each row stands for: one or several of these, but only one of `minute`, `hour`, `day` and `month`. When absent, one row counts everything. */
  readonly groupBy?: VerificationGroup | readonly VerificationGroup[] | undefined;
  /** The largest number of rows, from 1 to 10000. When absent, a result of more than 10000 rows answers 400. */
  readonly limit?: number | undefined;
  /** What the rows are sorted by. `time` needs a time in `groupBy`. When absent: `time` if the rows are grouped by time, else `total`. */
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
  /** The parts of a query, of which the key must satisfy at least one. Each is a permission, `{"and": [...]}` or `{"or": [...]}`. null entries are skipped; a list with nothing left in it answers 400. */
  readonly or: readonly (string | AllPermissions | AnyPermission | null)[];
};

/** An api: a group of keys that belong to one of your services. Fields that are not set are absent. */
export type Api = {
  /** The id of an api, as returned by `apis.createApi`. */
  readonly id: string;
  /** The id of this installation. It is the same in every answer. */
  readonly workspaceId: string;
  /** The name of the api, for people. */
  readonly name: string;
  /** The prefix of new keys that are created without one. Absent when none is set. */
  readonly defaultPrefix?: string | undefined;
  /** The number of random bytes in the secret of new keys, unless `keys.createKey` names another. Absent when none is set: 16. */
  readonly defaultByteLength?: number | undefined;
  /** The rate limit of new keys that are created without one. Absent when none is set. */
  readonly defaultRatelimit?: DefaultRatelimitState | undefined;
  /** true: `apis.deleteApi` is refused with DELETE_PROTECTED. */
  readonly deleteProtection: boolean;
};

/** The answer of `apis.createApi`. */
export type ApisCreateApiAnswer = {
  /** The id of an api, as returned by `apis.createApi`. */
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
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
};

/** The answer of `apis.deleteKeys`. */
export type ApisDeleteKeysAnswer = {
  /** How many keys were deleted. */
  readonly deletedKeys: number;
};

/** The fields of `apis.deleteKeys`. */
export type ApisDeleteKeysRequest = {
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** true: the records of the keys are removed too, and the keys cannot be restored. false when absent. */
  readonly permanent?: boolean | undefined;
};

/** The fields of `apis.getApi`. */
export type ApisGetApiRequest = {
  /** The id of an api, as returned by `apis.createApi`. */
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
  /** The exact number of records on all pages together, at the time of this call. Absent with `planId` or `state`, and when a word of `search` finds more than 20,000 keys. Then a page before the last can have fewer keys than `limit`, or none. */
  readonly total?: number | undefined;
  /** Send it as `cursor` with the next call to get the next page. Absent on the last page. */
  readonly cursor?: string | undefined;
};

/** The fields of `apis.listKeys`. */
export type ApisListKeysRequest = {
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** The largest number of records in the answer, from 1 to 100. 100 when absent. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
  /** List only the keys of this customer, by your own id of 1 to 256 characters. All customers when absent. */
  readonly externalId?: string | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** List only keys whose `start` begins with this text in its exact spelling, or whose name and metadata have words that begin with each of its words, in upper or lower case. 1 to 256 characters. */
  readonly search?: string | undefined;
  /** List only the keys on this plan, by themselves or through their customer. */
  readonly planId?: string | undefined;
  /** List only keys in this state: `active`, `disabled`, or `expired` and not disabled. Whether their customer is disabled does not count. */
  readonly state?: 'active' | 'disabled' | 'expired' | undefined;
  /** Secrets are not stored, so they cannot be decrypted: true is refused with 412. false is accepted and changes nothing. */
  readonly decrypt?: boolean | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly revalidateKeysCache?: boolean | undefined;
};

/** The fields of `apis.updateApi`. */
export type ApisUpdateApiRequest = {
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** The name of the api, for people: 3 to 256 characters, not blank. It need not be unique. */
  readonly name?: string | undefined;
  /** The prefix of new keys that are created without one: 1 to 16 of the characters A-Z a-z 0-9 _ . -, and not `root`, `session` or `portal`. null: no prefix. */
  readonly defaultPrefix?: string | null | undefined;
  /** The number of random bytes in the secret of new keys, from 16 to 255, unless `keys.createKey` names another. null: 16. */
  readonly defaultByteLength?: number | null | undefined;
  /** The rate limit of new keys that are created without one. null: no limit. Existing keys keep theirs. */
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
  /** Where the change was made. `portal`: by a customer in the portal, with a link that this root key made. Absent when the actor called the API itself, or used the command line. */
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

/** Fields of a record, under their names in the API. Each kind of record has its own. If the JSON of a value is longer than 1024 bytes, the log keeps `{"sha256": ..., "bytes": ...}`: the SHA-256 of that JSON in hexadecimal, and its length. */
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

/** How much a verification takes, of credits or of a limit. */
export type Cost = {
  /** How much the verification takes. 0 checks without taking anything. 1 when absent. */
  readonly cost?: number | undefined;
};

/** The answer of `credits.adjust`. */
export type CreditsAdjustAnswer = {
  /** The id of the adjustment. */
  readonly adjustmentId: string;
  /** The credits after the call, without those that reservations hold. */
  readonly remaining: number;
  /** true: the call was made before with the same idempotency key, and nothing changed now. Absent otherwise. */
  readonly replayed?: boolean | undefined;
};

/** The fields of `credits.adjust`. */
export type CreditsAdjustRequest = {
  /** The id of a key. Give one of `keyId`, `identityId` and `externalId`. */
  readonly keyId?: string | undefined;
  /** The id of a customer. Give one of `keyId`, `identityId` and `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of a customer, 1 to 256 characters. Give one of `keyId`, `identityId` and `externalId`. */
  readonly externalId?: string | undefined;
  /** How many credits to add. A negative number takes credits away. Not 0. */
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
  /** The credits after the call, without those that reservations hold. */
  readonly remaining: number;
  /** true: the call was made before with the same idempotency key, and nothing changed now. Absent otherwise. */
  readonly replayed?: boolean | undefined;
};

/** The fields of `credits.grant`. */
export type CreditsGrantRequest = {
  /** The id of a key. Give one of `keyId`, `identityId` and `externalId`. */
  readonly keyId?: string | undefined;
  /** The id of a customer. Give one of `keyId`, `identityId` and `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of a customer, 1 to 256 characters. Give one of `keyId`, `identityId` and `externalId`. */
  readonly externalId?: string | undefined;
  /** How many credits. */
  readonly amount: number;
  /** When the credits of this grant that are left expire, in unix milliseconds. They do not expire when absent. */
  readonly expiresAt?: number | undefined;
  /** Why, for the audit log, 1 to 256 characters. */
  readonly reason: string;
  /** Names the payment: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated call with the same key changes nothing. It is remembered as long as statements are kept. */
  readonly idempotencyKey: string;
};

/** The rate limit of new keys of the api that are created without one. */
export type DefaultRatelimit = {
  /** How many requests may pass in a window, each counted with its cost. At least 1. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. true when absent. */
  readonly async?: boolean | undefined;
};

/** The rate limit of new keys of the api that are created without one. */
export type DefaultRatelimitState = {
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
};

/** What became of an event for a webhook. */
export type Delivery = {
  /** The id of an event, as returned by `events.listEvents`. */
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

/** An empty object: the call was carried out. */
export type Empty = Readonly<Record<string, unknown>>;

/** What became of the credits that a reservation held. */
export type EndedReservation = {
  /** The credits that were charged. Fewer than `settledCost` when too few were left, or the key had no credits. */
  readonly charged: number;
  /** The credits that came back. Those from a grant that has expired in the meantime do not come back. */
  readonly returned: number;
  /** The credits that were left then: those of the key or of its customer, whichever are fewer. Absent when neither has credits. */
  readonly remaining?: number | undefined;
};

/** What kind of failure it is. `BAD_REQUEST` (400): The request is not valid: malformed JSON, a wrong type or number, an unknown field or limit name, or a permission query that names no permission. The message says what to correct. `UNAUTHORIZED` (401): The root key is missing, unknown, revoked or expired, or the session of the dashboard has ended; the message says which. An API key sent as a root key is unknown. For keys.forwardAuth: the client sent no key, or more than one. `INSUFFICIENT_PERMISSIONS` (403): The root key lacks a right that the call needs, the call would create a root key that is valid for longer than the calling one, or a session of the dashboard is used by another page. The message says which. `NOT_FOUND` (404): The record does not exist, or this root key may not see it; or the route does not exist. `METHOD_NOT_ALLOWED` (405): The route does not accept this HTTP method. The Allow header lists the methods that it accepts. `CONFLICT` (409): The record exists already, the secret belongs to another key, the idempotency key was used with a different request, or the reservation has already ended in another way. `PRECONDITION_FAILED` (412): The service cannot do this now: secrets are not stored, so a key cannot be recovered or decrypted; a role or permission named in an import does not exist; a reservation is to be settled with more than it holds; or a maximum or quota is reached. The message says which. `DELETE_PROTECTED` (412): The api is protected from deletion. Set deleteProtection to false with apis.updateApi first. `PAYLOAD_TOO_LARGE` (413): The body is larger than this route accepts. `UNSUPPORTED_MEDIA_TYPE` (415): The body is not declared as JSON; the message says which header to add. `RATE_LIMITED` (429): The key has too many live idempotency keys or reservations, or the root key or address has reached its quota of verifications or of management calls. Wait, then try again. `HEADERS_TOO_LARGE` (431): The request line and the headers are too large. `INTERNAL_SERVER_ERROR` (500): The service has a bug, or a stored record cannot be read; the message names the record. The log has the details. `NOT_IMPLEMENTED` (501): This node does not support the HTTP method. `UNAVAILABLE` (503): Nothing was done: the database cannot be reached, or the node has too much to do. It is safe to try again. `OUTCOME_UNKNOWN` (503): The database did not confirm whether the request was carried out. Try again with the same idempotency key. `HTTP_VERSION_NOT_SUPPORTED` (505): The request is neither HTTP/1.0 nor HTTP/1.1. */
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
  /** The place of the event in the order of all events. Later events have higher numbers; numbers can be skipped. */
  readonly sequence: number;
  readonly data: EventData;
};

/** The ids of the records, who made the change (`actor`, `requestId`), and the fields that differ in `before` and `after`, under their names in the API. With `truncated: true`, the fields were too long, and only the ids are kept. */
export type EventData = Readonly<Record<string, unknown>>;

/** What happened. `key.created`: A key was created or imported. `key.updated`: A field, the balance, a role or a permission of a key was changed by a call. `key.deleted`: A key was deleted, alone, with its customer, or with all keys of its api. `key.restored`: A deleted key was restored. `key.rotated`: A key got a new secret. `key.expiring`: A key is about to expire, as early as `alerts.expiresWithinMs` of the key, its customer or its plan says. `identity.created`: A customer was created, by itself or with its first key. `identity.updated`: A field of a customer was changed by a call. `identity.deleted`: A customer was deleted. `credits.low`: Fewer credits are left than `alerts.creditsBelow` of the key, customer or plan says. It comes once until the credits reach this number again. `credits.exhausted`: No credits are left, or too few for a verification that was refused. Each of the two comes once until there are more credits. `credits.refilled`: A refill has added credits. `limit.reached`: A rate limit with `notify` has refused a verification. It comes once in a window, for the key or customer that the limit belongs to. `reservation.expired`: A reservation was neither settled nor released in time. `onExpiry` says what became of its credits. `plan.changed`: A customer, or a key without a customer, was put on a plan, moved to another one, left it, or will move at its next refill. `plan.updated`: A plan was changed, for all customers and keys on it. `webhook.paused`: A webhook is paused, because its target failed for three days. `webhook.test`: `webhooks.sendTest` was called. Only the webhook that it names gets this event. */
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
  /** The limits and credits that it looked at. Absent when there are none. */
  readonly counters?: readonly ExplainedCounter[] | undefined;
};

/** A limit, or credits, that a check looked at. */
export type ExplainedCounter = {
  /** The name of a limit, or `credits`. */
  readonly name: string;
  /** `key`: it belongs to the key. `identity`: it belongs to the customer, and all keys of the customer share it. */
  readonly of: 'key' | 'identity';
  /** What this verification took of it. */
  readonly taken: number;
  /** What is left after this verification. Absent when credits are metered. */
  readonly remaining?: number | undefined;
  /** When the window of a limit ends, in unix milliseconds. Absent for credits. */
  readonly reset?: number | undefined;
};

/** Granted credits. Those that expire are spent before all other credits, soonest expiry first. Those that do not expire are spent last. Refills leave granted credits as they are. */
export type Grant = {
  /** The credits of the grant that are left. */
  readonly left: number;
  /** When they expire, in unix milliseconds. Absent when they do not expire; they are then spent after all other credits. */
  readonly expiresAt?: number | undefined;
};

/** The plan of one customer or key, with what it has used. What the customer or key sets itself takes precedence. */
export type HeldPlan = {
  /** The id of a plan, as returned by `plans.createPlan`. */
  readonly id: string;
  /** The name of the plan. */
  readonly name: string;
  /** The limits of the plan that apply to this customer or key, and what it has used of them. */
  readonly ratelimits: readonly UsedRatelimit[];
  /** The refill of the plan. Absent when there is none, or when the customer or key has its own. */
  readonly refill?: RefillState | undefined;
  /** How many keys the plan allows a customer. Absent when any number is allowed, and for a key. */
  readonly maxKeys?: number | undefined;
};

/** The answer of `identities.createIdentity`. */
export type IdentitiesCreateIdentityAnswer = {
  /** The id of a customer, as returned by `identities.createIdentity`. */
  readonly identityId: string;
};

/** The fields of `identities.createIdentity`. */
export type IdentitiesCreateIdentityRequest = {
  /** Your own id of the customer, 1 to 256 characters. It must be unique: an id that is taken answers 409. */
  readonly externalId: string;
  /** A name for people, 1 to 256 characters. */
  readonly name?: string | undefined;
  /** Metadata of the customer, which verdicts of its keys repeat. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** false: verifications of all keys of the customer answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** How many keys the customer may have. Any number when absent. */
  readonly maxKeys?: number | undefined;
  /** When an event warns that the credits of the customer run low, or that one of its keys is about to expire. What a key sets itself takes precedence. */
  readonly alerts?: AlertsInput | undefined;
  /** The rate limits that all keys of the customer share, at most 50. */
  readonly ratelimits?: readonly SharedRatelimit[] | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
  readonly metered?: boolean | undefined;
  /** The credits that all keys of the customer share. If the key has credits too, a verification takes its cost from both. Credits are not counted when absent. */
  readonly remaining?: number | undefined;
  readonly refill?: Refill | undefined;
};

/** The fields of `identities.deleteIdentity`. */
export type IdentitiesDeleteIdentityRequest = {
  /** The id of the customer. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the customer, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
  /** `disable`: the keys stay, without a customer, and answer DISABLED. `delete`: they are deleted, as with `keys.deleteKey`. `detach`: they stay valid, without the customer and its limits and credits. */
  readonly keys?: 'disable' | 'delete' | 'detach' | undefined;
};

/** The fields of `identities.getIdentity`. */
export type IdentitiesGetIdentityRequest = {
  /** The id of the customer. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the customer, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
};

/** The answer of `identities.listIdentities`. */
export type IdentitiesListIdentitiesAnswer = {
  /** The customers of this page. */
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
  /** Finds customers by `externalId`, name and metadata. 1 to 256 characters. */
  readonly search?: string | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly environment?: string | undefined;
};

/** The fields of `identities.updateIdentity`. */
export type IdentitiesUpdateIdentityRequest = {
  /** The id of the customer. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the customer, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
  /** Accepted for older programs. It has no effect. */
  readonly environment?: string | undefined;
  /** A name for people, 1 to 256 characters. null removes it. It stays when absent. */
  readonly name?: string | null | undefined;
  /** Metadata of the customer, which verdicts of its keys repeat. It replaces the old metadata as a whole. null removes it. It stays when absent. */
  readonly meta?: Meta | null | undefined;
  /** false: verifications of all keys of the customer answer DISABLED. It stays when absent. */
  readonly enabled?: boolean | undefined;
  /** How many keys the customer may have. Existing keys stay. null: any number. It stays when absent. */
  readonly maxKeys?: number | null | undefined;
  /** When an event warns that the credits of the customer run low, or that one of its keys is about to expire. null removes this; what its plan says then applies. It stays when absent. */
  readonly alerts?: AlertsInput | null | undefined;
  /** The new rate limits, at most 50, which replace all old ones. null or `[]` removes them. They stay when absent. */
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). An existing balance ends. false: they are no longer counted. It stays as it is when absent. */
  readonly metered?: boolean | undefined;
  /** The new number of credits. null: credits are no longer counted, and the refill is removed. They stay as they are when absent. */
  readonly remaining?: number | null | undefined;
  /** The new refill. It first happens at its next scheduled time. null removes it. It stays when absent. */
  readonly refill?: Refill | null | undefined;
};

/** A customer: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent. */
export type Identity = {
  /** The id of a customer, as returned by `identities.createIdentity`. */
  readonly id: string;
  /** Your own id of the customer. */
  readonly externalId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the customer, which verdicts of its keys repeat. `{}` when none is set. */
  readonly meta: Meta;
  /** false: verifications of all keys of the customer answer DISABLED. */
  readonly enabled: boolean;
  /** How many keys the customer may have. Absent when any number is allowed. */
  readonly maxKeys?: number | undefined;
  /** The plan of the customer, or of a key without a customer. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event warns that the credits of the customer run low, or that one of its keys is about to expire. Absent when none is set. */
  readonly alerts?: Alerts | undefined;
  /** The credits that are left for all keys of the customer. Absent when its credits are not counted. */
  readonly remaining?: number | undefined;
  /** The credits that reservations hold. They are not in `remaining`. Absent when nothing is held. */
  readonly held?: number | undefined;
  /** The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire are one entry. Absent when none were granted. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan. */
  readonly refill?: RefillState | undefined;
  /** The rate limits that all keys of the customer share. `[]` when there are none. */
  readonly ratelimits: readonly SharedRatelimitState[];
};

/** A customer: one of your users or organisations, with limits and credits that all its keys share. Fields that are not set are absent. */
export type IdentityDetails = {
  /** The id of a customer, as returned by `identities.createIdentity`. */
  readonly id: string;
  /** Your own id of the customer. */
  readonly externalId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the customer, which verdicts of its keys repeat. `{}` when none is set. */
  readonly meta: Meta;
  /** false: verifications of all keys of the customer answer DISABLED. */
  readonly enabled: boolean;
  /** How many keys the customer may have. Absent when any number is allowed. */
  readonly maxKeys?: number | undefined;
  /** The plan of the customer, or of a key without a customer. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event warns that the credits of the customer run low, or that one of its keys is about to expire. Absent when none is set. */
  readonly alerts?: Alerts | undefined;
  /** The credits that are left for all keys of the customer. Absent when its credits are not counted. */
  readonly remaining?: number | undefined;
  /** The credits that reservations hold. They are not in `remaining`. Absent when nothing is held. */
  readonly held?: number | undefined;
  /** The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire are one entry. Absent when none were granted. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan. */
  readonly refill?: RefillState | undefined;
  /** How many keys the customer has, in all apis. Deleted keys do not count. */
  readonly keys: number;
  /** The rate limits that all keys of the customer share. `[]` when there are none. */
  readonly ratelimits: readonly UsedRatelimit[];
  /** What the customer gets from its plan. Absent when it is on none. */
  readonly plan?: HeldPlan | undefined;
};

/** The customer that a key belongs to. */
export type IdentityReference = {
  /** The id of a customer, as returned by `identities.createIdentity`. */
  readonly id: string;
  /** Your own id of the customer. */
  readonly externalId: string;
  /** Metadata of the customer. `{}` when none is set. */
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
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly id: string;
  /** The beginning of the secret: the prefix and four characters. People recognise the key by it; nobody can use it as a key. */
  readonly start: string;
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** The id of this installation. It is the same in every answer. */
  readonly workspaceId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** A text that every verdict repeats, such as the environment that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. */
  readonly enabled: boolean;
  /** Your own id of the customer that the key belongs to: its `externalId`. Absent when the key has no customer. */
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
  /** The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire are one entry. Absent when none were granted. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan. */
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
  /** The plan of the customer, or of a key without a customer. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event warns that the key is about to expire, or that its credits run low. Absent when the key itself sets none. */
  readonly alerts?: Alerts | undefined;
  /** When the key was last verified, with any verdict, in unix milliseconds. Written some seconds later, at most once a minute. Absent when the key was never used or analytics are off. */
  readonly lastUsedAt?: number | undefined;
  /** The customer that the key belongs to. Absent when the key has no customer. */
  readonly identity?: IdentityReference | undefined;
};

/** Fields of keys.createKey for the keys that the customer creates in the portal. None when absent. */
export type KeyDefaults = {
  /** The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ . -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the api when absent. */
  readonly prefix?: string | undefined;
  /** The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16. */
  readonly byteLength?: number | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
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
  /** When an event warns that the key is about to expire, or that its credits run low. When absent, its customer, or the plan of its customer, decides when to warn of the expiry. */
  readonly alerts?: AlertsInput | undefined;
};

/** A key, without its secret. Fields that are not set are absent. */
export type KeyDetails = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly id: string;
  /** The beginning of the secret: the prefix and four characters. People recognise the key by it; nobody can use it as a key. */
  readonly start: string;
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** The id of this installation. It is the same in every answer. */
  readonly workspaceId: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** A text that every verdict repeats, such as the environment that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. */
  readonly enabled: boolean;
  /** Your own id of the customer that the key belongs to: its `externalId`. Absent when the key has no customer. */
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
  /** The part of `remaining` that was granted, in the order in which it is spent. All credits that do not expire are one entry. Absent when none were granted. */
  readonly grants?: readonly Grant[] | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. A refill that comes from a plan is shown with the plan. */
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
  /** The plan of the customer, or of a key without a customer. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** When an event warns that the key is about to expire, or that its credits run low. Absent when the key itself sets none. */
  readonly alerts?: Alerts | undefined;
  /** When the key was last verified, with any verdict, in unix milliseconds. Written some seconds later, at most once a minute. Absent when the key was never used or analytics are off. */
  readonly lastUsedAt?: number | undefined;
  /** The customer that the key belongs to. Absent when the key has no customer. */
  readonly identity?: IdentityReference | undefined;
  /** The slugs of the permissions that the key has itself, without those of its roles. `[]` when it has none. */
  readonly directPermissions: readonly string[];
  /** What the key gets from its plan. Absent when it is on none. A key of a customer uses the plan of its customer. */
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
  /** A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The customer that the key belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
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
  /** When an event warns that the key is about to expire, or that its credits run low. When absent, its customer, or the plan of its customer, decides when to warn of the expiry. */
  readonly alerts?: AlertsInput | undefined;
  /** Secrets are not stored, so a key cannot be recovered: true is refused with 412. false is accepted and changes nothing. */
  readonly recoverable?: boolean | undefined;
};

/** A key that was created elsewhere. */
export type KeyToImport = {
  /** The id of an api, as returned by `apis.createApi`. */
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
  /** A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The customer that the key belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
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
  /** When an event warns that the key is about to expire, or that its credits run low. When absent, its customer, or the plan of its customer, decides when to warn of the expiry. */
  readonly alerts?: AlertsInput | undefined;
};

/** How many verifications of a key had each verdict, and the credits that they took. */
export type KeyVerificationCounts = {
  /** When the day or hour (UTC) begins, in unix milliseconds. */
  readonly time: number;
  /** How many verifications were valid. */
  readonly success: number;
  /** How many verifications answered FORBIDDEN, because the key belongs to another api, or the address is not allowed. */
  readonly forbidden: number;
  /** How many verifications answered DISABLED, because the key or its customer is disabled. */
  readonly disabled: number;
  /** How many verifications answered EXPIRED, because the key has expired. */
  readonly expired: number;
  /** How many verifications answered INSUFFICIENT_PERMISSIONS, because the key lacks a permission that the request asks for. */
  readonly insufficientPermissions: number;
  /** How many verifications answered RATE_LIMITED, because a rate limit is used up. */
  readonly rateLimited: number;
  /** How many verifications answered USAGE_EXCEEDED, because not enough credits are left. */
  readonly usageExceeded: number;
  /** Credits that these verifications took. A verdict that is repeated for an idempotency key takes none. When the key and its customer both pay, the cost counts once. */
  readonly credits: number;
};

/** The fields of `keys.addPermissions`. */
export type KeysAddPermissionsRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The permissions to add, at most 1000. */
  readonly permissions: readonly PermissionToGive[];
};

/** The fields of `keys.addRoles`. */
export type KeysAddRolesRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The roles to add, at most 100. */
  readonly roles: readonly RoleToGive[];
};

/** The fields of `keys.createKey`. */
export type KeysCreateKeyRequest = {
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** The text that the secret begins with, so that people recognise it: 1 to 16 of the characters A-Z a-z 0-9 _ . -, without the underscore that follows it, and not `root`, `session` or `portal`. The `defaultPrefix` of the api when absent. */
  readonly prefix?: string | undefined;
  /** The number of random bytes in the secret, from 16 to 255. The `defaultByteLength` of the api when absent, or 16. */
  readonly byteLength?: number | undefined;
  /** A name for people, at most 256 characters. It need not be unique. An empty text counts as absent. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels. */
  readonly meta?: Meta | undefined;
  /** A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The customer that the key belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
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
  /** When an event warns that the key is about to expire, or that its credits run low. When absent, its customer, or the plan of its customer, decides when to warn of the expiry. */
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
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
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
  /** false: repeating the request does not help, even when the status is 429. true: it can pass later. Absent with the code VALID. */
  readonly retryable?: boolean | undefined;
};

/** The fields of `keys.getKey`. */
export type KeysGetKeyRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** Secrets are not stored, so they cannot be decrypted: true is refused with 412. false is accepted and changes nothing. */
  readonly decrypt?: boolean | undefined;
};

/** The answer of `keys.getVerifications`. */
export type KeysGetVerificationsAnswer = {
  /** One row for each day or hour (UTC) of the period, earliest first, even if nothing happened in it. */
  readonly verifications: readonly KeyVerificationCounts[];
};

/** The fields of `keys.getVerifications`. */
export type KeysGetVerificationsRequest = {
  /** The id of the key. Give either `keyId` or `ownerId`. */
  readonly keyId?: string | undefined;
  /** Your own id of a customer, 1 to 256 characters: count all its keys that the root key may read. Give either `keyId` or `ownerId`. */
  readonly ownerId?: string | undefined;
  /** Count from this time on, in unix milliseconds, extended to whole hours, days or months. When absent (or null), the last 24 hours for `hour`, else the last 30 days. */
  readonly start?: number | null | undefined;
  /** Count up to this time, which is not included, in unix milliseconds, extended to whole hours, days or months. It must be after `start`. Now when absent (or null). */
  readonly end?: number | null | undefined;
  /** What each row stands for. `day` when absent. */
  readonly granularity?: 'day' | 'hour' | undefined;
};

/** The fields of `keys.removePermissions`. */
export type KeysRemovePermissionsRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The permissions that the key loses, at most 1000. One that the key does not have is ignored. */
  readonly permissions: readonly PermissionToRemove[];
};

/** The fields of `keys.removeRoles`. */
export type KeysRemoveRolesRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The roles that the key loses, at most 100. One that the key does not have is ignored. */
  readonly roles: readonly RoleToRemove[];
};

/** The fields of `keys.restoreKey`. */
export type KeysRestoreKeyRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
};

/** The fields of `keys.rotateKey`. */
export type KeysRotateKeyRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** How long the old secret stays valid, in milliseconds: from 0 to 2592000000 (30 days). 0 ends every former secret at once. */
  readonly overlapMs: number;
};

/** The fields of `keys.setPermissions`. */
export type KeysSetPermissionsRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The permissions that the key has from now on, at most 1000. `[]` removes all. */
  readonly permissions: readonly PermissionToGive[];
};

/** The fields of `keys.setRoles`. */
export type KeysSetRolesRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The roles that the key has from now on, at most 100. `[]` removes all. */
  readonly roles: readonly RoleToGive[];
};

/** The fields of `keys.updateKey`. */
export type KeysUpdateKeyRequest = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** A name for people, at most 256 characters. It need not be unique. null or an empty text removes it. It stays when absent. */
  readonly name?: string | null | undefined;
  /** Metadata of the key, which every verdict repeats. It replaces the old metadata as a whole. null removes it. It stays when absent. */
  readonly meta?: Meta | null | undefined;
  /** A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. null or an empty text removes it. It stays when absent. */
  readonly environment?: string | null | undefined;
  /** false: verifications of the key answer DISABLED. It stays when absent. */
  readonly enabled?: boolean | undefined;
  /** The customer that the key now belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. null or an empty text: no customer. It stays when absent. */
  readonly externalId?: string | null | undefined;
  /** true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | null | undefined;
  /** The roles that the key has from now on, at most 100. null or `[]` removes all. They stay when absent. */
  readonly roles?: readonly RoleToGive[] | null | undefined;
  /** The permissions that the key has directly from now on, at most 1000. null or `[]` removes all. They stay when absent. */
  readonly permissions?: readonly PermissionToGive[] | null | undefined;
  /** When the key stops being valid, in unix milliseconds. A time in the past ends it at once. null: it does not expire. It stays when absent. */
  readonly expires?: number | null | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). An existing balance ends. false: they are no longer counted. It stays as it is when absent. */
  readonly metered?: boolean | undefined;
  /** The new number of credits. null makes the key unlimited and removes its refill. The credits stay as they are when absent. `keys.updateRemaining` adds or subtracts. */
  readonly remaining?: number | null | undefined;
  /** The new refill. It first happens at its next scheduled time, and needs credits. null removes it. It stays when absent. */
  readonly refill?: Refill | null | undefined;
  /** The new rate limit with the name `default`. Another `limit` keeps the running count; another `duration` or `async` begins a new one. null removes it. It stays when absent. */
  readonly ratelimit?: Ratelimit | null | undefined;
  /** The new further rate limits, at most 50, which replace all old ones. null or `[]` removes them. They stay when absent. */
  readonly ratelimits?: readonly NamedRatelimit[] | null | undefined;
  /** The addresses and CIDR blocks that the key may be used from, at most 100. null or `[]` allows every address. It stays when absent. */
  readonly ipAllowlist?: readonly string[] | null | undefined;
  /** When an event warns that the key is about to expire, or that its credits run low. null removes this; its customer, or the plan of its customer, then decides when to warn of the expiry. It stays when absent. */
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
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
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
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly id: string;
  /** A name for people. Absent when none is set. */
  readonly name?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** A text that every verdict repeats, such as the environment that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. */
  readonly enabled: boolean;
  /** The credits that the key has left. Refills that are due are included. Absent when the key is unlimited. */
  readonly remaining?: number | undefined;
  /** The customer that the key belongs to. Absent when the key has no customer. */
  readonly identity?: IdentityReference | undefined;
  /** When the key was created, in unix milliseconds. */
  readonly createdAt: number;
};

/** The fields of `keys.whoami`. */
export type KeysWhoamiRequest = {
  /** The secret of the key. A text that cannot be a secret answers 404. */
  readonly key: string;
};

/** A standalone limit to take: so much for one identifier in one namespace. */
export type LimitRequest = {
  /** The name of the namespace that the identifier belongs to, 1 to 128 characters. The first use creates it, if the root key may. `default` when absent. */
  readonly namespace?: string | undefined;
  /** What is limited, by your own id: a user, an address, an organisation. 1 to 256 characters. */
  readonly identifier: string;
  /** How many requests may pass in a window, each counted with its cost. At least 1. An override replaces it. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. From 1000 (a second) to 31622400000 (366 days). An override replaces it. */
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
  /** The id of an api, as returned by `apis.createApi`. */
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
  /** How many requests may pass in a window, each counted with its cost. At least 1. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. When absent, an existing limit keeps its mode, and a new one is local. */
  readonly async?: boolean | undefined;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. When absent, an existing limit stays as it is, and a new one has false. */
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
  /** true: all keys of the customer share this limit. Absent for a limit of the key itself. */
  readonly shared?: boolean | undefined;
};

/** A rate limit of a key or a customer, by its name. */
export type NamedRatelimitState = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
};

/** A root key with its new secret. */
export type NewRootSecret = {
  /** The id of a root key, as returned by `rootKeys.createRootKey`. It is not the secret. */
  readonly rootKeyId: string;
  /** The secret of the root key. It is shown only in this answer: store it now, or hand it to its user. */
  readonly key: string;
};

/** A key with its new secret. */
export type NewSecret = {
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The secret of the key. It is shown only in this answer: store it now, or hand it to its user. */
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
  /** true: this node gave the answer. */
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

/** Numbers that replace those in requests, for some identifiers of a namespace. */
export type Override = {
  /** The id of an override. */
  readonly id: string;
  /** The id of a namespace of standalone limits. `ratelimits.listOverrides` returns it for a name. */
  readonly namespaceId: string;
  /** The identifier or pattern that the override is for. */
  readonly identifier: string;
  /** How much may pass in a window. 0 blocks every call. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
};

/** A permission: something that a key may do in your service. */
export type Permission = {
  /** The id of a permission, as returned by `permissions.createPermission`. */
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
  /** The id of a permission, as returned by `permissions.createPermission`. */
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
  /** true: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is never created. false when absent: one that does not exist answers 404. */
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
  /** The id of a permission, as returned by `permissions.createPermission`. */
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
  /** The id of a role, as returned by `permissions.createRole`. */
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
  /** The id of a permission, as returned by `permissions.createPermission`. */
  readonly permissionId: string;
};

/** The fields of `permissions.deleteRole`. */
export type PermissionsDeleteRoleRequest = {
  /** The id of a role, as returned by `permissions.createRole`. */
  readonly roleId: string;
};

/** The fields of `permissions.getPermission`. */
export type PermissionsGetPermissionRequest = {
  /** The id of a permission, as returned by `permissions.createPermission`. */
  readonly permissionId: string;
};

/** The answer of `permissions.getRole`. */
export type PermissionsGetRoleAnswer = {
  /** The id of a role, as returned by `permissions.createRole`. */
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
  /** The id of a role, as returned by `permissions.createRole`. */
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
  /** The permissions that the role has from now on, at most 1000. `[]` removes all. */
  readonly permissions: readonly PermissionToGive[];
};

/** A plan: what a customer buys. A change of the plan applies to all customers and keys on it. */
export type Plan = {
  /** The id of a plan, as returned by `plans.createPlan`. */
  readonly id: string;
  /** The name of the plan. It is unique. */
  readonly name: string;
  /** Metadata of the plan, which is not part of verdicts. `{}` when none is set. */
  readonly meta: Meta;
  /** The credits that a customer or key starts with on this plan. Absent when the plan has no credits. */
  readonly remaining?: number | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Absent otherwise. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. Absent when there is none. */
  readonly refill?: RefillState | undefined;
  /** The limits of each customer or key on the plan. `[]` when there are none. */
  readonly ratelimits: readonly SharedRatelimitState[];
  /** The ids of the roles that the plan gives to keys. `[]` when it gives none. */
  readonly roles: readonly string[];
  /** The ids of the permissions that the plan gives to keys. `[]` when it gives none. */
  readonly permissions: readonly string[];
  /** How many keys a customer on the plan may have. Absent when any number is allowed. */
  readonly maxKeys?: number | undefined;
  /** When an event warns that credits run low or that a key is about to expire. Absent when none is set. */
  readonly alerts?: Alerts | undefined;
  /** How many customers, and keys without a customer, are on the plan or wait to move to it. */
  readonly holders: number;
};

/** A move to another plan that waits for the next refill. */
export type PlanMove = {
  /** The plan that the customer or key moves to. null: it leaves its plan. */
  readonly planId: string | null;
  /** When it moves, in unix milliseconds: at the next refill. */
  readonly at: number;
  /** What becomes of the credits, as the call of `plans.assign` said. */
  readonly balance: 'keep' | 'upgrade' | 'reset';
};

/** The answer of `plans.assign`. */
export type PlansAssignAnswer = {
  /** The customer. Absent when the call named a key. */
  readonly identityId?: string | undefined;
  /** The key. Absent when the call named a customer. */
  readonly keyId?: string | undefined;
  /** The plan of the customer, or of a key without a customer. Absent when there is none. */
  readonly planId?: string | undefined;
  /** A move to another plan that waits for the next refill. Absent when there is none. */
  readonly planMove?: PlanMove | undefined;
  /** true: the call was made before with the same idempotency key, and nothing changed now. Absent otherwise. */
  readonly replayed?: boolean | undefined;
};

/** The fields of `plans.assign`. */
export type PlansAssignRequest = {
  /** The id of a key. Give one of `keyId`, `identityId` and `externalId`. */
  readonly keyId?: string | undefined;
  /** The id of a customer. Give one of `keyId`, `identityId` and `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of a customer, 1 to 256 characters. Give one of `keyId`, `identityId` and `externalId`. */
  readonly externalId?: string | undefined;
  /** The plan. null: the customer or key leaves its plan. */
  readonly planId: string | null;
  /** `now`, or `nextRefill`: when the present plan would refill next. That refill is then one of the new plan. `now` when absent. */
  readonly when?: 'now' | 'nextRefill' | undefined;
  /** `keep`: the credits stay. `upgrade`: the credits that were not granted become the `remaining` of the new plan, and granted credits stay. `reset`: all credits become the `remaining` of the new plan, and granted credits are lost. `keep` when absent. */
  readonly balance?: 'keep' | 'upgrade' | 'reset' | undefined;
  /** true: assigns the present plan once more, so that `balance` applies again. Otherwise, assigning the present plan only cancels a move that waits. */
  readonly force?: boolean | undefined;
  /** Makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated call with the same key changes nothing, even if the plan has changed since. Use, for example, the id of the event of your payment provider. */
  readonly idempotencyKey?: string | undefined;
};

/** The answer of `plans.createPlan`. */
export type PlansCreatePlanAnswer = {
  /** The id of a plan, as returned by `plans.createPlan`. */
  readonly planId: string;
};

/** The fields of `plans.createPlan`. */
export type PlansCreatePlanRequest = {
  /** The name of the plan, 1 to 256 characters. It is unique. */
  readonly name: string;
  /** The credits that a customer or key starts with on this plan. Whether a plan has credits is decided when it is created, and cannot change. No credits when absent (or null). */
  readonly remaining?: number | null | undefined;
  /** true: the credits that each customer or key on the plan spends are counted exactly, without a balance. Not together with `remaining`. It is decided when the plan is created, and cannot change. false when absent. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. A new one first happens at its next scheduled time. Needs `remaining`. null: none. */
  readonly refill?: Refill | null | undefined;
  /** The rate limits of each customer or key on the plan, at most 50. A customer or key that has a limit of the same name uses its own. */
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
  /** The roles that the plan gives to keys in addition to their own, at most 100: to all keys of its customers, and to the keys on the plan itself. */
  readonly roles?: readonly RoleToGive[] | null | undefined;
  /** The permissions that the plan gives to keys in addition to their own, at most 1000: to all keys of its customers, and to the keys on the plan itself. */
  readonly permissions?: readonly PermissionToGive[] | null | undefined;
  /** How many keys a customer on the plan may have. Any number when absent (or null). */
  readonly maxKeys?: number | null | undefined;
  /** When an event warns that credits run low or that a key is about to expire. What a customer or key sets itself takes precedence. `creditsBelow` is at most `remaining` of the plan. null: none. */
  readonly alerts?: AlertsInput | null | undefined;
  /** Metadata of the plan, which is not part of verdicts. null: none. */
  readonly meta?: Meta | null | undefined;
};

/** The answer of `plans.deletePlan`. */
export type PlansDeletePlanAnswer = Readonly<Record<string, unknown>>;

/** The fields of `plans.deletePlan`. */
export type PlansDeletePlanRequest = {
  /** The id of a plan, as returned by `plans.createPlan`. */
  readonly planId: string;
};

/** The fields of `plans.getPlan`. */
export type PlansGetPlanRequest = {
  /** The id of a plan, as returned by `plans.createPlan`. */
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
  /** The id of a plan, as returned by `plans.createPlan`. */
  readonly planId: string;
  /** A new name, 1 to 256 characters. It stays when absent. */
  readonly name?: string | undefined;
  /** The credits that a customer or key starts with on this plan. Whether a plan has credits is decided when it is created, and cannot change. No credits when absent (or null). */
  readonly remaining?: number | null | undefined;
  /** true: the credits that each customer or key on the plan spends are counted exactly, without a balance. Not together with `remaining`. It is decided when the plan is created, and cannot change. false when absent. */
  readonly metered?: boolean | undefined;
  /** The refill of the credits. A new one first happens at its next scheduled time. Needs `remaining`. null: none. */
  readonly refill?: Refill | null | undefined;
  /** The rate limits of each customer or key on the plan, at most 50. A customer or key that has a limit of the same name uses its own. */
  readonly ratelimits?: readonly SharedRatelimit[] | null | undefined;
  /** The roles that the plan gives to keys in addition to their own, at most 100: to all keys of its customers, and to the keys on the plan itself. */
  readonly roles?: readonly RoleToGive[] | null | undefined;
  /** The permissions that the plan gives to keys in addition to their own, at most 1000: to all keys of its customers, and to the keys on the plan itself. */
  readonly permissions?: readonly PermissionToGive[] | null | undefined;
  /** How many keys a customer on the plan may have. Any number when absent (or null). */
  readonly maxKeys?: number | null | undefined;
  /** When an event warns that credits run low or that a key is about to expire. What a customer or key sets itself takes precedence. `creditsBelow` is at most `remaining` of the plan. null: none. */
  readonly alerts?: AlertsInput | null | undefined;
  /** Metadata of the plan, which is not part of verdicts. It replaces the old metadata as a whole. null removes it. It stays when absent. */
  readonly meta?: Meta | null | undefined;
};

/** The answer of `portal.createSession`. */
export type PortalCreateSessionAnswer = {
  /** The id of the session, as the audit log names it. */
  readonly sessionId: string;
  /** The link. Send it only to this customer: whoever opens it first gets in. */
  readonly url: string;
  /** Until when the link can be opened, in unix milliseconds. */
  readonly expiresAt: number;
};

/** The fields of `portal.createSession`. */
export type PortalCreateSessionRequest = {
  /** The id of the customer. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the customer, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** What the customer may do with its keys: `create` (the root key needs `api.<apiId>.create_key`, and the right to name this customer), `rotate` (`api.<apiId>.create_key` and `api.<apiId>.update_key`), `delete` (`api.<apiId>.delete_key`). Nothing when absent: the customer can only look. */
  readonly allow?: readonly ('create' | 'rotate' | 'delete')[] | undefined;
  readonly keyDefaults?: KeyDefaults | undefined;
  /** Where the link back from the portal leads, http or https. Its origin must be one that KEYSTILE_PORTAL_RETURN_ORIGINS names. The portal has no such link when absent. */
  readonly returnUrl?: string | undefined;
};

/** The answer of `portal.endSessions`. */
export type PortalEndSessionsAnswer = {
  /** How many links and pages were ended. */
  readonly ended: number;
};

/** The fields of `portal.endSessions`. */
export type PortalEndSessionsRequest = {
  /** The id of the customer. Give either `identityId` or `externalId`. */
  readonly identityId?: string | undefined;
  /** Your own id of the customer, 1 to 256 characters. Give either `identityId` or `externalId`. */
  readonly externalId?: string | undefined;
};

/** Something that is wrong with the service, and what to do. */
export type Problem = {
  /** The check that found it. */
  readonly name: string;
  /** `problem`: something fails or is about to. `advice`: something could be better. */
  readonly severity: 'problem' | 'advice';
  /** What is wrong. */
  readonly text: string;
  /** What to do. */
  readonly fix: string;
  /** A shell command that does it, or helps to do it. */
  readonly command: string;
};

/** A key that was created elsewhere. It gets the api of the call. */
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
  /** A text that every verdict repeats, such as the environment that the key is for, at most 256 characters. An empty text counts as absent. */
  readonly environment?: string | undefined;
  /** false: verifications of the key answer DISABLED. true when absent. */
  readonly enabled?: boolean | undefined;
  /** The customer that the key belongs to, by your own id of at most 256 characters. A customer with this id is created if there is none and `mustExist` is not true. An empty text counts as absent. */
  readonly externalId?: string | undefined;
  /** true: there must be a customer with this `externalId`. Otherwise the answer is 404, and nothing is created. A missing customer is created when false or absent, unless KEYSTILE_IDENTITIES_MUST_EXIST is on. */
  readonly mustExist?: boolean | undefined;
  /** Older name of `externalId`, which takes precedence. */
  readonly ownerId?: string | undefined;
  /** The names of the roles that the key gets, at most 100. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly roles?: readonly string[] | undefined;
  /** The names or slugs of the permissions that the key gets directly, at most 1000. `keys.createKey` creates those that do not exist, if the root key may; an import refuses them with 412. */
  readonly permissions?: readonly string[] | undefined;
  /** When the key stops being valid, in unix milliseconds. It must be in the future; only an import accepts a time in the past. The key does not expire when absent. */
  readonly expires?: number | undefined;
  /** true: spent credits are counted exactly, without a balance (pay as you go). Not together with `remaining`. false when absent. */
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
  /** When an event warns that the key is about to expire, or that its credits run low. When absent, its customer, or the plan of its customer, decides when to warn of the expiry. */
  readonly alerts?: AlertsInput | undefined;
};

/** The rate limit of a key, which has the name `default`. It applies to every verification. */
export type Ratelimit = {
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. When absent, an existing limit keeps its mode, and a new one is local. In an import, it is strict. */
  readonly async?: boolean | undefined;
  /** How many requests may pass in a window, each counted with its cost. At least 1. Required, unless `refillRate` is given. */
  readonly limit?: number | undefined;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. From 1000 (a second) to 31622400000 (366 days). Required, unless `refillInterval` is given. */
  readonly duration?: number | undefined;
  /** Older form of `async`: `fast` is `async: true`, `consistent` is `async: false`. `async` takes precedence. */
  readonly type?: 'fast' | 'consistent' | undefined;
  /** Older name of `limit`, which takes precedence. */
  readonly refillRate?: number | undefined;
  /** Older name of `duration`, which takes precedence. */
  readonly refillInterval?: number | undefined;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. When absent, an existing limit stays as it is, and a new one has false. */
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
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** The same number as `limit`, for older programs. */
  readonly refillRate: number;
  /** The same number as `duration`, for older programs. */
  readonly refillInterval: number;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. Absent otherwise. */
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
  /** The id of a namespace of standalone limits. `ratelimits.listOverrides` returns it for a name. */
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
  /** The id of a namespace of standalone limits. `ratelimits.listOverrides` returns it for a name. */
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
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. From 1000 (a second) to 31622400000 (366 days). */
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

/** When credits are refilled, and with how many. A refill needs credits, so `remaining` must be set. */
export type Refill = {
  /** `hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`. `monthly`: at midnight on the first day of the month, or on `refillDay`. All by the clock of `timezone`. */
  readonly interval: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /** How many credits. `restore` raises the credits to this number and never lowers them; `add` adds this number. At least 1. */
  readonly amount: number;
  /** The day of the month, from 1 to 31, only with the interval `monthly`. A shorter month uses its last day. The first day when absent (or null). */
  readonly refillDay?: number | null | undefined;
  /** The day of the week, from 1 (Monday) to 7 (Sunday), only with the interval `weekly`. Monday when absent (or null). */
  readonly refillWeekday?: number | null | undefined;
  /** The IANA time zone of the refill. The setting KEYSTILE_TIMEZONE (UTC) when absent. */
  readonly timezone?: string | undefined;
  /** `restore`: each refill raises the credits to `amount` and never lowers them. `add`: each refill adds `amount`, up to `max`. `restore` when absent. */
  readonly mode?: 'restore' | 'add' | undefined;
  /** The most credits that the mode `add` fills up to, at least 1. Allowed only with `add`. No maximum when absent. */
  readonly max?: number | undefined;
};

/** A refill of credits, with the times of the last and the next one. */
export type RefillState = {
  /** `hourly`: at each full hour. `daily`: at midnight. `weekly`: at midnight on Monday, or on `refillWeekday`. `monthly`: at midnight on the first day of the month, or on `refillDay`. All by the clock of `timezone`. */
  readonly interval: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /** How many credits. `restore` raises the credits to this number and never lowers them; `add` adds this number. */
  readonly amount: number;
  /** The day of the month, from 1 to 31. null: the first day, or no monthly refill. */
  readonly refillDay: number | null;
  /** The day of the week of a weekly refill, from 1 (Monday) to 7 (Sunday). */
  readonly refillWeekday?: number | undefined;
  /** The IANA time zone of the refill. */
  readonly timezone: string;
  /** `restore`: each refill raises the credits to `amount` and never lowers them. `add`: each refill adds `amount`, up to `max`. */
  readonly mode: 'restore' | 'add';
  /** The most credits that the mode `add` fills up to. Absent when there is no maximum. */
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

/** A rate limit that a verification names: to set its cost or numbers, or to add a limit for this verification. */
export type RequestedRatelimit = {
  /** The name of a limit of the key or its customer, or of a new one, 1 to 128 characters. */
  readonly name: string;
  /** How much the verification takes. 0 checks without taking anything. 1 when absent. */
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
  /** The id of a reservation, as returned by `reservations.create`. */
  readonly id: string;
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
  readonly keyId: string;
  /** The id of an api, as returned by `apis.createApi`. */
  readonly apiId: string;
  /** The customer whose credits are held too. Absent when none of a customer are held. */
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
  /** The credits that were charged. Fewer than `settledCost` when too few were left, or the key had no credits. */
  readonly charged?: number | undefined;
  /** The credits that came back. Those from a grant that has expired in the meantime do not come back. */
  readonly returned?: number | undefined;
};

/** `held`: it can be settled or released. `settled`: its real cost was charged. `released`: all credits came back. `expired`: it was neither settled nor released in time. */
export type ReservationState = 'held' | 'settled' | 'released' | 'expired';

/** The fields of `reservations.get`. */
export type ReservationsGetRequest = {
  /** The id of a reservation, as returned by `reservations.create`. */
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
  /** The id of a key, as returned by `keys.createKey`. It is not the secret: it can be logged and shown. */
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
  /** The id of a reservation, as returned by `reservations.create`. */
  readonly reservationId: string;
};

/** The fields of `reservations.settle`. */
export type ReservationsSettleRequest = {
  /** The id of a reservation, as returned by `reservations.create`. */
  readonly reservationId: string;
  /** What the call has cost. 0 charges nothing. */
  readonly cost: number;
  /** true: if the cost is above the reservation, the difference is taken from the credits that are left, as far as they suffice. Otherwise the answer is 412. false when absent. */
  readonly allowOverage?: boolean | undefined;
};

/** A reservation: a verification that holds credits. */
export type ReserveRequest = {
  /** The secret that your customer sent. A text that cannot be a key answers NOT_FOUND. */
  readonly key: string;
  /** The api that the key must belong to; any other key is FORBIDDEN. Any api when absent. */
  readonly apiId?: string | undefined;
  /** Tags that analytics count the verification by: at most 10, each of 1 to 128 characters. Use tags with few different values, such as a route or a region. */
  readonly tags?: readonly string[] | undefined;
  /** What the key must be allowed to do. Nothing is asked for when absent. */
  readonly authorization?: RequestedAuthorization | undefined;
  /** The credits to hold, from 1 on: the most that you expect the call to cost. */
  readonly cost: number;
  /** How long the credits are held, in milliseconds from 1000 to 86400000 (24 hours). 600000 (10 minutes) when absent. */
  readonly ttlMs?: number | undefined;
  /** What becomes of the credits when the reservation is neither settled nor released in time. `release` when absent. */
  readonly onExpiry?: OnExpiry | undefined;
  /** Limits with another cost or other numbers than configured, and limits with `autoApply: false` that should apply: at most 50. The other limits apply with a cost of 1. */
  readonly ratelimits?: readonly RequestedRatelimit[] | undefined;
  /** A text of your own that makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated verification gets the same verdict and is charged once. You can send it as the header Idempotency-Key instead; if you send both, they must be equal. */
  readonly idempotencyKey?: string | undefined;
  /** The address of your customer, which is checked against the key's `ipAllowlist`. The address of the caller when absent. */
  readonly clientIp?: string | undefined;
};

/** The verdict on a key, with the reservation. `remaining` does not include what is held. */
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
  /** Your own id of the customer that the key belongs to: its `externalId`. Absent when the key has no customer. */
  readonly ownerId?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** When the key stops being valid, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** false: the key is disabled. Absent with the code NOT_FOUND. */
  readonly enabled?: boolean | undefined;
  /** A text that every verdict repeats, such as the environment that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** The slugs of all permissions of the key, its own and those of its roles. Absent with the code NOT_FOUND. */
  readonly permissions?: readonly string[] | undefined;
  /** The names of the roles of the key. Absent with the code NOT_FOUND. */
  readonly roles?: readonly string[] | undefined;
  /** The customer that the key belongs to. Absent when the key has no customer. */
  readonly identity?: IdentityReference | undefined;
  /** The credits that are left after this verification: those of the key or of its customer, whichever are fewer. Absent when neither has credits. */
  readonly remaining?: number | undefined;
  /** When the credits that were too few are refilled next, in unix milliseconds. Only with the code USAGE_EXCEEDED, and absent when they have no refill. */
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
  /** The id of a role, as returned by `permissions.createRole`. */
  readonly id: string;
  /** The name of the role. */
  readonly name: string;
  /** A description for people. Absent when none is set. */
  readonly description?: string | undefined;
};

/** A role that a key has. */
export type RoleReference = {
  /** The id of a role, as returned by `permissions.createRole`. */
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
  /** true: create it under this name if it does not exist, which needs a right of its own. An unknown `id` is never created. false when absent: one that does not exist answers 404. */
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
  /** The id of a root key, as returned by `rootKeys.createRootKey`. It is not the secret. */
  readonly id: string;
  /** The beginning of the secret, by which a person recognises the root key. */
  readonly start: string;
  /** The name of the root key, for people. Absent when it has none. */
  readonly name?: string | undefined;
  /** The rights of the root key. `*` is every right. */
  readonly permissions: readonly string[];
  /** When the root key was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When the root key expires, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** When the root key was revoked, in unix milliseconds. Absent when it is not revoked. */
  readonly revokedAt?: number | undefined;
};

/** The fields of `rootKeys.createRootKey`. */
export type RootKeysCreateRootKeyRequest = {
  /** A name for people, 1 to 256 characters, such as the program that uses the root key. */
  readonly name: string;
  /** The rights of the root key, 1 to 1000, each as `resource.id.action`. The id may be `*`, and a single `*` is every right. The root key gets these rights and no others. */
  readonly permissions: readonly string[];
  /** When the root key expires, in unix milliseconds, in the future. It does not expire when absent. A calling root key that expires can create only root keys that expire no later. */
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
  /** The id of a root key, as returned by `rootKeys.createRootKey`. It is not the secret. */
  readonly rootKeyId: string;
};

/** The fields of `rootKeys.rotateRootKey`. */
export type RootKeysRotateRootKeyRequest = {
  /** The id of a root key, as returned by `rootKeys.createRootKey`. It is not the secret. */
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
  /** What the checks found, the most severe first. `[]` when all is well. */
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
  /** The id of a root key, as returned by `rootKeys.createRootKey`. It is not the secret. */
  readonly rootKeyId: string;
  /** When the browser signed in, in unix milliseconds. */
  readonly createdAt: number;
  /** When the session was last used, in unix milliseconds. The time can be up to ten minutes too early. */
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
  /** The id of a session, as returned by `sessions.listSessions`. */
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

/** A rate limit that all keys of a customer share. */
export type SharedRatelimit = {
  /** The name of the limit, 1 to 128 characters, once in the list. A verification names the limit by it. */
  readonly name: string;
  /** How many requests may pass in a window, each counted with its cost. At least 1. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. From 1000 (a second) to 31622400000 (366 days). */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. When absent, an existing limit keeps its mode, and a new one is local. */
  readonly async?: boolean | undefined;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. When absent, an existing limit stays as it is, and a new one has false. */
  readonly notify?: boolean | undefined;
  /** true: the limit applies to every verification of a key of the customer. false: only to verifications that name it. When absent, an existing limit stays as it is, and a new one has true. */
  readonly autoApply?: boolean | undefined;
};

/** A rate limit that all keys of a customer share. */
export type SharedRatelimitState = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** true: the limit applies to every verification of a key of the customer. false: only to verifications that name it. */
  readonly autoApply: boolean;
};

/** What happened to the credits of one key or customer, in one day or one refill period. */
export type StatementRow = {
  /** The key whose credits these are. Absent for a customer. */
  readonly keyId?: string | undefined;
  /** The customer whose credits these are. Absent for a key. */
  readonly identityId?: string | undefined;
  /** Your own id of this customer. Absent for a key, and when the customer was deleted. */
  readonly externalId?: string | undefined;
  /** When the day (UTC) or the refill period begins, in unix milliseconds. The first period begins when credits are first counted. */
  readonly start: number;
  /** When the day or period ends, in unix milliseconds. For the running period: the time of the next refill. Absent when there is none. */
  readonly end?: number | undefined;
  /** The credits at the beginning, including those that reservations hold. */
  readonly opening: number;
  /** Credits that were granted. */
  readonly granted: number;
  /** Credits that refills added. */
  readonly refilled: number;
  /** Credits that other calls added. Negative where they took credits away. */
  readonly adjusted: number;
  /** Credits that verifications and settled reservations took. */
  readonly spent: number;
  /** Granted credits that expired unused. */
  readonly expired: number;
  /** The credits at the end, including those that reservations hold: opening + granted + refilled + adjusted - spent - expired. */
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
  /** The statement of a customer, by your own id of it. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly externalId?: string | undefined;
  /** The statement of this customer, even after it was deleted. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly identityId?: string | undefined;
  /** The statements of all customers and keys that are on this plan now. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly planId?: string | undefined;
  /** true: the statements of all keys and customers, including deleted ones. Give exactly one of `keyId`, `externalId`, `identityId`, `planId` and `all`. */
  readonly all?: boolean | undefined;
  /** What a row stands for: `day`, one UTC day, or `period`, the time from one refill to the next. `day` when absent. */
  readonly per?: 'day' | 'period' | undefined;
  /** Only days or periods that end after this time, in unix milliseconds. They are whole, so the first may begin earlier. All that are kept when absent (or null). */
  readonly start?: number | null | undefined;
  /** Only days or periods that begin before this time, in unix milliseconds. It must be after `start`. Up to now when absent (or null). */
  readonly end?: number | null | undefined;
  /** `json`: one page. `csv` or `ndjson`: all rows, sent while they are read. When absent, the Accept header decides: `text/csv` or `application/x-ndjson`, else `json`. */
  readonly format?: 'json' | 'csv' | 'ndjson' | undefined;
  /** The largest number of rows in a page, from 1 to 1000. 1000 when absent. A page also ends after 100 keys and customers, so it can have fewer rows, or none. */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. The answer continues after that page. Without it, the answer is the first page. */
  readonly cursor?: string | undefined;
};

/** The rate limit of a key with the name `default`, and what was used of it. */
export type UsedDefaultRatelimit = {
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** The same number as `limit`, for older programs. */
  readonly refillRate: number;
  /** The same number as `duration`, for older programs. */
  readonly refillInterval: number;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** How much has passed in the running window. The count of a local limit is saved in the background and lags by some seconds. */
  readonly used: number;
  /** When the running window ends, in unix milliseconds. */
  readonly reset: number;
};

/** A rate limit of a key, by its name, and what was used of it. */
export type UsedNamedRatelimit = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** How much has passed in the running window. The count of a local limit is saved in the background and lags by some seconds. */
  readonly used: number;
  /** When the running window ends, in unix milliseconds. */
  readonly reset: number;
};

/** A rate limit that all keys of a customer share, and what was used of it. */
export type UsedRatelimit = {
  /** The name of the limit. */
  readonly name: string;
  /** How many requests may pass in a window, each counted with its cost. */
  readonly limit: number;
  /** The length of a window in milliseconds. Windows are fixed and aligned to UTC: with 60000 they begin at every full minute. */
  readonly duration: number;
  /** true: the limit is local, counted in the memory of each node, and never waits. false: the limit is strict, counted in the database, and never exceeded anywhere. */
  readonly async: boolean;
  /** true: the first refusal in each window sends the event `limit.reached`. The window must be at least 60000 long. Absent otherwise. */
  readonly notify?: boolean | undefined;
  /** true: the limit applies to every verification of a key of the customer. false: only to verifications that name it. */
  readonly autoApply: boolean;
  /** How much has passed in the running window. The count of a local limit is saved in the background and lags by some seconds. */
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
  /** Your own id of the customer that the key belongs to: its `externalId`. Absent when the key has no customer. */
  readonly ownerId?: string | undefined;
  /** Metadata of the key, which every verdict repeats. `{}` when none is set. */
  readonly meta: Meta;
  /** When the key stops being valid, in unix milliseconds. Absent when it does not expire. */
  readonly expires?: number | undefined;
  /** false: the key is disabled. Absent with the code NOT_FOUND. */
  readonly enabled?: boolean | undefined;
  /** A text that every verdict repeats, such as the environment that the key is for. Absent when none is set. */
  readonly environment?: string | undefined;
  /** The slugs of all permissions of the key, its own and those of its roles. Absent with the code NOT_FOUND. */
  readonly permissions?: readonly string[] | undefined;
  /** The names of the roles of the key. Absent with the code NOT_FOUND. */
  readonly roles?: readonly string[] | undefined;
  /** The customer that the key belongs to. Absent when the key has no customer. */
  readonly identity?: IdentityReference | undefined;
  /** The credits that are left after this verification: those of the key or of its customer, whichever are fewer. Absent when neither has credits. */
  readonly remaining?: number | undefined;
  /** When the credits that were too few are refilled next, in unix milliseconds. Only with the code USAGE_EXCEEDED, and absent when they have no refill. */
  readonly nextRefillAt?: number | undefined;
  /** The rate limit that refused, else the one with the name `default`. Absent when there is neither. */
  readonly ratelimit?: RatelimitResult | undefined;
  /** All rate limits that were checked. Absent when none was. */
  readonly ratelimits?: readonly NamedRatelimitResult[] | undefined;
  /** What each check found, in the order of the checks. Absent unless the request has `explain`. */
  readonly explanation?: readonly ExplainedCheck[] | undefined;
};

/** The outcome of a verification. `VALID`: the request may pass. `NOT_FOUND`: there is no such key. `FORBIDDEN`: the key belongs to another api, or the address is not allowed. `DISABLED`: the key or its customer is disabled. `EXPIRED`: the key has expired. `INSUFFICIENT_PERMISSIONS`: the key lacks a permission that the request asks for. `RATE_LIMITED`: a rate limit is used up. `USAGE_EXCEEDED`: not enough credits are left. Only `VALID` takes credits and counts against limits. */
export type VerdictCode =
  | 'VALID'
  | 'NOT_FOUND'
  | 'FORBIDDEN'
  | 'DISABLED'
  | 'EXPIRED'
  | 'INSUFFICIENT_PERMISSIONS'
  | 'RATE_LIMITED'
  | 'USAGE_EXCEEDED';

/** How many verifications had each verdict, and the credits that they took. */
export type VerificationCounts = {
  /** When the minute, hour, day or month (UTC) begins, in unix milliseconds. Absent when the rows are not grouped by time. */
  readonly time?: number | undefined;
  /** How many verifications were valid. */
  readonly valid: number;
  /** How many verifications answered NOT_FOUND, because there is no such key. */
  readonly notFound: number;
  /** How many verifications answered FORBIDDEN, because the key belongs to another api, or the address is not allowed. */
  readonly forbidden: number;
  /** How many verifications answered DISABLED, because the key or its customer is disabled. */
  readonly disabled: number;
  /** How many verifications answered EXPIRED, because the key has expired. */
  readonly expired: number;
  /** How many verifications answered INSUFFICIENT_PERMISSIONS, because the key lacks a permission that the request asks for. */
  readonly insufficientPermissions: number;
  /** How many verifications answered RATE_LIMITED, because a rate limit is used up. */
  readonly rateLimited: number;
  /** How many verifications answered USAGE_EXCEEDED, because not enough credits are left. */
  readonly usageExceeded: number;
  /** Always 0. Older programs read it. */
  readonly unauthorized: number;
  /** How many verifications there were, whatever their verdict. */
  readonly total: number;
  /** Credits that these verifications took. A verdict that is repeated for an idempotency key takes none. When the key and its customer both pay, the cost counts once. */
  readonly credits: number;
  /** The key of this row, when grouped by `key`. Absent in the row of unknown keys. */
  readonly keyId?: string | undefined;
  /** The customer of this row, when grouped by `identity`. Absent in the row of keys without a customer. */
  readonly identity?:
    | {
        /** The id of a customer, as returned by `identities.createIdentity`. */
        readonly id: string;
        /** Your own id of the customer. Empty when the customer was deleted. */
        readonly externalId: string;
      }
    | undefined;
  /** The tag of this row, when grouped by `tag`. Absent in the row of verifications without tags. */
  readonly tag?: string | undefined;
  /** The list of tags of this row, sorted, when grouped by `tags`. `[]` for verifications without tags. */
  readonly tags?: readonly string[] | undefined;
};

/** What a row of counts stands for. With `tag`, a verification counts under each of its tags; with `tags`, it counts once, under its whole list of tags. */
export type VerificationGroup = 'minute' | 'hour' | 'day' | 'month' | 'key' | 'identity' | 'tag' | 'tags';

/** A verification: the key, and what the request needs. */
export type VerifyRequest = {
  /** The secret that your customer sent. A text that cannot be a key answers NOT_FOUND. */
  readonly key: string;
  /** The api that the key must belong to; any other key is FORBIDDEN. Any api when absent. */
  readonly apiId?: string | undefined;
  /** Tags that analytics count the verification by: at most 10, each of 1 to 128 characters. Use tags with few different values, such as a route or a region. */
  readonly tags?: readonly string[] | undefined;
  /** What the key must be allowed to do. Nothing is asked for when absent. */
  readonly authorization?: RequestedAuthorization | undefined;
  /** How many credits the verification takes. */
  readonly remaining?: Cost | undefined;
  /** Older form of `ratelimits` for the limit with the name `default`. */
  readonly ratelimit?: Cost | undefined;
  /** Limits with another cost or other numbers than configured, and limits with `autoApply: false` that should apply: at most 50. The other limits apply with a cost of 1. */
  readonly ratelimits?: readonly RequestedRatelimit[] | undefined;
  /** A text of your own that makes a retry safe: 8 to 128 of the characters A-Z a-z 0-9 _ -. A repeated verification gets the same verdict and is charged once. You can send it as the header Idempotency-Key instead; if you send both, they must be equal. */
  readonly idempotencyKey?: string | undefined;
  /** The address of your customer, which is checked against the key's `ipAllowlist`. The address of the caller when absent. */
  readonly clientIp?: string | undefined;
  /** true: the verdict says what each check found, and what was taken of credits and limits (`explanation`). It needs a root key with the right `api.<apiId>.read_key`. With `remaining.cost` 0, limits that are not named cost 0 too, so that nothing is spent; analytics do not count such a verification. false when absent. */
  readonly explain?: boolean | undefined;
};

/** A target that events are sent to, without its secret. */
export type Webhook = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly id: string;
  /** Where events are sent. */
  readonly url: string;
  /** The types of events that are sent. Absent when all are. */
  readonly events?: readonly string[] | undefined;
  /** The apis whose events are sent. Absent when events of everything are. */
  readonly apis?: readonly string[] | undefined;
  /** false: nothing is sent. Events are kept, and sent when it is enabled again. */
  readonly enabled: boolean;
  /** When the service paused the webhook, because its target failed for three days, in unix milliseconds. Absent when it is not paused. */
  readonly pausedAt?: number | undefined;
  /** How the last delivery failed before the pause. */
  readonly pausedBecause?: string | undefined;
  /** Until when the secret before the last rotation still signs too, in unix milliseconds. Absent when there is no such secret. */
  readonly formerSecretUntil?: number | undefined;
  /** When the webhook was created, in unix milliseconds. */
  readonly createdAt: number;
  /** When it was last changed. Absent when it was never changed. */
  readonly updatedAt?: number | undefined;
};

/** A webhook, with what waits for it. */
export type WebhookDetails = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly id: string;
  /** Where events are sent. */
  readonly url: string;
  /** The types of events that are sent. Absent when all are. */
  readonly events?: readonly string[] | undefined;
  /** The apis whose events are sent. Absent when events of everything are. */
  readonly apis?: readonly string[] | undefined;
  /** false: nothing is sent. Events are kept, and sent when it is enabled again. */
  readonly enabled: boolean;
  /** When the service paused the webhook, because its target failed for three days, in unix milliseconds. Absent when it is not paused. */
  readonly pausedAt?: number | undefined;
  /** How the last delivery failed before the pause. */
  readonly pausedBecause?: string | undefined;
  /** Until when the secret before the last rotation still signs too, in unix milliseconds. Absent when there is no such secret. */
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
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly webhookId: string;
  /** The secret that signs what is sent. Keep it where the target can read it: it is shown only in this answer. */
  readonly secret: string;
};

/** The fields of `webhooks.createWebhook`. */
export type WebhooksCreateWebhookRequest = {
  /** Where events are sent, with POST. It must begin with https and lead to a public address, unless KEYSTILE_WEBHOOK_ALLOW_PRIVATE is on. */
  readonly url: string;
  /** The types of events that are sent. When absent (or null), all of them, including those of later versions. */
  readonly events?: readonly EventType[] | null | undefined;
  /** The apis whose events are sent, by their ids. Events that belong to no api, such as those of customers and plans, are then not sent. When absent (or null), all events are sent. */
  readonly apis?: readonly string[] | null | undefined;
};

/** The fields of `webhooks.deleteWebhook`. */
export type WebhooksDeleteWebhookRequest = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly webhookId: string;
};

/** The fields of `webhooks.getWebhook`. */
export type WebhooksGetWebhookRequest = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
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
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
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
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly webhookId: string;
  /** The id of an event, as returned by `events.listEvents`. */
  readonly eventId: string;
};

/** The answer of `webhooks.rotateSecret`. */
export type WebhooksRotateSecretAnswer = {
  /** The secret that signs what is sent. Keep it where the target can read it: it is shown only in this answer. */
  readonly secret: string;
};

/** The fields of `webhooks.rotateSecret`. */
export type WebhooksRotateSecretRequest = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly webhookId: string;
  /** How long the old secret still signs too, in milliseconds, from 0 to 30 days. 24 hours when absent. */
  readonly overlapMs?: number | undefined;
};

/** The answer of `webhooks.sendTest`. */
export type WebhooksSendTestAnswer = {
  /** The id of an event, as returned by `events.listEvents`. */
  readonly eventId: string;
};

/** The fields of `webhooks.sendTest`. */
export type WebhooksSendTestRequest = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly webhookId: string;
};

/** The fields of `webhooks.updateWebhook`. */
export type WebhooksUpdateWebhookRequest = {
  /** The id of a webhook, as returned by `webhooks.createWebhook`. */
  readonly webhookId: string;
  /** Where events are sent, with POST. It must begin with https and lead to a public address, unless KEYSTILE_WEBHOOK_ALLOW_PRIVATE is on. */
  readonly url?: string | undefined;
  /** The types of events that are sent. When absent (or null), all of them, including those of later versions. */
  readonly events?: readonly EventType[] | null | undefined;
  /** The apis whose events are sent, by their ids. Events that belong to no api, such as those of customers and plans, are then not sent. When absent (or null), all events are sent. */
  readonly apis?: readonly string[] | null | undefined;
  /** false: nothing is sent, and events are kept. true: the kept events are sent, and a pause ends. */
  readonly enabled?: boolean | undefined;
};

/** What the answering node did lately. */
export type Work = {
  /** When counting began, in unix milliseconds: at the start of the node, or about a minute ago for a caller that asks again. */
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
        /** Ninety-nine in a hundred verifications took at most this many milliseconds. */
        readonly p99: number;
      }
    | undefined;
  /** How many spends and changes were committed. */
  readonly spends: number;
  /** In how many commits they were written. */
  readonly batches: number;
};

export interface Keys {
  /** Verify a key: may this request pass? */
  readonly verify: (request: VerifyRequest, options?: CallOptions) => Promise<Verdict>;
  /** Verify up to 100 keys in one call, in order, each as keys.verifyKey does. */
  readonly verifyKeys: (request: KeysVerifyKeysRequest, options?: CallOptions) => Promise<KeysVerifyKeysAnswer>;
  /** Create a key. */
  readonly create: (request: KeysCreateKeyRequest, options?: CallOptions) => Promise<NewSecret>;
  /** Create up to 1000 keys: all of them, or none. */
  readonly createKeys: (request: KeysCreateKeysRequest, options?: CallOptions) => Promise<KeysCreateKeysAnswer>;
  /** Read one key. */
  readonly get: (request: KeysGetKeyRequest, options?: CallOptions) => Promise<KeyDetails>;
  /** Change a key. */
  readonly update: (request: KeysUpdateKeyRequest, options?: CallOptions) => Promise<Empty>;
  /** Set, increase or decrease the credits of a key, exactly, even while the key is in use. */
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
  /** Count the verifications of a key, or of all keys of a customer, by outcome and by day or hour. */
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
  /** Create a customer: one of your users or organisations, with limits and credits that all its keys share. */
  readonly create: (
    request: IdentitiesCreateIdentityRequest,
    options?: CallOptions,
  ) => Promise<IdentitiesCreateIdentityAnswer>;
  /** Delete a customer with its limits and credits. */
  readonly delete: (request?: IdentitiesDeleteIdentityRequest, options?: CallOptions) => Promise<Empty>;
  /** Read one customer: its credits, what was used of its limits, and how many keys it has. */
  readonly get: (request?: IdentitiesGetIdentityRequest, options?: CallOptions) => Promise<IdentityDetails>;
  /** List or search customers, oldest first. */
  readonly list: (request?: IdentitiesListIdentitiesRequest, options?: CallOptions) => AsyncIterable<Identity>;
  /** Change a customer. */
  readonly update: (request?: IdentitiesUpdateIdentityRequest, options?: CallOptions) => Promise<Identity>;
}

export interface Plans {
  /** Create a plan: the credits, limits and permissions that a customer buys. */
  readonly create: (request: PlansCreatePlanRequest, options?: CallOptions) => Promise<PlansCreatePlanAnswer>;
  /** Read one plan, and how many customers and keys are on it. */
  readonly get: (request: PlansGetPlanRequest, options?: CallOptions) => Promise<Plan>;
  /** List plans, oldest first. */
  readonly list: (request?: PlansListPlansRequest, options?: CallOptions) => AsyncIterable<Plan>;
  /** Change a plan for all customers and keys on it at once. */
  readonly update: (request: PlansUpdatePlanRequest, options?: CallOptions) => Promise<Plan>;
  /** Delete a plan that nobody is on. */
  readonly delete: (request: PlansDeletePlanRequest, options?: CallOptions) => Promise<PlansDeletePlanAnswer>;
  /** Put a customer, or a key without a customer, on a plan, or move it to another plan. */
  readonly assign: (request: PlansAssignRequest, options?: CallOptions) => Promise<PlansAssignAnswer>;
}

export interface Credits {
  /** Grant credits to a key or a customer, once. */
  readonly grant: (request: CreditsGrantRequest, options?: CallOptions) => Promise<CreditsGrantAnswer>;
  /** Correct the credits of a key or a customer: add some, or take some away. */
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
  /** Override the limit of an identifier, or of all identifiers that match a pattern with `*`: its numbers replace those in the request. */
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
  /** Count the verifications of an api by outcome: in total, or by minute, hour, day or month, key, customer, single `tag` or whole list of `tags`. */
  readonly getVerifications: (
    request: AnalyticsGetVerificationsRequest,
    options?: CallOptions,
  ) => Promise<readonly VerificationCounts[]>;
}

export interface Usage {
  /** Read what happened to credits, by day or by refill period: of one key or customer, of all on a plan, or of all. */
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
  /** Make a link to the portal for one customer. */
  readonly createSession: (
    request: PortalCreateSessionRequest,
    options?: CallOptions,
  ) => Promise<PortalCreateSessionAnswer>;
  /** End all portal links of one customer, and the portal pages that are open, at once. */
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
  /** Read the events after a cursor, oldest first: the same events that webhooks deliver. */
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
  /** Delete a webhook with its waiting deliveries and its log. */
  readonly delete: (request: WebhooksDeleteWebhookRequest, options?: CallOptions) => Promise<Empty>;
  /** Give a webhook a new signing secret. */
  readonly rotateSecret: (
    request: WebhooksRotateSecretRequest,
    options?: CallOptions,
  ) => Promise<WebhooksRotateSecretAnswer>;
  /** List what was sent to a webhook and what waits, the newest event first. */
  readonly listDeliveries: (request: WebhooksListDeliveriesRequest, options?: CallOptions) => AsyncIterable<Delivery>;
  /** Send an event to a webhook again, or for the first time if it never got it. */
  readonly redeliver: (request: WebhooksRedeliverRequest, options?: CallOptions) => Promise<Empty>;
  /** Send an event of the type `webhook.test` to a webhook. */
  readonly sendTest: (request: WebhooksSendTestRequest, options?: CallOptions) => Promise<WebhooksSendTestAnswer>;
}

export interface Service {
  /** Read how the service is doing: its nodes, how fast this one answers, what is wrong and what to do, and its settings. */
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
