import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { CountColumns } from '../../../src/core/verificationCounts.ts';
import { MIGRATIONS, SCHEMA_VERSION } from '../../../src/storage/postgres/schema/migrate.ts';
import { VirtualClock } from '../../support/clock.ts';
import { filled, madeByV1 } from './madeByV1.ts';
import { open, postgresServer } from './postgres.ts';
import { credits, EVERY_KEY, found, key, spendOf, verificationCount } from './samples.ts';

setDefaultTimeout(60_000);

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

  test('is closed to programs that do not know of fences', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    await (await open(url, new VirtualClock('2026-03-15T12:00:00Z'))).close();
    expect(await server.query(`SELECT value FROM installation WHERE name = 'schema_compatible_from'`, name)).toEqual([
      { value: '4' },
    ]);
    await server.dropDatabase(url);
  });
});

/** As the program of schema version 2 adds one valid verification to the sums. */
const addAsV2 = (keyId: string): string =>
  [0, 1, 2]
    .map(
      (span) => `
  INSERT INTO key_tallies (span, time_ms, api_id, key_id, identity_id, tags, valid, not_found, forbidden, disabled, expired,
    insufficient_permissions, rate_limited, usage_exceeded)
  VALUES (${span}, ${verificationCount().minuteMs}, 'api_1', '${keyId}', '', '', 1, 0, 0, 0, 0, 0, 0, 0)
  ON CONFLICT (span, time_ms, api_id, key_id, identity_id, tags) DO UPDATE SET valid = key_tallies.valid + excluded.valid;
  INSERT INTO api_tallies (span, time_ms, api_id, tags, valid, not_found, forbidden, disabled, expired,
    insufficient_permissions, rate_limited, usage_exceeded)
  VALUES (${span}, ${verificationCount().minuteMs}, 'api_1', '', 1, 0, 0, 0, 0, 0, 0, 0)
  ON CONFLICT (span, time_ms, api_id, tags) DO UPDATE SET valid = api_tallies.valid + excluded.valid;`,
    )
    .join('');

describe('a PostgreSQL database of schema version 2', () => {
  test('keeps its counts, and counts of programs of both versions add up', async () => {
    const server = await postgresServer();
    const { url, name } = await madeByV1(server);
    const [, second] = MIGRATIONS;
    await server.query(`${second?.sql};${second?.indexes}`, name);
    await server.query(
      `UPDATE installation SET value = '2' WHERE name = 'schema_version';
       INSERT INTO installation VALUES ('indexes_version', '2'), ('words_filled_to', '')`,
      name,
    );
    await server.query(addAsV2('key_1'), name);
    const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
    const sums = async (): Promise<unknown[]> => {
      const query = { apiId: 'api_1', keyIds: null, identityIds: null, fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER };
      const spans = ['minute', 'hour', 'day'] as const;
      const asked = spans.flatMap((span) => [
        storage.analytics.sum({ ...query, span, groupBy: [] }),
        storage.analytics.sum({ ...query, span, keyIds: ['key_1'], groupBy: [] }),
      ]);
      return (await Promise.all(asked)).map(([row]) => row?.counts[0]);
    };
    try {
      expect(await sums()).toEqual([1, 1, 1, 1, 1, 1]);
      await storage.analytics.add(CountColumns.of([verificationCount()]), 1);
      await server.query(addAsV2('key_1'), name);
      await server.query(addAsV2('key_2'), name);
      expect(await sums()).toEqual([4, 3, 4, 3, 4, 3]);
      expect(await storage.analytics.fold()).toBe(true);
      await server.query(addAsV2('key_2'), name);
      expect(await sums()).toEqual([5, 3, 5, 3, 5, 3]);
    } finally {
      await storage.close();
      await server.dropDatabase(url);
    }
  });
});
