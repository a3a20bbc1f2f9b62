import { requireAtMost } from './boundedRecords.ts';
import { isPattern } from '../../core/identifierPattern.ts';
import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../model/access.ts';
import { APIS } from '../../model/apis.ts';
import { IDENTITIES } from '../../model/identities.ts';
import { KEYS } from '../../model/keys.ts';
import { NAMESPACES, type OverrideRecord, OVERRIDES } from '../../model/overrides.ts';
import { toRow } from '../../model/columns.ts';
import type { RecordWrite } from '../port/writes.ts';
import { creditCallColumns } from './creditWrites.ts';
import { toldStatement } from './events.ts';
import { enqueueImport, finishImport } from './imports.ts';
import { removeKeys, retireKeys } from './keys.ts';
import { planStatements } from './plans.ts';
import { portalStatements } from './portalSessions.ts';
import { addWords, IDENTITIES_SCOPE, insertWords, removeWords, type Searchable } from './query/searchIndex.ts';
import { insert, remove, update, type WriteStatement } from './query/statement.ts';
import { sessionStatements } from './sessions.ts';
import { webhookStatements } from './webhooks.ts';
import { IS_LIVE } from './query/queries.ts';

/** The statements of a write. They run one after the other, in the transaction of the change. */
export function writeStatements(write: RecordWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertApi':
      return [insert('apis', toRow(APIS, write.api))];
    case 'updateApi':
      return [update('apis', toRow(APIS, write.api), { id: write.api.id, revision: write.expect })];
    case 'insertIdentity':
    case 'updateIdentity':
    case 'removeIdentity':
    case 'joinIdentity':
      return identityStatements(write);
    case 'requireAtMost':
      return requireAtMost(write);
    case 'insertPlan':
    case 'updatePlan':
    case 'removePlan':
    case 'joinPlan':
      return planStatements(write);
    case 'insertKey':
    case 'updateKey':
    case 'removeKey':
    case 'retireKeys':
    case 'removeKeys':
      return keyStatements(write);
    case 'insertSecret':
    case 'endSecrets':
      return [formerSecretStatement(write)];
    case 'insertCreditCall':
      return [insert('credit_calls', creditCallColumns(write.call))];
    case 'insertPermission':
    case 'removePermission':
    case 'insertRole':
    case 'updateRole':
    case 'removeRole':
      return [accessStatement(write)];
    case 'insertNamespace':
      return [insert('namespaces', toRow(NAMESPACES, write.namespace))];
    case 'insertOverride':
    case 'updateOverride':
    case 'removeOverride':
      return [overrideStatement(write), ...revisePatterns(write)];
    case 'insertRootKey':
    case 'rotateRootKey':
    case 'revokeRootKey':
      return [rootKeyStatement(write)];
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

function identityStatements(
  write: Extract<
    RecordWrite,
    { readonly kind: 'insertIdentity' | 'updateIdentity' | 'removeIdentity' | 'joinIdentity' }
  >,
): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertIdentity':
      return [
        insert('identities', toRow(IDENTITIES, write.identity)),
        ...insertWords(identityScope(write.identity.id), write.words ?? []),
      ];
    case 'updateIdentity':
      return [
        update('identities', toRow(IDENTITIES, write.identity), { id: write.identity.id, revision: write.expect }),
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
  }
}

function keyStatements(
  write: Extract<RecordWrite, { readonly kind: 'insertKey' | 'updateKey' | 'removeKey' | 'retireKeys' | 'removeKeys' }>,
): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertKey':
      return [insert('keys', toRow(KEYS, write.key)), ...insertWords(keyScope(write.key), write.words ?? [])];
    case 'updateKey':
      return [
        update('keys', toRow(KEYS, write.key), { id: write.key.id, revision: write.expect }),
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
  }
}

