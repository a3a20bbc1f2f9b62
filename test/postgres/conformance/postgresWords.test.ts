import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { Client } from 'pg';

import { VirtualClock } from '../../support/clock.ts';
import { filled, madeByV1 } from './madeByV1.ts';
import { open, postgresServer } from './postgres.ts';
import { EVERY_KEY } from './samples.ts';

setDefaultTimeout(60_000);

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
