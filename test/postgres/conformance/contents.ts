/** The tables of the service, without those below. */
const TABLES = `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;

/** Copies the rows of every table, and where every sequence stands, into a schema of their own. */
export const REMEMBER_CONTENTS = `
DO $$
DECLARE each record;
BEGIN
  CREATE SCHEMA remembered;
  CREATE TABLE remembered."all tables" AS ${TABLES};
  CREATE TABLE remembered."all sequences" AS
    SELECT format('%I.%I', schemaname, sequencename) AS name, coalesce(last_value, start_value) AS value,
           last_value IS NOT NULL AS is_called FROM pg_sequences WHERE schemaname = 'public';
  FOR each IN SELECT name FROM remembered."all tables" LOOP
    EXECUTE format('CREATE TABLE remembered.%s AS TABLE %s', each.name, each.name);
  END LOOP;
END $$`;

/** Puts the database back into that state. Fails when it has other tables by now, or when somebody still uses it. */
export const RESTORE_CONTENTS = `
DO $$
DECLARE each record;
BEGIN
  IF EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend')
    THEN RAISE 'the database is in use';
  END IF;
  IF EXISTS ((${TABLES}) EXCEPT SELECT name FROM remembered."all tables")
    THEN RAISE 'the database has other tables';
  END IF;
  -- Without triggers and references, in any order.
  SET LOCAL session_replication_role = replica;
  -- A table without pages has no rows. Most have none, and each statement is planned anew.
  FOR each IN SELECT name FROM remembered."all tables" WHERE pg_relation_size(name::regclass) > 0 LOOP
    EXECUTE format('DELETE FROM %s', each.name);
  END LOOP;
  FOR each IN SELECT name FROM remembered."all tables" WHERE pg_relation_size(('remembered.' || name)::regclass) > 0 LOOP
    EXECUTE format('INSERT INTO %s OVERRIDING SYSTEM VALUE SELECT * FROM remembered.%s', each.name, each.name);
  END LOOP;
  PERFORM setval(name, value, is_called) FROM remembered."all sequences";
END $$`;

/** What a node has in memory too: who it is, and numbers that only grow. */
const KEPT = ['installation', 'change_counter', 'event_counter', 'idempotency_partition', 'committers', 'nodes'];

/**
 * Removes all records and accounts while nodes are open, as one more client would: the node is told of it by the change counter. Numbers
 * are not given out again, so nothing that a node remembers of an account is true of another one.
 */
export const REMOVE_ALL_RECORDS = `
DO $$
DECLARE each record;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR each IN SELECT name FROM remembered."all tables" WHERE pg_relation_size(name::regclass) > 0 AND name NOT IN ('${KEPT.join("', '")}') LOOP
    EXECUTE format('DELETE FROM %s', each.name);
  END LOOP;
  UPDATE change_counter SET number = number + 1, token = gen_random_uuid()::text;
END $$`;
