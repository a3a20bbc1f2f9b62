import type { Client } from 'pg';

import { MissingRight } from '../connection/wrongServer.ts';

const AS_OWNER = 'Connect as the role that owns the tables.';

/** Whether the database has tables of Keystile. Refuses a role that would not see them. */
export async function hasTables(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean; schema: string | null; path: string; role: string }>(
    `SELECT to_regclass('installation') IS NOT NULL AS has, current_schema() AS schema,
      current_setting('search_path') AS path, current_user AS role`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('no answer');
  if (row.schema === null)
    throw new MissingRight(
      `The role ${row.role} can use no schema of its search_path (${row.path}): there is none, or it has no right on it. ${AS_OWNER} In an empty database, give this role a schema in which it may create tables.`,
    );
  return row.has;
}

/** The names of what the migrations make. */
interface SchemaNames {
  readonly tables: readonly string[];
  readonly functions: readonly string[];
}

/**
 * The rights that a node needs on its tables, and on those that it empties. The check of a start and the grants in the documentation are
 * made from this.
 */
const OF_TABLES = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];
const EMPTIED = ['idempotency_0', 'idempotency_1'];
const SEQUENCES = ['account_numbers'];

/**
 * The rights of a role that does not own the tables, as statements for their owner. A start creates what is missing, so it needs CREATE.
 */
export function grantsTo(role: string): readonly string[] {
  return [
    `GRANT USAGE, CREATE ON SCHEMA public TO ${role};`,
    `GRANT ${OF_TABLES.join(', ')} ON ALL TABLES IN SCHEMA public TO ${role};`,
    `GRANT TRUNCATE ON ${EMPTIED.join(', ')} TO ${role};`,
    `GRANT USAGE ON SEQUENCE ${SEQUENCES.join(', ')} TO ${role};`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO ${role};`,
  ];
}

const lacksAny = OF_TABLES.map((right) => `NOT has_table_privilege(to_regclass(name), '${right}')`).join(' OR ');
const listed = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

/** The rights that a role which does not own the tables can lack: each right that a node uses, on existing objects. */
const LACKING = `SELECT what FROM (
    SELECT 1 AS rank, 'read and write the table ' || name AS what, name FROM unnest($1::text[]) AS t (name)
      WHERE ${lacksAny}
    UNION ALL
    SELECT 2, 'truncate the table ' || name, name FROM unnest(ARRAY[${listed(EMPTIED)}]) AS t (name)
      WHERE NOT has_table_privilege(to_regclass(name), 'TRUNCATE')
    UNION ALL
    SELECT 3, 'use the sequence ' || name, name FROM unnest(ARRAY[${listed(SEQUENCES)}]) AS t (name)
      WHERE NOT has_sequence_privilege(to_regclass(name), 'USAGE, UPDATE')
    UNION ALL
    SELECT 4, 'call the function ' || proname, proname::text FROM pg_proc
      WHERE proname = ANY ($2) AND pg_function_is_visible(oid) AND NOT has_function_privilege(oid, 'EXECUTE')
  ) lacking ORDER BY rank, name LIMIT 1`;

/** A right on an object of the schema that this role lacks: without it, a start would succeed but spends would fail. null = none. */
export async function findMissingRight(client: Client, { tables, functions }: SchemaNames): Promise<string | null> {
  const { rows } = await client.query<{ what: string; role: string }>(
    `SELECT what, current_user AS role FROM (${LACKING}) found`,
    [tables, functions],
  );
  const [row] = rows;
  return row === undefined ? null : `The role ${row.role} may not ${row.what}. ${AS_OWNER}`;
}

/** The same for what a start does before: creating missing tables. */
export async function findMissingCreation(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ may: boolean; schema: string; role: string }>(
    `SELECT has_schema_privilege(oid, 'CREATE') AS may, nspname AS schema, current_user AS role
      FROM pg_namespace WHERE nspname = current_schema()`,
  );
  const [row] = rows;
  if (row === undefined || row.may) return null;
  return `The role ${row.role} may not create tables in the schema ${row.schema}, as a start does. Give it that right, or connect as the role that owns the tables.`;
}
