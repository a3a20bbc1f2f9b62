import { Client } from 'pg';

import { migrate, type MigrateOptions, type Migration } from '../../../../src/storage/postgres/schema/migrate.ts';
import { MIGRATIONS } from '../../../../src/storage/postgres/schema/schema.ts';
import type { PostgresServer } from '../../../../tools/cluster/postgres.ts';
import { postgresServer } from '../postgres.ts';

export const [FIRST] = MIGRATIONS as [Migration];
/** A version that does not exist: what a next one could look like. */
export const SECOND: Migration = {
  compatibleFrom: 1,
  sql: `ALTER TABLE keys ADD COLUMN note text NOT NULL DEFAULT 'none'`,
  indexes: 'CREATE INDEX keys_by_note ON keys (note)',
};

export const OLD: MigrateOptions = { migrations: [FIRST], newWorkspaceId: () => 'ws_old', upgrades: true };
export const NEW: MigrateOptions = { migrations: [FIRST, SECOND], newWorkspaceId: () => 'ws_new', upgrades: true };

export interface Setup {
  readonly server: PostgresServer;
  readonly database: string;
  /** The node that migrates. */
  readonly node: Client;
  /** Another session. */
  readonly other: Client;
}

/** A database of the first version with one key. */
export async function withOldDatabase(work: (setup: Setup) => Promise<void>): Promise<void> {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const [node, other] = [new Client(url), new Client(url)];
  // A connection that the server ends says so to its query.
  node.on('error', () => {});
  await Promise.all([node.connect(), other.connect()]);
  try {
    await migrate(node, OLD);
    await other.query(`INSERT INTO keys (id, api_id, secret_digest, start, enabled, created_at_ms, revision)
      VALUES ('key_1', 'api_1', 'digest', 'sk_1', 1, 3000, 1)`);
    await work({ server, database: new URL(url).pathname.slice(1), node, other });
  } finally {
    await Promise.all([node.end(), other.end()]);
    await server.dropDatabase(url);
  }
}

export async function installationIn({ server, database }: Setup): Promise<Record<string, unknown>> {
  const rows = await server.query('SELECT name, value FROM installation', database);
  return Object.fromEntries(rows.map(({ name, value }) => [String(name), value]));
}

export async function hasIndex({ server, database }: Setup): Promise<boolean> {
  return (await server.query(`SELECT 1 FROM pg_indexes WHERE indexname = 'keys_by_note'`, database)).length === 1;
}

/** Sessions that wait for a table. */
export async function waitingIn({ server, database }: Setup): Promise<number> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock' AND wait_event = 'relation'`;
  return (await server.query(waiting)).length;
}

export const OLD_VERSION = {
  schema_series: '0.1-h',
  schema_version: '1',
  schema_compatible_from: '1',
  indexes_version: '1',
  workspace_id: 'ws_old',
};
export const NEW_VERSION = { ...OLD_VERSION, schema_version: '2', indexes_version: '2' };
