import { IS_LIVE } from './query/queries.ts';
import type { WriteStatement } from './query/statement.ts';

/**
 * Changes nothing, but locks the row until the change is committed. So keys join an identity one after the other, and none joins one that
 * is being deleted. The next statement counts exactly, because it sees everything that was committed before.
 */
export function lockIdentity(id: string, revision: number): WriteStatement {
  return {
    sql: 'UPDATE identities SET revision = revision WHERE id = $1 AND revision = $2',
    params: [id, revision],
    expects: 1,
  };
}

/** The same for keys that need no count: they can join at the same time. */
export function holdIdentity(id: string, revision: number): WriteStatement {
  return {
    ...lockIdentity(id, revision),
    onPostgres: 'SELECT 1 FROM identities WHERE id = $1 AND revision = $2 FOR SHARE',
  };
}

/** Changes nothing, but refuses the change if the number of the identity's keys is not as wanted. */
export function identityWithKeys(id: string, wanted: string): WriteStatement {
  const keys = `SELECT count(*) FROM keys k LEFT JOIN apis a ON a.id = k.api_id WHERE k.identity_id = i.id AND ${IS_LIVE}`;
  const sql = `UPDATE identities AS i SET revision = revision WHERE id = $1 AND (${keys}) ${wanted}`;
  return { sql, params: [id], expects: 1 };
}
