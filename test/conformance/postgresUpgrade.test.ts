import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { Client } from 'pg';

import type { PostgresServer } from '../../cluster/postgres.ts';
import { until } from '../../cluster/wait.ts';
import type { FeedChange } from '../../src/storage/feedPort.ts';
import { migrate, MIGRATIONS, SCHEMA_VERSION } from '../../src/storage/postgres/schema.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { VirtualClock } from '../harness/clock.ts';
import { open, postgresServer } from './postgres.ts';
import { credits, EVERY_KEY, found, key, spendOf, write } from './samples.ts';

setDefaultTimeout(60_000);

/** A key with a counter of 5, as the program of schema version 1 wrote it. */
const insertAsV1 = (id: string, account: number): string => `
  INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision) VALUES (${account}, 0, 5, 0, 0, 1);
  INSERT INTO keys (id, api_id, identity_id, secret_digest, start, name, meta, environment, enabled, expires_at_ms,
    credits, credits_account, limits, ip_allowlist, created_at_ms, updated_at_ms, deleted_at_ms, revision)
  VALUES ('${id}', 'api_1', NULL, 'digest of ${id}', 'sk_1234', 'Old Name', '{"plan":"free"}', NULL, 1, NULL,
    '{"account":${account},"refill":null}', ${account}, NULL, NULL, 3000, NULL, NULL, 1);
  WITH next AS (UPDATE change_counter SET number = number + 1 RETURNING number)
  INSERT INTO changes (number, at_ms, keys, root_keys) SELECT number, 1, ARRAY['digest of ${id}'], false FROM next;`;

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

/** A database that the program of schema version 1 has made, with one key in it. */
async function madeByV1(server: PostgresServer): Promise<{ url: string; name: string }> {
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  const made = `CREATE TABLE installation (name text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);
    INSERT INTO installation VALUES ('schema_version', '1'), ('schema_compatible_from', '1'), ('workspace_id', 'ws_old');
    ${MIGRATIONS[0]?.sql ?? ''}
    INSERT INTO apis (id, name, created_at_ms) VALUES ('api_1', 'old', 1000);
    SELECT setval('account_numbers', 100);`;
  await server.query(made, name);
  await server.query(insertAsV1('key_1', 1), name);
  return { url, name };
}

async function filled(storage: PostgresStorage): Promise<void> {
  await until('all keys are in the index of words', () => storage.fillWords());
}

const asV1 = (id: string, account: number) =>
  found(key(id, { credits: { account, refill: null }, name: 'Old Name', meta: '{"plan":"free"}' }));

