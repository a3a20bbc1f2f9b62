/** Every bound on what a caller may send or store. The wire schemas, the documentation and the tests read them here. */
export declare const MAX_COUNT: number;
export declare const MAX_NAME_LENGTH = 256;
export declare const MIN_API_NAME_LENGTH = 3;
export declare const MAX_EXTERNAL_ID_LENGTH = 256;
export declare const MAX_ENVIRONMENT_LENGTH = 256;
export declare const MAX_ID_LENGTH = 128;
export declare const MAX_META_BYTES: number;
export declare const MAX_META_MEMBERS = 256;
export declare const MAX_JSON_DEPTH = 32;
/** Values in one body, at all depths together. No request needs as many. */
export declare const MAX_JSON_VALUES = 200000;
/** Distinct member names in one body. */
export declare const MAX_JSON_NAMES = 700;
export declare const MIN_KEY_BYTES = 16;
export declare const MAX_KEY_BYTES = 255;
export declare const MIN_WINDOW_MS = 1000;
export declare const MAX_WINDOW_MS: number;
export declare const MAX_LIMITS_PER_KEY = 50;
export declare const MAX_LIMIT_NAME_LENGTH = 128;
export declare const MAX_ADHOC_LIMITS_PER_OWNER = 100;
export declare const MAX_ALLOWLIST_ENTRIES = 100;
export declare const MIN_ROOT_KEY_LENGTH = 24;
export declare const MAX_SECRET_LENGTH = 512;
/** A shorter imported secret could be guessed. */
export declare const MIN_IMPORTED_SECRET_LENGTH = 16;
export declare const MAX_BODY_BYTES: number;
export declare const MAX_VERIFY_BODY_BYTES: number;
export declare const MAX_PAGE_SIZE = 100;
export declare const MAX_STATEMENT_ROWS = 1000;
export declare const MIN_IDEMPOTENCY_KEY_LENGTH = 8;
export declare const MAX_IDEMPOTENCY_KEY_LENGTH = 128;
export declare const MAX_LIVE_IDEMPOTENCY_KEYS = 10000;
/** Reservations of one key that are held. */
export declare const MAX_LIVE_RESERVATIONS = 10000;
export declare const DEFAULT_RESERVATION_MS: number;
export declare const MIN_RESERVATION_MS = 1000;
export declare const MAX_RESERVATION_MS: number;
/** The cost of one metered verification. Without a bound, a single request could use up the counter. */
export declare const MAX_METERED_COST = 1000000000;
/** Grants of one holder that have not expired yet. */
export declare const MAX_LIVE_GRANTS = 100;
export declare const MAX_REASON_LENGTH = 256;
export declare const MAX_IMPORT_BODY_BYTES: number;
export declare const MAX_BATCH_ITEMS = 100;
/** As much as the same number of single verifications may send. Verifying needs no root key, so the bound is no higher. */
export declare const MAX_VERIFY_BATCH_BODY_BYTES: number;
/** Keys that one `keys.createKeys` creates. */
export declare const MAX_KEYS_PER_CALL = 1000;
export declare const MAX_KEYS_BODY_BYTES: number;
/** Roles, permissions, rate limits and addresses of all keys of one `keys.createKeys` together. Each of them is looked up or checked. */
export declare const MAX_LISTED_PER_CALL = 10000;
export declare const MIN_EXTERNAL_ID_LENGTH = 3;
export declare const MAX_IDENTIFIER_LENGTH = 256;
export declare const MAX_NAMESPACE_LENGTH = 128;
export declare const MAX_NAMESPACES = 10000;
export declare const MAX_OVERRIDES_PER_NAMESPACE = 10000;
/** Overrides with `*`. Each of them is compared with an identifier, so their bound is lower. */
export declare const MAX_PATTERNS_PER_NAMESPACE = 1000;
export declare const MAX_STARS_PER_PATTERN = 10;
export declare const MAX_RESOURCES = 10;
export declare const MAX_PERMISSION_LENGTH = 512;
export declare const MAX_DESCRIPTION_LENGTH = 512;
export declare const MAX_PERMISSIONS_PER_KEY = 1000;
export declare const MAX_ROLES_PER_KEY = 100;
/** Permissions, `and`, `or` and null in one permission query, at all depths together. */
export declare const MAX_QUERY_PARTS = 100;
/** Distinct permissions of a key, its own and those of its roles. Checked when the key gets permissions or roles. */
export declare const MAX_EFFECTIVE_PERMISSIONS = 2000;
export declare const MAX_PERMISSIONS = 10000;
export declare const MAX_ROLES = 1000;
export declare const MAX_PLANS = 1000;
/** Refill rules that a plan remembers. Older ones are forgotten: the sweep has applied them long before. */
export declare const MAX_PLAN_VERSIONS = 200;
export declare const MAX_TAGS = 10;
export declare const MAX_TAG_LENGTH = 128;
/** Bytes of a verification's tags as JSON. A longer list is counted under `other`: a PostgreSQL index entry holds 2,704 bytes. */
export declare const MAX_TAG_LIST_BYTES = 2048;
export declare const MAX_OVERLAP_MS: number;
/** Former secrets of one key that are valid at the same time. */
export declare const MAX_LIVE_SECRETS = 10;
export declare const MIN_ALERT_MS = 60000;
export declare const MAX_ALERT_MS: number;
/** Shorter windows end before anyone could act on `limit.reached`. */
export declare const MIN_NOTIFIED_WINDOW_MS = 60000;
/** Balances and limits of which one node remembers that there may be something to tell of. */
export declare const MAX_NOTICES = 10000;
export declare const MAX_WEBHOOKS = 100;
export declare const MAX_WEBHOOK_URL_LENGTH = 2048;
/** Deliveries of one webhook that wait. Further events stay in the outbox until there is room. */
export declare const MAX_PENDING_DELIVERIES = 1000;
/** Finished deliveries of one webhook that the log keeps. */
export declare const MAX_DELIVERY_LOG = 1000;
/** Requests to one target at the same time, of one node. */
export declare const MAX_CONCURRENT_DELIVERIES = 4;
/** Bytes of an answer of a target that are read. Its body is of no interest. */
export declare const MAX_TARGET_ANSWER_BYTES: number;
/** Bytes of an event as JSON. Of a longer one only the ids are kept. */
export declare const MAX_EVENT_BYTES: number;
export declare const MAX_RIGHTS = 1000;
export declare const MAX_SEARCH_LENGTH = 256;
