/** Every bound on what a caller may send or store. The wire schemas, the documentation and the tests read them here. */

export const MAX_COUNT = Number.MAX_SAFE_INTEGER;

export const MAX_NAME_LENGTH = 256;
export const MIN_API_NAME_LENGTH = 3;
export const MAX_EXTERNAL_ID_LENGTH = 256;
export const MAX_ENVIRONMENT_LENGTH = 256;
export const MAX_ID_LENGTH = 128;

export const MAX_META_BYTES = 16 * 1024;
/** Problems in one answer: a small request must not cause a large answer. */
export const MAX_ISSUES = 10;
/** The longest JSON of metadata that the audit log keeps. Of a longer one it keeps a digest and the length. */
export const MAX_AUDITED_BYTES = 1024;
/** The same for a list. Only a management request for many keys can be longer. */
export const MAX_AUDITED_LIST_BYTES = 64 * 1024;
export const MAX_META_MEMBERS = 256;
export const MAX_JSON_DEPTH = 32;
/** Values in one body, at all depths together. No request needs this many. */
export const MAX_JSON_VALUES = 200_000;
/** Distinct member names in one body. */
export const MAX_JSON_NAMES = 700;

export const MIN_KEY_BYTES = 16;
export const MAX_KEY_BYTES = 255;

export const MIN_WINDOW_MS = 1000;
export const MAX_WINDOW_MS = 366 * 24 * 60 * 60 * 1000;
export const MAX_LIMITS_PER_KEY = 50;
export const MAX_LIMIT_NAME_LENGTH = 128;
export const MAX_ADHOC_LIMITS_PER_OWNER = 100;
/** Limits that the header RateLimit-Policy of one answer names. Gateways have 4 to 8 KiB for all headers. */
export const MAX_SHOWN_POLICIES = 8;

export const MAX_ALLOWLIST_ENTRIES = 100;

export const MIN_ROOT_KEY_LENGTH = 24;
export const MAX_SECRET_LENGTH = 512;
/** A shorter imported secret could be guessed. */
export const MIN_IMPORTED_SECRET_LENGTH = 16;

export const MAX_BODY_BYTES = 64 * 1024;
export const MAX_VERIFY_BODY_BYTES = 8 * 1024;
/** A request with a longer body waits for its turn before the body is read. */
export const MAX_SMALL_BODY_BYTES = 8 * 1024;
/** A verification whose body is at most this long is answered at once, whatever else waits. Reading the worst one takes 0.1 ms. */
export const MAX_TINY_BODY_BYTES = 512;

export const MAX_PAGE_SIZE = 100;
export const MAX_STATEMENT_ROWS = 1_000;

export const MIN_IDEMPOTENCY_KEY_LENGTH = 8;
export const MAX_IDEMPOTENCY_KEY_LENGTH = 128;
export const MAX_LIVE_IDEMPOTENCY_KEYS = 10_000;

/** Reservations of one key that are held. */
export const MAX_LIVE_RESERVATIONS = 10_000;
export const DEFAULT_RESERVATION_MS = 10 * 60 * 1000;
export const MIN_RESERVATION_MS = 1_000;
export const MAX_RESERVATION_MS = 24 * 60 * 60 * 1000;
/** The cost of one metered verification. Without a bound, a single request could exhaust the range of the counter. */
export const MAX_METERED_COST = 1_000_000_000;
/** Grants of one holder that have not expired yet. */
export const MAX_LIVE_GRANTS = 100;
export const MAX_REASON_LENGTH = 256;

export const MAX_IMPORT_BODY_BYTES = 4 * 1024 * 1024;
export const MAX_BATCH_ITEMS = 100;
/** 2.6 KiB for each verification. Verifying needs no root key, so anyone can send this much. */
export const MAX_VERIFY_BATCH_BODY_BYTES = 256 * 1024;

/** Keys that one `keys.createKeys` creates. */
export const MAX_KEYS_PER_CALL = 1_000;
export const MAX_KEYS_BODY_BYTES = 1024 * 1024;
/** Roles, permissions, rate limits and addresses of all keys of one `keys.createKeys` together. Each of them is looked up or checked. */
export const MAX_LISTED_PER_CALL = 10_000;

export const MAX_IDENTIFIER_LENGTH = 256;
export const MAX_NAMESPACE_LENGTH = 128;
export const MAX_NAMESPACES = 10_000;
export const MAX_OVERRIDES_PER_NAMESPACE = 10_000;
/** Overrides with `*`. Each of them is compared with an identifier, so their bound is lower. */
export const MAX_PATTERNS_PER_NAMESPACE = 1_000;
export const MAX_STARS_PER_PATTERN = 10;
export const MAX_RESOURCES = 10;

export const MAX_PERMISSION_LENGTH = 512;
export const MAX_DESCRIPTION_LENGTH = 512;
export const MAX_PERMISSIONS_PER_KEY = 1_000;
export const MAX_ROLES_PER_KEY = 100;
/** Permissions, `and`, `or` and null in one permission query, at all depths together. */
export const MAX_QUERY_PARTS = 100;
/** Distinct permissions of a key, its own and those of its roles. Checked when the key gets permissions or roles. */
export const MAX_EFFECTIVE_PERMISSIONS = 2_000;
export const MAX_PERMISSIONS = 10_000;
export const MAX_ROLES = 1_000;
export const MAX_PLANS = 1_000;
/** Refill rules that a plan remembers. Older ones are forgotten: the sweep has applied them long before. */
export const MAX_PLAN_VERSIONS = 200;

export const MAX_TAGS = 10;
export const MAX_TAG_LENGTH = 128;
/** Bytes of a verification's tags as JSON. A longer list is counted under `other`: a PostgreSQL index entry holds 2,704 bytes. */
export const MAX_TAG_LIST_BYTES = 2_048;

export const MAX_OVERLAP_MS = 30 * 24 * 60 * 60 * 1000;
/** Former secrets of one key that are valid at the same time. */
export const MAX_LIVE_SECRETS = 10;

export const MIN_ALERT_MS = 60_000;
export const MAX_ALERT_MS = 366 * 24 * 60 * 60 * 1000;

/** Shorter windows end before anyone could act on `limit.reached`. */
export const MIN_NOTIFIED_WINDOW_MS = 60_000;
/** Balances and limits for which one node remembers that an event may be due. */
export const MAX_NOTICES = 10_000;

export const MAX_WEBHOOKS = 100;
/** Apis that one webhook can be bound to. */
export const MAX_APIS_PER_WEBHOOK = 100;
export const MAX_WEBHOOK_URL_LENGTH = 2_048;
/** Deliveries of one webhook that wait. Further events stay in the outbox until there is room. */
export const MAX_PENDING_DELIVERIES = 1_000;
/** Finished deliveries of one webhook that the log keeps. */
export const MAX_DELIVERY_LOG = 1_000;
/** Requests to one target at the same time, of one node. */
export const MAX_CONCURRENT_DELIVERIES = 4;
/** Bytes that are read of a target's answer. Its body is ignored. */
export const MAX_TARGET_ANSWER_BYTES = 16 * 1024;

/** Bytes of an event as JSON. Of a longer one only the ids are kept. */
export const MAX_EVENT_BYTES = 32 * 1024;

export const MAX_RIGHTS = 1_000;
export const MAX_SEARCH_LENGTH = 256;
