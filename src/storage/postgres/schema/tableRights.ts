import type { Client } from 'pg';

import { MissingRight } from '../connection/wrongServer.ts';

const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;
const AS_OWNER = 'Connect as the role that owns the tables.';

/** Whether the database has tables of Keystile. Refuses a role that would not see them. */
export async function hasTables(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean; schema: string | null; role: string }>(
    "SELECT to_regclass('installation') IS NOT NULL AS has, current_schema() AS schema, current_user AS role",
  );
  const [row] = rows;
  if (row === undefined) throw new Error('no answer');
  if (row.schema === null)
    throw new MissingRight(
      `The role ${row.role} may use no schema of the database. ${AS_OWNER} In an empty database, give this role a schema in which it may create tables.`,
    );
  return row.has;
}

/**
 * Refuses a role that may not create tables, which a start does, or not read and write all of `tables` that are there: the start would
 * succeed, and spends would fail.
 */
export async function refuseWithoutRights(client: Client, tables: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ mayCreate: boolean; table: string | null; schema: string; role: string }>(
    `SELECT has_schema_privilege(n.oid, 'CREATE') AS "mayCreate", n.nspname AS schema, current_user AS role,
      (SELECT min(c.relname::text) FROM pg_class c
        WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND c.relname = ANY ($1)
          AND NOT (${RIGHTS.map((right) => `has_table_privilege(c.oid, '${right}')`).join(' AND ')})) AS table
      FROM pg_namespace n WHERE n.nspname = current_schema()`,
    [tables],
  );
  const [row] = rows;
  if (row?.mayCreate === false)
    throw new MissingRight(
      `The role ${row.role} may not create tables in the schema ${row.schema}, as a start does. Give it that right, or connect as the role that owns the tables.`,
    );
  if (row !== undefined && row.table !== null)
    throw new MissingRight(`The role ${row.role} may not read and write the table ${row.table}. ${AS_OWNER}`);
}
