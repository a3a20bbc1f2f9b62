import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { Client } from 'pg';

import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { migrate, SCHEMA_VERSION } from '../../../src/storage/postgres/schema/migrate.ts';
import { madeByV1 } from './madeByV1.ts';
import { postgresServer } from './postgres.ts';

setDefaultTimeout(60_000);

const UPGRADE = { newWorkspaceId: () => 'ws_new', upgrades: true };

async function versionIn(server: PostgresServer, database: string): Promise<unknown> {
  const [row] = await server.query(`SELECT value FROM installation WHERE name = 'schema_version'`, database);
  return row?.['value'];
}

/** Sessions that wait for a table. */
async function waitingIn(server: PostgresServer, database: string): Promise<number> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock' AND wait_event = 'relation'`;
  return (await server.query(waiting)).length;
}

/** Beside a transaction that has read keys, and is open. */
async function besideReader(work: (reader: Client, upgrading: Client, name: string) => Promise<void>): Promise<void> {
  const server = await postgresServer();
  const { url, name } = await madeByV1(server);
  const [reader, upgrading] = [new Client(url), new Client(url)];
  await Promise.all([reader.connect(), upgrading.connect()]);
  try {
    await work(reader, upgrading, name);
  } finally {
    await Promise.all([reader.end(), upgrading.end()]);
    await server.dropDatabase(url);
  }
}

describe('an upgrade', () => {
  test('gives way to what holds its tables: others wait no longer than a try, and a later try gets through', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    const [dump, upgrading] = [new Client(url), new Client(url)];
    await Promise.all([dump.connect(), upgrading.connect()]);
    try {
      await dump.query('BEGIN; LOCK TABLE keys IN ACCESS SHARE MODE');
      const upgraded = migrate(upgrading, { ...UPGRADE, patience: { lockTimeoutMs: 200, tries: 100, pauseMs: 200 } });
      await until('the upgrade waits for a lock', async () => (await waitingIn(server, name)) === 1);
      // Queues behind the upgrade, which would wait for the dump for ever.
      expect(await server.query('SELECT id FROM keys', name)).toEqual([{ id: 'key_1' }]);
      expect(await versionIn(server, name)).toBe('1');
      await dump.query('COMMIT');
      await upgraded;
      expect(await versionIn(server, name)).toBe(String(SCHEMA_VERSION));
    } finally {
      await Promise.all([dump.end(), upgrading.end()]);
      await server.dropDatabase(url);
    }
  });

  test('that never gets its locks says why, and changes nothing', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    const [dump, upgrading] = [new Client(url), new Client(url)];
    await Promise.all([dump.connect(), upgrading.connect()]);
    try {
      await dump.query('BEGIN; LOCK TABLE keys IN ACCESS SHARE MODE');
      const upgraded = migrate(upgrading, { ...UPGRADE, patience: { lockTimeoutMs: 50, tries: 3, pauseMs: 1 } });
      expect(await upgraded.catch(String)).toBe(
        'StorageUnavailable: The schema of the database cannot be upgraded: another transaction (a dump?) held its tables in 3 tries of 50 ms. Start again when it has ended.',
      );
      expect(await versionIn(server, name)).toBe('1');
      expect(await server.query('SELECT * FROM apis', name)).toEqual([
        { id: 'api_1', name: 'old', created_at_ms: '1000' },
      ]);
    } finally {
      await Promise.all([dump.end(), upgrading.end()]);
      await server.dropDatabase(url);
    }
  });

  test('that waits for the keys holds nothing that a lookup needs after them', async () => {
    await besideReader(async (reader, upgrading, name) => {
      await reader.query('BEGIN; SELECT id FROM keys');
      const patience = { lockTimeoutMs: 30_000, tries: 1, pauseMs: 1 };
      const upgraded = migrate(upgrading, { ...UPGRADE, patience });
      const server = await postgresServer();
      await until('the upgrade waits for a lock', async () => (await waitingIn(server, name)) === 1);
      for (const table of ['identities', 'apis', 'changes']) await reader.query(`SELECT * FROM ${table}`);
      expect(await waitingIn(server, name)).toBe(1);
      await reader.query('COMMIT');
      await upgraded;
    });
  });

  test('builds the indexes while keys are read, also when it was ended before it came to them', async () => {
    await besideReader(async (reader, upgrading) => {
      const patience = { lockTimeoutMs: 1_000, tries: 1, pauseMs: 1 };
      await migrate(upgrading, { ...UPGRADE, patience });
      await upgrading.query(`DROP INDEX keys_of_generation, keys_of_owner, keys_by_start, identities_by_credits, changes_by_time;
        DROP INDEX key_tallies_of_key;
        CREATE INDEX key_tallies_of_api ON key_tallies (api_id);
        CREATE INDEX key_tallies_by_time ON key_tallies (span);
        DELETE FROM installation WHERE name = 'indexes_version'`);
      await reader.query('BEGIN; SELECT id FROM keys; SELECT id FROM identities; SELECT number FROM changes');
      await migrate(upgrading, { ...UPGRADE, patience });
      const { rows } = await upgrading.query(`SELECT indexname FROM pg_indexes WHERE indexname LIKE 'keys\\_%'`);
      const names = rows.map(({ indexname }: { indexname: string }) => indexname);
      expect(names).toEqual(expect.arrayContaining(['keys_of_generation', 'keys_of_owner', 'keys_by_start']));
    });
  });
});