function overrideStatement(
  write: Extract<RecordWrite, { readonly kind: 'insertOverride' | 'updateOverride' | 'removeOverride' }>,
): WriteStatement {
  switch (write.kind) {
    case 'insertOverride':
      return insert('overrides', toRow(OVERRIDES, write.override));
    case 'updateOverride':
      return update('overrides', toRow(OVERRIDES, write.override), { id: write.override.id, revision: write.expect });
    case 'removeOverride':
      return remove('overrides', { id: write.override.id, revision: write.override.revision });
  }
}

function formerSecretStatement(
  write: Extract<RecordWrite, { readonly kind: 'insertSecret' | 'endSecrets' }>,
): WriteStatement {
  switch (write.kind) {
    case 'insertSecret': {
      const { digest, owner, untilMs } = write.secret;
      return insert('former_secrets', { digest, owner, until_ms: untilMs });
    }
    case 'endSecrets':
      return { ...remove('former_secrets', { owner: write.owner }), expects: null };
  }
}

function accessStatement(
  write: Extract<
    RecordWrite,
    { readonly kind: 'insertPermission' | 'removePermission' | 'insertRole' | 'updateRole' | 'removeRole' }
  >,
): WriteStatement {
  switch (write.kind) {
    case 'insertPermission':
      return insert('permissions', toRow(PERMISSIONS, write.permission));
    case 'removePermission':
      return remove('permissions', { id: write.permissionId });
    case 'insertRole':
      return insert('roles', toRow(ROLES, write.role));
    case 'updateRole':
      return update('roles', toRow(ROLES, write.role), { id: write.role.id, revision: write.expect });
    case 'removeRole':
      return remove('roles', { id: write.roleId, revision: write.expect });
  }
}

function rootKeyStatement(
  write: Extract<RecordWrite, { readonly kind: 'insertRootKey' | 'rotateRootKey' | 'revokeRootKey' }>,
): WriteStatement {
  switch (write.kind) {
    case 'insertRootKey':
      return insert('root_keys', toRow(ROOT_KEYS, write.rootKey));
    case 'rotateRootKey': {
      const { rootKeyId, expect, secretDigest, start } = write;
      return update('root_keys', { secret_digest: secretDigest, start }, { id: rootKeyId, secret_digest: expect });
    }
    case 'revokeRootKey':
      return {
        sql: 'UPDATE root_keys SET revoked_at_ms = $1 WHERE id = $2 AND revoked_at_ms IS NULL',
        params: [write.revokedAtMs, write.rootKeyId],
        expects: 1,
      };
  }
}

function keyScope({ id, apiId }: { readonly id: string; readonly apiId: string }): Searchable {
  return { scope: apiId, id };
}

function identityScope(id: string): Searchable {
  return { scope: IDENTITIES_SCOPE, id };
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

/**
 * Changes nothing, but locks the row until the change is committed. So keys join an identity one after the other, and none joins one that
 * is being deleted. The next statement counts exactly, because it sees everything that was committed before.
 */
function lockIdentity(id: string, revision: number): WriteStatement {
  return {
    sql: 'UPDATE identities SET revision = revision WHERE id = $1 AND revision = $2',
    params: [id, revision],
    expects: 1,
  };
}

/** The same for keys that need no count: they can join at the same time. */
function holdIdentity(id: string, revision: number): WriteStatement {
  return {
    ...lockIdentity(id, revision),
    onPostgres: 'SELECT 1 FROM identities WHERE id = $1 AND revision = $2 FOR SHARE',
  };
}

/** Changes nothing, but refuses the change if the number of the identity's keys is not as wanted. */
function identityWithKeys(id: string, wanted: string): WriteStatement {
  const keys = `SELECT count(*) FROM keys k LEFT JOIN apis a ON a.id = k.api_id WHERE k.identity_id = i.id AND ${IS_LIVE}`;
  const sql = `UPDATE identities AS i SET revision = revision WHERE id = $1 AND (${keys}) ${wanted}`;
  return { sql, params: [id], expects: 1 };
}
