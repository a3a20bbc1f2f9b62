import type { IdentityRecord } from '../../../core/records.ts';
import { planColumnsOf } from '../query/planColumns.ts';
import { IS_LIVE } from '../query/queries.ts';
import { listText, type Params, type WriteStatement } from '../query/statement.ts';

/**
 * Changes nothing, but holds the row until the change is committed. So keys join an identity one after the other, and none joins one that
 * is being deleted. What the next statement counts is exact, because it sees all that was committed before.
 */
export function lockIdentity(id: string, revision: number): WriteStatement {
  return {
    sql: 'UPDATE identities SET revision = revision WHERE id = $1 AND revision = $2',
    params: [id, revision],
    expects: 1,
  };
}

/** The same for keys that need no count: they join at the same time. */
export function holdIdentity(id: string, revision: number): WriteStatement {
  return {
    ...lockIdentity(id, revision),
    onPostgres: 'SELECT 1 FROM identities WHERE id = $1 AND revision = $2 FOR SHARE',
  };
}

/** Changes nothing. Refuses the change when the number of the identity's keys is not as wanted. */
export function identityWithKeys(id: string, wanted: string): WriteStatement {
  const keys = `SELECT count(*) FROM keys k LEFT JOIN apis a ON a.id = k.api_id WHERE k.identity_id = i.id AND ${IS_LIVE}`;
  const sql = `UPDATE identities AS i SET revision = revision WHERE id = $1 AND (${keys}) ${wanted}`;
  return { sql, params: [id], expects: 1 };
}

export function identityColumns(identity: IdentityRecord): Record<string, Params[number]> {
  return {
    id: identity.id,
    external_id: identity.externalId,
    name: identity.name,
    meta: identity.meta,
    enabled: identity.enabled ? 1 : 0,
    max_keys: identity.maxKeys,
    ...planColumnsOf(identity),
    expires_within_ms: identity.alerts?.expiresWithinMs ?? null,
    credits_below: identity.alerts?.creditsBelow ?? null,
    credits: identity.credits === null ? null : JSON.stringify(identity.credits),
    credits_account: identity.credits?.account ?? null,
    limits: listText(identity.limits),
    created_at_ms: identity.createdAtMs,
    updated_at_ms: identity.updatedAtMs,
    revision: identity.revision,
  };
}
