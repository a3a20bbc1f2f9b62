import type {
  ApiRecord,
  IdentityRecord,
  KeyRecord,
  OverrideRecord,
  RoleRecord,
  RootKeyRecord,
} from '../../core/records.ts';
import type { FinishedBatch, ImportBatch } from '../importsPort.ts';
import type { DoomedKey, RecordWrite } from '../recordsPort.ts';
import { insert, type Params, placeholders, remove, update, type WriteStatement } from './statement.ts';

/** Problems of one import that are kept; the others are only counted. */
const MAX_IMPORT_ERRORS = 1000;

type Columns = Record<string, Params[number]>;

/** A write as statements, to be run one after the other in the transaction of their change. */
export function writeStatements(write: RecordWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertApi':
      return [insert('apis', apiColumns(write.api))];
    case 'updateApi':
      return [update('apis', apiColumns(write.api), { id: write.api.id, revision: write.expect })];
    case 'insertIdentity':
      return [insert('identities', identityColumns(write.identity))];
    case 'updateIdentity':
      return [update('identities', identityColumns(write.identity), { id: write.identity.id, revision: write.expect })];
    case 'removeIdentity':
      return [remove('identities', { id: write.identityId, revision: write.expect })];
    case 'insertKey':
      return [insert('keys', keyColumns(write.key)), ...insertWords(write.key, write.words ?? [])];
    case 'updateKey':
      return [
        update('keys', keyColumns(write.key), { id: write.key.id, revision: write.expect }),
        ...removeWords(write.key, write.words?.removed ?? []),
        ...addWords(write.key, write.words?.added ?? []),
      ];
    case 'removeKey':
      return [
        remove('keys', { id: write.key.id, revision: write.expect }),
        ...removeWords(write.key, write.words ?? []),
        { ...remove('former_secrets', { owner: write.key.id }), expects: null },
        { ...remove('key_uses', { key_id: write.key.id }), expects: null },
      ];
    case 'retireKeys':
      return [retireKeys(write.keys, write.deletedAtMs)];
    case 'removeKeys':
      return removeKeys(write.apiId, write.keys);
    case 'insertSecret': {
      const { digest, owner, untilMs } = write.secret;
      return [insert('former_secrets', { digest, owner, until_ms: untilMs })];
    }
    case 'endSecrets':
      return [{ ...remove('former_secrets', { owner: write.owner }), expects: null }];
    case 'insertPermission': {
      const { id, name, slug, description, createdAtMs } = write.permission;
      return [insert('permissions', { id, name, slug, description, created_at_ms: createdAtMs })];
    }
    case 'removePermission':
      return [remove('permissions', { id: write.permissionId })];
    case 'insertRole':
      return [insert('roles', roleColumns(write.role))];
    case 'updateRole':
      return [update('roles', roleColumns(write.role), { id: write.role.id, revision: write.expect })];
    case 'removeRole':
      return [remove('roles', { id: write.roleId, revision: write.expect })];
    case 'insertNamespace': {
      const { id, name, createdAtMs } = write.namespace;
      return [insert('namespaces', { id, name, created_at_ms: createdAtMs })];
    }
    case 'insertOverride':
      return [insert('overrides', overrideColumns(write.override))];
    case 'updateOverride':
      return [update('overrides', overrideColumns(write.override), { id: write.override.id })];
    case 'removeOverride':
      return [remove('overrides', { id: write.overrideId })];
    case 'insertRootKey':
      return [insert('root_keys', rootKeyColumns(write.rootKey))];
    case 'rotateRootKey': {
      const { rootKeyId, expect, secretDigest, start } = write;
      return [update('root_keys', { secret_digest: secretDigest, start }, { id: rootKeyId, secret_digest: expect })];
    }
    case 'revokeRootKey':
      return [
        {
          sql: 'UPDATE root_keys SET revoked_at_ms = $1 WHERE id = $2 AND revoked_at_ms IS NULL',
          params: [write.revokedAtMs, write.rootKeyId],
          expects: 1,
        },
      ];
    case 'enqueueImport':
      return enqueueImport(write.batch);
    case 'finishImport':
      return finishImport(write.batch);
  }
}

