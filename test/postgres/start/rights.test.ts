import { afterAll, beforeAll, expect, test } from 'bun:test';

import { WrongServer } from '../../../src/storage/postgres/connection/wrongServer.ts';
import { SCHEMA_NAMES } from '../../../src/storage/postgres/schema/schema.ts';
import { grantsTo } from '../../../src/storage/postgres/schema/tableRights.ts';
import { openStorage } from '../../support/cluster/faultLab.ts';
import { KeystileNode } from '../../../tools/cluster/node.ts';
import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { expectRefused, Starts } from './starts.ts';

let starts: Starts;
let server: PostgresServer;

beforeAll(async () => {
  starts = await Starts.prepare();
  server = starts.server;
});

afterAll(async () => {
  await server.query(
    'DROP ROLE IF EXISTS start_one_less, start_without_rights, start_not_owner, start_some_rights, start_no_schema, start_enough_rights',
  );
});

test.concurrent('a user who may not make tables is refused', async () => {
  await server.query('CREATE ROLE start_without_rights LOGIN');
  const user = 'start_without_rights';
  await expectRefused(
    starts.urlOf({ user }),
    /^The database cannot be prepared \(.*public.* \[42501\]\)\. Connect as .*\. In an empty database, give this role the right to create tables\.$/m,
  );
});

test.concurrent('so is one who may make tables, and does not own those that are there', async () => {
  const database = await starts.prepared();
  await server.query('CREATE ROLE start_not_owner LOGIN');
  await server.query('GRANT CREATE ON SCHEMA public TO start_not_owner', database);
  await expectRefused(
    starts.urlOf({ user: 'start_not_owner', database }),
    /^The database cannot be prepared \(.*installation.* \[42501\]\)\. Connect as the role that owns the tables\. /m,
  );
  await server.query('DROP OWNED BY start_not_owner', database);
});

test.concurrent('so is one who lacks one of the rights that a node uses', async () => {
  const database = await starts.prepared();
  const role = 'start_some_rights';
  await server.query(`CREATE ROLE ${role} LOGIN`);
  await server.query(`GRANT CREATE ON SCHEMA public TO ${role}`, database);
  for (const kind of ['TABLES', 'SEQUENCES'])
    await server.query(`GRANT ALL ON ALL ${kind} IN SCHEMA public TO ${role}`, database);
  const [fn] = await server.query(
    `SELECT oid::regprocedure::text AS signature FROM pg_proc WHERE proname = 'ledger_open_window_v1'`,
    database,
  );
  // The last one is told first, and the ones before it stay.
  for (const [revoked, told] of [
    [`EXECUTE ON FUNCTION ${String(fn?.['signature'])} FROM PUBLIC`, 'call the function ledger_open_window_v1'],
    [`ALL ON SEQUENCE account_numbers FROM ${role}`, 'use the sequence account_numbers'],
    [`TRUNCATE ON idempotency_1 FROM ${role}`, 'truncate the table idempotency_1'],
    [`UPDATE ON sessions FROM ${role}`, 'read and write the table sessions'],
    [`DELETE ON accounts FROM ${role}`, 'read and write the table accounts'],
  ]) {
    await server.query(`REVOKE ${revoked}`, database);
    await expectRefused(
      starts.urlOf({ user: role, database }),
      new RegExp(`^The role ${role} may not ${told}\\. Connect as the role that owns the tables\\.$`, 'm'),
    );
  }
  await server.query(`DROP OWNED BY ${role}`, database);
});

test.concurrent('the rights on all tables and functions are looked at, and on no others', async () => {
  const database = await starts.prepared();
  const namesIn = async (sql: string) =>
    (await server.query(sql, database)).map((row) => String(row['name'])).toSorted();
  const tables = await namesIn(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`);
  const functions = await namesIn(`SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace`);
  expect(tables).toEqual(SCHEMA_NAMES.tables.toSorted());
  expect(functions).toEqual(SCHEMA_NAMES.functions.toSorted());
});

/** A database where nobody but the owner has a right. */
async function closed(): Promise<string> {
  const database = await starts.prepared();
  await server.query('REVOKE ALL ON SCHEMA public FROM PUBLIC', database);
  await server.query('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC', database);
  return database;
}

test.concurrent('each right that docs/scaling.md grants is needed', async () => {
  const database = await closed();
  const role = 'start_one_less';
  await server.query(`CREATE ROLE ${role} LOGIN`);
  const grants = grantsTo(role);
  const open = () => openStorage(starts.urlOf({ user: role, database })).then(async (storage) => storage.close());
  for (const left of grants) {
    for (const grant of grants) if (grant !== left) await server.query(grant, database);
    const refusal = await open().catch((error: unknown) => error);
    expect([left, refusal]).toEqual([left, expect.any(WrongServer)]);
    await server.query(`DROP OWNED BY ${role}`, database);
  }
});

test.concurrent('the rights that docs/scaling.md grants are enough, and what others have in the same schema does not matter', async () => {
  const database = await closed();
  const role = 'start_enough_rights';
  await server.query(`CREATE ROLE ${role} LOGIN`);
  for (const grant of grantsTo(role)) await server.query(grant, database);
  await server.query(`CREATE TABLE of_others (id integer)`, database);
  await server.query(`CREATE FUNCTION ledger_post() RETURNS integer LANGUAGE sql AS 'SELECT 1'`, database);
  await server.query(`REVOKE EXECUTE ON FUNCTION ledger_post() FROM PUBLIC`, database);
  {
    await using node = await KeystileNode.start({
      databaseUrl: starts.urlOf({ user: role, database }),
      location: 'enough',
    });
    const { apiId } = (await node.call('/v1/apis.createApi', { name: 'enough' })).body as { apiId: string };
    const { key } = (await node.call('/v1/keys.createKey', { apiId, remaining: 5 })).body as { key: string };
    const ratelimits = [{ name: 'own', limit: 9, duration: 60_000, async: false }];
    const asked = { key, idempotencyKey: 'order-0001', ratelimits };
    expect((await node.call('/v1/keys.verifyKey', asked)).body).toMatchObject({ valid: true, remaining: 4 });
    for (const [path, body] of [
      ['/v1/webhooks.listWebhooks', {}],
      ['/v1/ratelimits.limit', { namespace: 'mail', identifier: 'a', limit: 5, duration: 60_000, async: false }],
      ['/v1/events.listEvents', {}],
      ['/v1/audit.listEntries', {}],
      ['/v1/apis.deleteApi', { apiId }],
    ] as const)
      expect([path, (await node.call(path, body)).status]).toEqual([path, 200]);
  }
  await server.query(`DROP OWNED BY ${role}`, database);
});

test.concurrent('so is one who may use no schema', async () => {
  const database = await starts.prepared();
  await server.query('CREATE ROLE start_no_schema LOGIN');
  await server.query('REVOKE ALL ON SCHEMA public FROM PUBLIC', database);
  await expectRefused(
    starts.urlOf({ user: 'start_no_schema', database }),
    /^The role start_no_schema can use no schema of its search_path \(.*public\): there is none, or it has no right on it\. Connect as the role that owns the tables\. /m,
  );
});
