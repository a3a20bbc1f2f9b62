import { FUNCTIONS_V2 } from './functions.ts';
import { TEXT } from './textType.ts';

/** The full management API. */
export const SCHEMA_V2 = `
  ALTER TABLE apis ADD COLUMN default_prefix ${TEXT};
  ALTER TABLE apis ADD COLUMN default_byte_length bigint;
  ALTER TABLE apis ADD COLUMN default_limit ${TEXT};
  ALTER TABLE apis ADD COLUMN delete_protected integer NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN generation bigint NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN purges_below bigint NOT NULL DEFAULT 0;
  ALTER TABLE apis ADD COLUMN updated_at_ms bigint;
  ALTER TABLE apis ADD COLUMN deleted_at_ms bigint;
  ALTER TABLE apis ADD COLUMN revision bigint NOT NULL DEFAULT 0;

  ALTER TABLE identities ADD COLUMN credits ${TEXT};
  ALTER TABLE identities ADD COLUMN credits_account bigint;
  ALTER TABLE identities ADD COLUMN limits ${TEXT};
  ALTER TABLE identities ADD COLUMN updated_at_ms bigint;
  ALTER TABLE identities ADD COLUMN revision bigint NOT NULL DEFAULT 0;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;

  ALTER TABLE keys ADD COLUMN roles ${TEXT};
  ALTER TABLE keys ADD COLUMN permissions ${TEXT};
  ALTER TABLE keys ADD COLUMN generation bigint NOT NULL DEFAULT 0;
  CREATE INDEX keys_of_generation ON keys (api_id, generation, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_of_owner ON keys (api_id, generation, identity_id, id) WHERE deleted_at_ms IS NULL;
  CREATE INDEX keys_by_start ON keys (api_id, start, id) WHERE deleted_at_ms IS NULL;

  -- Words of names and metadata, for the search.
  CREATE TABLE key_words (
    api_id ${TEXT} NOT NULL, word ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, PRIMARY KEY (api_id, word, key_id)
  );

  -- Secrets that were replaced and are valid for a while.
  CREATE TABLE former_secrets (digest ${TEXT} PRIMARY KEY, owner ${TEXT} NOT NULL, until_ms bigint NOT NULL);
  CREATE INDEX former_secrets_of_owner ON former_secrets (owner, until_ms);
  CREATE INDEX former_secrets_ended ON former_secrets (until_ms);

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

  CREATE TABLE namespaces (id ${TEXT} PRIMARY KEY, name ${TEXT} NOT NULL UNIQUE, created_at_ms bigint NOT NULL);

  CREATE TABLE overrides (
    id ${TEXT} PRIMARY KEY,
    namespace_id ${TEXT} NOT NULL,
    identifier ${TEXT} NOT NULL,
    max_count bigint NOT NULL,
    duration_ms bigint NOT NULL,
    async integer NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    UNIQUE (namespace_id, identifier)
  );
  CREATE INDEX overrides_of_namespace ON overrides (namespace_id, id);

  -- The feed becomes the audit log as well: rows with an action stay.
  ALTER TABLE changes
    ADD COLUMN subjects text,
    ADD COLUMN actor ${TEXT},
    ADD COLUMN action ${TEXT},
    ADD COLUMN target ${TEXT},
    ADD COLUMN before_json text,
    ADD COLUMN after_json text,
    ADD COLUMN origin text,
    ADD COLUMN request_id text;
  CREATE INDEX changes_by_actor ON changes (actor, number) WHERE action IS NOT NULL;
  CREATE INDEX changes_by_action ON changes (action, number) WHERE action IS NOT NULL;
  CREATE INDEX changes_by_target ON changes (target, number) WHERE action IS NOT NULL;
  CREATE INDEX changes_by_time ON changes (at_ms);

  -- Verifications by span (0 minute, 1 hour, 2 day); '' stands for no key, no identity, no tags.
  CREATE TABLE key_tallies (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, key_id ${TEXT} NOT NULL, identity_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL,
    PRIMARY KEY (key_id, span, time_ms, api_id, identity_id, tags)
  );
  CREATE INDEX key_tallies_of_api ON key_tallies (api_id, span, time_ms);
  CREATE INDEX key_tallies_by_time ON key_tallies (span, time_ms);
  CREATE TABLE api_tallies (
    span bigint NOT NULL, time_ms bigint NOT NULL, api_id ${TEXT} NOT NULL, tags ${TEXT} NOT NULL,
    valid bigint NOT NULL, not_found bigint NOT NULL, forbidden bigint NOT NULL, disabled bigint NOT NULL, expired bigint NOT NULL,
    insufficient_permissions bigint NOT NULL, rate_limited bigint NOT NULL, usage_exceeded bigint NOT NULL,
    PRIMARY KEY (api_id, span, time_ms, tags)
  );
  CREATE INDEX api_tallies_by_time ON api_tallies (span, time_ms);
  CREATE TABLE key_uses (key_id ${TEXT} PRIMARY KEY, last_used_at_ms bigint NOT NULL);

  CREATE TABLE imports (
    id ${TEXT} PRIMARY KEY, api_id ${TEXT} NOT NULL, queued bigint NOT NULL, done bigint NOT NULL, failed bigint NOT NULL
  );
  CREATE TABLE import_batches (
    id ${TEXT} PRIMARY KEY,
    migration_id ${TEXT} NOT NULL,
    api_id ${TEXT} NOT NULL,
    first_place bigint NOT NULL,
    size bigint NOT NULL,
    keys ${TEXT} NOT NULL,
    actor ${TEXT} NOT NULL
  );
  CREATE TABLE import_errors (
    migration_id ${TEXT} NOT NULL, place bigint NOT NULL, message ${TEXT} NOT NULL, PRIMARY KEY (migration_id, place)
  );

  -- The last batch of tallies of each node: one that is sent again is not added again.
  CREATE TABLE tally_marks (node ${TEXT} PRIMARY KEY, batch bigint NOT NULL, at_ms bigint NOT NULL);
  ${FUNCTIONS_V2}
  `;