/** The rows with these ids and revisions; PostgreSQL takes a parameter in VALUES for text. */
function among(keys: readonly DoomedKey[], first: number): { sql: string; params: Params } {
  const rows = keys.map((_, i) => `($${first + i * 2}, CAST($${first + i * 2 + 1} AS bigint))`);
  return {
    sql: `(id, revision) IN (VALUES ${rows.join(', ')})`,
    params: keys.flatMap(({ id, expect }) => [id, expect]),
  };
}

function retireKeys(keys: readonly DoomedKey[], deletedAtMs: number): WriteStatement {
  const { sql, params } = among(keys, 2);
  return {
    sql: `UPDATE keys SET deleted_at_ms = $1, updated_at_ms = $1, revision = revision + 1 WHERE ${sql}`,
    params: [deletedAtMs, ...params],
    expects: keys.length,
  };
}

function removeKeys(apiId: string, keys: readonly DoomedKey[]): WriteStatement[] {
  const { sql, params } = among(keys, 1);
  const ids = keys.map(({ id }) => id);
  const words = keys.flatMap(({ id, words: all }) => all.map((word) => [word, id]));
  const pairs = words.map((_, i) => `($${i * 2 + 2}, $${i * 2 + 3})`);
  return [
    { sql: `DELETE FROM keys WHERE ${sql}`, params, expects: keys.length },
    { sql: `DELETE FROM former_secrets WHERE owner IN (${placeholders(ids.length)})`, params: ids, expects: null },
    { sql: `DELETE FROM key_uses WHERE key_id IN (${placeholders(ids.length)})`, params: ids, expects: null },
    ...(words.length === 0
      ? []
      : [
          {
            sql: `DELETE FROM key_words WHERE api_id = $1 AND (word, key_id) IN (VALUES ${pairs.join(', ')})`,
            params: [apiId, ...words.flat()],
            expects: null,
          },
        ]),
  ];
}

function insertWords({ id, apiId }: { id: string; apiId: string }, words: readonly string[]): WriteStatement[] {
  return words.map((word) => insert('key_words', { api_id: apiId, key_id: id, word }));
}

/** A word may be there already: a program that knows of no words can have changed the name in between. */
function addWords({ id, apiId }: { id: string; apiId: string }, words: readonly string[]): WriteStatement[] {
  if (words.length === 0) return [];
  const rows = words.map((_, i) => `($1, $2, $${i + 3})`);
  const sql = `INSERT INTO key_words (api_id, key_id, word) VALUES ${rows.join(', ')} ON CONFLICT DO NOTHING`;
  return [{ sql, params: [apiId, id, ...words], expects: null }];
}

function removeWords({ id, apiId }: { id: string; apiId: string }, words: readonly string[]): WriteStatement[] {
  if (words.length === 0) return [];
  const sql = `DELETE FROM key_words WHERE api_id = $1 AND key_id = $2 AND word IN (${placeholders(words.length, 3)})`;
  return [{ sql, params: [apiId, id, ...words], expects: null }];
}

/** The counter is raised first: its row is then held, and two calls at the same time get places one after the other. */
function enqueueImport({ id, migrationId, apiId, count, keys, actor }: ImportBatch): WriteStatement[] {
  return [
    {
      sql: 'INSERT INTO imports (id, api_id, queued, done, failed) VALUES ($1, $2, 0, 0, 0) ON CONFLICT (id) DO NOTHING',
      params: [migrationId, apiId],
      expects: null,
    },
    {
      sql: 'UPDATE imports SET queued = queued + $1 WHERE id = $2 AND api_id = $3',
      params: [count, migrationId, apiId],
      expects: 1,
    },
    {
      sql: `INSERT INTO import_batches (id, migration_id, api_id, first_place, size, keys, actor)
        SELECT $1, $2, $3, queued - $4, $4, $5, $6 FROM imports WHERE id = $2`,
      params: [id, migrationId, apiId, count, keys, actor],
      expects: 1,
    },
  ];
}