describe('a PostgreSQL database of schema version 1', () => {
  test('is brought to the present version with everything that is in it', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
    try {
      expect(storage.workspaceId).toBe('ws_old');
      expect(await server.query(`SELECT value FROM installation WHERE name = 'schema_version'`, name)).toEqual([
        { value: String(SCHEMA_VERSION) },
      ]);
      expect(await storage.records.findKeysByDigest(['digest of key_1'])).toEqual([asV1('key_1', 1)]);
      expect((await storage.records.listKeys(EVERY_KEY)).items).toEqual([asV1('key_1', 1)]);
      await filled(storage);
      for (const search of ['old', 'free', 'sk_']) {
        expect((await storage.records.listKeys({ ...EVERY_KEY, search })).total).toBe(1);
      }
      expect(await storage.records.findApi('api_1')).toMatchObject({ name: 'old', generation: 0, revision: 0 });
      expect(await storage.ledger.spend(spendOf(credits(1, 2)))).toMatchObject({
        status: 'taken',
        legs: [{ left: 3 }],
      });
    } finally {
      await storage.close();
      await server.dropDatabase(url);
    }
  });

  test('is served by programs of both versions at the same time: what the older one writes is seen', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
    const heard: FeedChange[] = [];
    storage.feed.onChange((change) => heard.push(change));
    try {
      await server.query(insertAsV1('key_2', 2), name);
      await until('the change is heard of', async () => heard.length > 0);
      const nothing = { apis: [], identities: [], namespaces: [], rbac: false, rootKeys: false };
      expect(heard).toEqual([{ ...nothing, keys: ['digest of key_2'] }]);
      expect(await storage.records.findKey('key_2')).toEqual(asV1('key_2', 2));
      expect((await write(storage, { kind: 'insertKey', key: key('key_3') })).status).toBe('done');
      const rows = await server.query('SELECT number, keys, root_keys FROM changes ORDER BY number', name);
      expect(rows.map(({ keys }) => keys)).toEqual([['digest of key_1'], ['digest of key_2'], ['digest of key_3']]);
      const [opened] = await server.query(`SELECT ledger_open_window_v1('key_1', 'a', 60000, 1, 100) AS account`, name);
      expect(Number(opened?.['account'])).toBeGreaterThan(100);
    } finally {
      await storage.close();
      await server.dropDatabase(url);
    }
  });

  test('what holds its tables is given way to: others wait no longer than a try, and a later try gets through', async () => {
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

  test('an upgrade that never gets its locks says why, and changes nothing', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    const [dump, upgrading] = [new Client(url), new Client(url)];
    await Promise.all([dump.connect(), upgrading.connect()]);
    try {
      await dump.query('BEGIN; LOCK TABLE keys IN ACCESS SHARE MODE');
      const upgraded = migrate(upgrading, { ...UPGRADE, patience: { lockTimeoutMs: 50, tries: 3, pauseMs: 1 } });
      await expect(upgraded).rejects.toThrow(
        'The schema of the database cannot be upgraded: another transaction (a dump?) held its tables in 3 tries of 50 ms. Nothing was changed; start again when it has ended.',
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
});

describe('the words of keys from schema version 1', () => {
  test('are put into the index after the start, in steps, by several nodes at once, and totals follow', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    await server.query(
      `INSERT INTO keys (id, api_id, secret_digest, start, name, enabled, created_at_ms, revision)
       SELECT 'key_x' || i, 'api_1', 'digest ' || i, 'sk_1', 'Bulk ' || i, 1, 3000, 1 FROM generate_series(1, 1200) i`,
      name,
    );
    const clock = new VirtualClock('2026-03-15T12:00:00Z');
    const nodes = await Promise.all([open(url, clock), open(url, clock)]);
    const totals = (search: string) =>
      Promise.all(nodes.map(async ({ records }) => (await records.listKeys({ ...EVERY_KEY, search, limit: 1 })).total));
    try {
      expect(await totals('bulk')).toEqual([0, 0]);
      expect(await nodes[0].fillWords()).toBe(false);
      // key_1 is the first of the 500.
      expect(await totals('bulk')).toEqual([499, 499]);
      await Promise.all(nodes.map(filled));
      expect(await totals('bulk')).toEqual([1200, 1200]);
      expect(await totals('old')).toEqual([1, 1]);
      expect(await server.query(`SELECT value FROM installation WHERE name = 'words_filled_to'`, name)).toEqual([]);
    } finally {
      await Promise.all(nodes.map((node) => node.close()));
      await server.dropDatabase(url);
    }
  });

  test('are those of its new name when a key is renamed while its step is under way', async () => {
    const server = await postgresServer();
    const { url } = await madeByV1(server);
    const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
    const renaming = new Client(url);
    await renaming.connect();
    const total = async (search: string) => (await storage.records.listKeys({ ...EVERY_KEY, search })).total;
    try {
      await renaming.query(`BEGIN; UPDATE keys SET name = 'Fresh', revision = 2 WHERE id = 'key_1';
        INSERT INTO key_words (api_id, word, key_id) VALUES ('api_1', 'fresh', 'key_1')`);
      expect(await storage.fillWords()).toBe(false);
      await renaming.query('COMMIT');
      await filled(storage);
      expect([await total('old'), await total('fresh'), await total('free')]).toEqual([0, 1, 1]);
    } finally {
      await renaming.end();
      await storage.close();
      await server.dropDatabase(url);
    }
  });

  test('a database that was made by this version has none to fill', async () => {
    const server = await postgresServer();
    const url = await server.createDatabase();
    const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
    try {
      expect(await storage.fillWords()).toBe(true);
    } finally {
      await storage.close();
      await server.dropDatabase(url);
    }
  });
});
