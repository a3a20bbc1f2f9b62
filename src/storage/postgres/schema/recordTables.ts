import { TEXT } from './textType.ts';

/** What management reads and writes: apis, identities, plans, keys, root keys, roles, permissions, namespaces, imports, the audit log. */
export const RECORD_TABLES = `
  CREATE TABLE apis (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    default_prefix ${TEXT},
    default_byte_length bigint,
    default_limit ${TEXT},
    delete_protected integer NOT NULL DEFAULT 0,
    generation bigint NOT NULL DEFAULT 0,
    purges_below bigint NOT NULL DEFAULT 0,
    updated_at_ms bigint,
    deleted_at_ms bigint,
    revision bigint NOT NULL DEFAULT 0
  );

  CREATE TABLE identities (
    id ${TEXT} PRIMARY KEY,
    external_id ${TEXT} NOT NULL UNIQUE,
    name ${TEXT},
    meta ${TEXT},
    enabled integer NOT NULL,
    max_keys bigint,
    plan_id ${TEXT},
    plan_move ${TEXT},
    next_plan_id ${TEXT},
    expires_within_ms bigint,
    credits_below bigint,
    created_at_ms bigint NOT NULL,
    credits ${TEXT},
    credits_account bigint,
    limits ${TEXT},
    updated_at_ms bigint,
    revision bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX identities_alerting ON identities (id) WHERE expires_within_ms IS NOT NULL;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;
  CREATE INDEX identities_of_plan ON identities (plan_id, id) WHERE plan_id IS NOT NULL;
  CREATE INDEX identities_of_next_plan ON identities (next_plan_id, id) WHERE next_plan_id IS NOT NULL;

  -- What customers buy. Its holders refer to it.
  CREATE TABLE plans (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL UNIQUE,
    meta ${TEXT},
    remaining bigint,
    metered integer NOT NULL,
    refills ${TEXT} NOT NULL,
    limits ${TEXT},
    roles ${TEXT},
    permissions ${TEXT},
    max_keys bigint,
    expires_within_ms bigint,
    credits_below bigint,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    revision bigint NOT NULL
  );

  CREATE TABLE keys (
    id ${TEXT} PRIMARY KEY,
    api_id ${TEXT} NOT NULL,
    identity_id ${TEXT},
    secret_digest ${TEXT} NOT NULL UNIQUE,
    start ${TEXT} NOT NULL,
    name ${TEXT},
    meta ${TEXT},
    environment ${TEXT},
    enabled integer NOT NULL,
    expires_at_ms bigint,
    credits ${TEXT},
    credits_account bigint,
    limits ${TEXT},
    plan_id ${TEXT},
    plan_move ${TEXT},
    next_plan_id ${TEXT},
    -- How long before its expiry an event tells of it, and the expiry that was told of.
    expires_within_ms bigint,
    told_expiry_ms bigint,
    -- An event tells of a balance below this one.
    credits_below bigint,
    ip_allowlist ${TEXT},
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    deleted_at_ms bigint,
    revision bigint NOT NULL,
    byte_length bigint,
    roles ${TEXT},
    permissions ${TEXT},
    generation bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX keys_of_api ON keys (api_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_identity ON keys (identity_id, id) WHERE deleted_at_ms IS NULL AND identity_id IS NOT NULL;
  CREATE INDEX keys_of_plan ON keys (plan_id, api_id, generation, id, enabled, expires_at_ms) WHERE plan_id IS NOT NULL AND deleted_at_ms IS NULL;
  CREATE INDEX keys_of_next_plan ON keys (next_plan_id, id) WHERE next_plan_id IS NOT NULL AND deleted_at_ms IS NULL;
  CREATE INDEX keys_by_credits ON keys (credits_account) WHERE credits_account IS NOT NULL;
  CREATE INDEX keys_of_generation ON keys (api_id, generation, id, enabled, expires_at_ms) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_owner ON keys (api_id, generation, identity_id, id, enabled, expires_at_ms) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_expiring ON keys ((expires_at_ms - expires_within_ms)) WHERE expires_within_ms IS NOT NULL AND told_expiry_ms IS NULL;
  CREATE INDEX keys_by_start ON keys (api_id, start, id) WHERE deleted_at_ms IS NULL;

  -- Words that find a record. The scope of a key is its api, that of an identity the word "identities".
  CREATE TABLE search_words (
    scope ${TEXT} NOT NULL, word ${TEXT} NOT NULL, id ${TEXT} NOT NULL, PRIMARY KEY (scope, word, id)
  );

  -- Secrets that were replaced and are valid for a while.
  CREATE TABLE former_secrets (digest ${TEXT} PRIMARY KEY, owner ${TEXT} NOT NULL, until_ms bigint NOT NULL);
  CREATE INDEX former_secrets_of_owner ON former_secrets (owner, until_ms);
  CREATE INDEX former_secrets_ended ON former_secrets (until_ms);

  CREATE TABLE root_keys (
    id ${TEXT} PRIMARY KEY,
    secret_digest ${TEXT} NOT NULL UNIQUE,
    start ${TEXT} NOT NULL,
    name ${TEXT},
    rights ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    revoked_at_ms bigint
  );

  -- Browsers that are signed in to the dashboard.
  CREATE TABLE sessions (
    id ${TEXT} PRIMARY KEY,
    digest ${TEXT} NOT NULL UNIQUE,
    root_key_id ${TEXT} NOT NULL,
    created_at_ms bigint NOT NULL,
    used_at_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    origin text,
    browser text
  );
  CREATE INDEX sessions_of_root_key ON sessions (root_key_id);
  CREATE INDEX sessions_ended ON sessions (until_ms);

  CREATE TABLE portal_sessions (
    id ${TEXT} PRIMARY KEY,
    digest ${TEXT} NOT NULL UNIQUE,
    root_key_id ${TEXT} NOT NULL,
    identity_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    allowed ${TEXT} NOT NULL,
    key_defaults ${TEXT},
    return_url ${TEXT},
    created_at_ms bigint NOT NULL,
    opened_at_ms bigint,
    until_ms bigint NOT NULL,
    changes bigint NOT NULL
  );
  CREATE INDEX portal_sessions_of_identity ON portal_sessions (identity_id);
  CREATE INDEX portal_sessions_ended ON portal_sessions (until_ms);

  CREATE TABLE permissions (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL UNIQUE,
    slug ${TEXT} NOT NULL UNIQUE,
    description ${TEXT},
    created_at_ms bigint NOT NULL
  );

  CREATE TABLE roles (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL UNIQUE,
    description ${TEXT},
    permissions ${TEXT},
    created_at_ms bigint NOT NULL,
    revision bigint NOT NULL
  );

  CREATE TABLE namespaces (
    id ${TEXT} PRIMARY KEY,
    name ${TEXT} NOT NULL UNIQUE,
    created_at_ms bigint NOT NULL,
    patterns_revision bigint NOT NULL DEFAULT 0
  );

  CREATE TABLE overrides (
    id ${TEXT} PRIMARY KEY,
    namespace_id ${TEXT} NOT NULL,
    identifier ${TEXT} NOT NULL,
    max_count bigint NOT NULL,
    duration_ms bigint NOT NULL,
    async integer NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    revision bigint NOT NULL DEFAULT 0,
    UNIQUE (namespace_id, identifier)
  );
  CREATE INDEX overrides_of_namespace ON overrides (namespace_id, id);

  CREATE TABLE imports (
    id ${TEXT} PRIMARY KEY, api_id ${TEXT} NOT NULL, queued bigint NOT NULL, done bigint NOT NULL, failed bigint NOT NULL
  );
  CREATE TABLE import_batches (
    id ${TEXT} PRIMARY KEY,
    import_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    first_index bigint NOT NULL,
    size bigint NOT NULL,
    keys ${TEXT} NOT NULL,
    actor ${TEXT} NOT NULL
  );
  CREATE TABLE import_errors (
    import_id ${TEXT} NOT NULL, key_index bigint NOT NULL, message ${TEXT} NOT NULL, PRIMARY KEY (import_id, key_index)
  );

  -- The audit log: only ever added to, in the transaction of the change.
  CREATE TABLE audit_entries (
    number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at_ms bigint NOT NULL,
    actor ${TEXT} NOT NULL,
    action ${TEXT} NOT NULL,
    target ${TEXT} NOT NULL,
    before_json text,
    after_json text,
    origin text,
    request_id text,
    via text
  );
  CREATE INDEX audit_entries_by_actor ON audit_entries (actor, number);
  CREATE INDEX audit_entries_by_action ON audit_entries (action, number);
  CREATE INDEX audit_entries_by_target ON audit_entries (target, number);
  CREATE INDEX audit_entries_by_time ON audit_entries (at_ms);
  `;
