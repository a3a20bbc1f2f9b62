import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../../model/access.ts';
import { APIS } from '../../../model/apis.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { KEYS } from '../../../model/keys.ts';
import { NAMESPACES, OVERRIDES } from '../../../model/overrides.ts';
import { PLANS } from '../../../model/plans.ts';
import { columnsText, type Dialect } from '../../../model/stored.ts';
import { TEXT } from './textType.ts';

export const DIALECT: Dialect = { engine: 'postgres', types: { text: TEXT, number: 'bigint', small: 'integer' } };

/** What management reads and writes: apis, identities, plans, keys, root keys, roles, permissions, namespaces, imports, the audit log. */
export const RECORD_TABLES = `
  CREATE TABLE apis (
${columnsText(APIS, DIALECT)}
  );

  CREATE TABLE identities (
${columnsText(IDENTITIES, DIALECT)}
  );
  CREATE INDEX identities_alerting ON identities (id) WHERE expires_within_ms IS NOT NULL;
  CREATE INDEX identities_by_credits ON identities (credits_account) WHERE credits_account IS NOT NULL;
  CREATE INDEX identities_of_plan ON identities (plan_id, id) WHERE plan_id IS NOT NULL;
  CREATE INDEX identities_of_next_plan ON identities (next_plan_id, id) WHERE next_plan_id IS NOT NULL;

  CREATE TABLE plans (
${columnsText(PLANS, DIALECT)}
  );

  CREATE TABLE keys (
${columnsText(KEYS, DIALECT)}
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
${columnsText(ROOT_KEYS, DIALECT)}
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
${columnsText(PERMISSIONS, DIALECT)}
  );

  CREATE TABLE roles (
${columnsText(ROLES, DIALECT)}
  );

  CREATE TABLE namespaces (
${columnsText(NAMESPACES, DIALECT)}
  );

  CREATE TABLE overrides (
${columnsText(OVERRIDES, DIALECT)},
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