/** Who removes the batch has finished it: nobody else can. */
function finishImport({ id, migrationId, done, errors }: FinishedBatch): WriteStatement[] {
  return [
    remove('import_batches', { id }),
    {
      sql: 'UPDATE imports SET done = done + $1, failed = failed + $2 WHERE id = $3',
      params: [done, errors.length, migrationId],
      expects: 1,
    },
    ...errors.map(({ index, message }) => ({
      sql: `INSERT INTO import_errors (migration_id, place, message)
        SELECT $1, $2, $3 WHERE (SELECT count(*) FROM import_errors WHERE migration_id = $1) < ${MAX_IMPORT_ERRORS}`,
      params: [migrationId, index, message],
      expects: null,
    })),
  ];
}

function apiColumns(api: ApiRecord): Columns {
  return {
    id: api.id,
    name: api.name,
    default_prefix: api.defaultPrefix,
    default_byte_length: api.defaultByteLength,
    default_limit: api.defaultLimit === null ? null : JSON.stringify(api.defaultLimit),
    delete_protected: api.isDeleteProtected ? 1 : 0,
    generation: api.generation,
    purges_below: api.purgesBelow,
    created_at_ms: api.createdAtMs,
    updated_at_ms: api.updatedAtMs,
    deleted_at_ms: api.deletedAtMs,
    revision: api.revision,
  };
}

function identityColumns(identity: IdentityRecord): Columns {
  return {
    id: identity.id,
    external_id: identity.externalId,
    meta: identity.meta,
    credits: identity.credits === null ? null : JSON.stringify(identity.credits),
    credits_account: identity.credits?.account ?? null,
    limits: listText(identity.limits),
    created_at_ms: identity.createdAtMs,
    updated_at_ms: identity.updatedAtMs,
    revision: identity.revision,
  };
}

function keyColumns(key: KeyRecord): Columns {
  return {
    id: key.id,
    api_id: key.apiId,
    identity_id: key.identityId,
    secret_digest: key.secretDigest,
    start: key.start,
    byte_length: key.byteLength,
    name: key.name,
    meta: key.meta,
    environment: key.environment,
    enabled: key.enabled ? 1 : 0,
    expires_at_ms: key.expiresAtMs,
    credits: key.credits === null ? null : JSON.stringify(key.credits),
    credits_account: key.credits?.account ?? null,
    limits: listText(key.limits),
    guard_account: key.guardAccount,
    ip_allowlist: listText(key.ipAllowlist),
    roles: listText(key.roleIds),
    permissions: listText(key.permissionIds),
    generation: key.generation,
    created_at_ms: key.createdAtMs,
    updated_at_ms: key.updatedAtMs,
    deleted_at_ms: key.deletedAtMs,
    revision: key.revision,
  };
}

function roleColumns(role: RoleRecord): Columns {
  return {
    id: role.id,
    name: role.name,
    description: role.description,
    permissions: listText(role.permissionIds),
    created_at_ms: role.createdAtMs,
    revision: role.revision,
  };
}

function overrideColumns(override: OverrideRecord): Columns {
  return {
    id: override.id,
    namespace_id: override.namespaceId,
    identifier: override.identifier,
    max_count: override.limit,
    duration_ms: override.durationMs,
    async: override.async ? 1 : 0,
    created_at_ms: override.createdAtMs,
    updated_at_ms: override.updatedAtMs,
  };
}

function rootKeyColumns(rootKey: RootKeyRecord): Columns {
  return {
    id: rootKey.id,
    secret_digest: rootKey.secretDigest,
    start: rootKey.start,
    name: rootKey.name,
    rights: JSON.stringify(rootKey.rights),
    created_at_ms: rootKey.createdAtMs,
    expires_at_ms: rootKey.expiresAtMs,
    revoked_at_ms: rootKey.revokedAtMs,
  };
}

/** JSON of a list, null when it is empty. */
function listText(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}
