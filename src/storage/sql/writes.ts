import type { ApiRecord, OverrideRecord, RoleRecord, RootKeyRecord } from '../../core/records.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import type { RecordWrite } from '../port/writes.ts';
import { requireAtMost } from './boundedRecords.ts';
import { holdIdentity, identityColumns, identityWithKeys, lockIdentity } from './holders/identityWrites.ts';
import { enqueueImport, finishImport } from './imports/importWrites.ts';
import { keyColumns, removeKeys, retireKeys } from './keys/keyWrites.ts';
import { addWords, IDENTITIES_SCOPE, insertWords, removeWords, type Searchable } from './query/searchIndex.ts';
import { creditCallColumns } from './credits/creditCalls.ts';
import { planStatements } from './holders/plans.ts';
import { portalStatements } from './portalSessions.ts';
import { sessionStatements } from './sessions.ts';
import { toldStatement } from './events/toldWrites.ts';
import { webhookStatements } from './events/webhookWrites.ts';
import { insert, listText, type Params, remove, update, type WriteStatement } from './query/statement.ts';

type Columns = Record<string, Params[number]>;

/** The statements of a write. They run one after the other, in the transaction of the change. */
export function writeStatements(write: RecordWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertApi':
      return [insert('apis', apiColumns(write.api))];
    case 'updateApi':
      return [update('apis', apiColumns(write.api), { id: write.api.id, revision: write.expect })];
    case 'insertIdentity':
      return [
        insert('identities', identityColumns(write.identity)),
        ...insertWords(identityScope(write.identity.id), write.words ?? []),
      ];
    case 'updateIdentity':
      return [
        update('identities', identityColumns(write.identity), { id: write.identity.id, revision: write.expect }),
        ...removeWords(identityScope(write.identity.id), write.words?.removed ?? []),
        ...addWords(identityScope(write.identity.id), write.words?.added ?? []),
      ];
    case 'removeIdentity':
      return [
        lockIdentity(write.identityId, write.expect),
        identityWithKeys(write.identityId, '= 0'),
        remove('identities', { id: write.identityId, revision: write.expect }),
        ...removeWords(identityScope(write.identityId), write.words ?? []),
      ];
    case 'joinIdentity':
      return write.maxKeys === null
        ? [holdIdentity(write.identityId, write.expect)]
        : [lockIdentity(write.identityId, write.expect), identityWithKeys(write.identityId, `<= ${write.maxKeys}`)];
    case 'requireAtMost':
      return requireAtMost(write);
    case 'insertPlan':
    case 'updatePlan':
    case 'removePlan':
    case 'joinPlan':
      return planStatements(write);
    case 'insertKey':
      return [insert('keys', keyColumns(write.key)), ...insertWords(keyScope(write.key), write.words ?? [])];
    case 'updateKey':
      return [
        update('keys', keyColumns(write.key), { id: write.key.id, revision: write.expect }),
        ...removeWords(keyScope(write.key), write.words?.removed ?? []),
        ...addWords(keyScope(write.key), write.words?.added ?? []),
      ];
    case 'removeKey':
      return [
        remove('keys', { id: write.key.id, revision: write.expect }),
        ...removeWords(keyScope(write.key), write.words ?? []),
        { ...remove('former_secrets', { owner: write.key.id }), expects: null },
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
    case 'insertCreditCall':
      return [insert('credit_calls', creditCallColumns(write.call))];
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
      const { id, name, patternsRevision, createdAtMs } = write.namespace;
      return [insert('namespaces', { id, name, patterns_revision: patternsRevision, created_at_ms: createdAtMs })];
    }
    case 'insertOverride':
      return [insert('overrides', overrideColumns(write.override)), ...revisePatterns(write)];
    case 'updateOverride': {
      const where = { id: write.override.id, revision: write.expect };
      return [update('overrides', overrideColumns(write.override), where), ...revisePatterns(write)];
    }
    case 'removeOverride': {
      const { id, revision } = write.override;
      return [remove('overrides', { id, revision }), ...revisePatterns(write)];
    }
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
    case 'insertSession':
    case 'useSession':
    case 'endSession':
    case 'endSessions':
      return sessionStatements(write);
    case 'insertPortalSession':
    case 'openPortalSession':
    case 'countPortalChange':
    case 'endPortalSession':
      return portalStatements(write);
    case 'insertWebhook':
    case 'updateWebhook':
    case 'removeWebhook':
    case 'redeliver':
      return webhookStatements(write);
    case 'tellCredits':
    case 'tellRefills':
    case 'tellLimit':
      return [toldStatement(write)];
    case 'enqueueImport':
      return enqueueImport(write.batch, write.mostWaiting);
    case 'finishImport':
      return finishImport(write.batch);
  }
}

function keyScope({ id, apiId }: { readonly id: string; readonly apiId: string }): Searchable {
  return { scope: apiId, id };
}

function identityScope(id: string): Searchable {
  return { scope: IDENTITIES_SCOPE, id };
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
    revision: override.revision,
  };
}

/** All patterns of a namespace share one revision, because a new pattern may match identifiers that had no override. */
function revisePatterns(write: {
  readonly override: OverrideRecord;
  readonly expectPatterns: number;
}): readonly WriteStatement[] {
  const { override, expectPatterns } = write;
  if (!isPattern(override.identifier)) return [];
  const where = { id: override.namespaceId, patterns_revision: expectPatterns };
  return [update('namespaces', { patterns_revision: expectPatterns + 1 }, where)];
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
