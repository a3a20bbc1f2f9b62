import type { BoundedRecords, RecordWrite } from '../port/writes.ts';
import * as queries from './query/queries.ts';
import { type Params, type WriteStatement } from './query/statement.ts';

/**
 * The number of records, counted up to the last parameter. Only `overrides` belong to something (a namespace), which is the first
 * parameter.
 */
const COUNTS: { readonly [W in BoundedRecords]: string } = {
  keys: queries.COUNT_KEYS,
  apis: queries.COUNT_APIS,
  namespaces: queries.COUNT_NAMESPACES,
  plans: queries.COUNT_PLANS,
  permissions: queries.COUNT_PERMISSIONS,
  roles: queries.COUNT_ROLES,
  webhooks: queries.COUNT_WEBHOOKS,
  overrides: queries.COUNT_OVERRIDES,
};

/**
 * Holds a name until the change is committed. Changes that hold the same name run one after the other, and later statements of a change see
 * all that the earlier changes have written: on PostgreSQL each statement sees what was committed before it began. SQLite makes changes one
 * by one anyway.
 */
export function holdName(name: string): WriteStatement {
  return {
    sql: 'SELECT $1',
    onPostgres: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 2))',
    params: [name],
    expects: null,
  };
}

/** Changes nothing, but refuses the change if there are more records than allowed. It comes after the writes that create records. */
export function requireAtMost({
  what,
  of,
  most,
}: Extract<RecordWrite, { kind: 'requireAtMost' }>): readonly WriteStatement[] {
  const params: Params = [...(of === null ? [] : [of]), most + 1];
  const isFew = `(${COUNTS[what]}) < $${params.length}`;
  return [
    holdName(`${what} ${of ?? ''}`),
    {
      // A row that always exists.
      sql: `UPDATE installation SET value = value WHERE name = 'workspace_id' AND ${isFew}`,
      onPostgres: `SELECT 1 WHERE ${isFew}`,
      params,
      expects: 1,
    },
  ];
}
