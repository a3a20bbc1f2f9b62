import { expect, setDefaultTimeout, test } from 'bun:test';
import { Client } from 'pg';

import { SCHEMA_VERSION } from '../../src/storage/postgres/schema/schema.ts';
import { KeystileNode } from '../../tools/cluster/node.ts';
import { PostgresServer } from '../../tools/cluster/postgres.ts';
import { until } from '../../tools/cluster/wait.ts';
import { NextProgram } from '../process/nextProgram.ts';

setDefaultTimeout(60_000);

/** The test holds this lock for as long as the index is being built. */
const TEST_LOCK = 4_711;
const INDEX_OF_COUNTERS = {
  compatibleFrom: SCHEMA_VERSION,
  sql: 'ALTER TABLE accounts ADD COLUMN note text',
  indexes: `CREATE INDEX keys_by_name ON keys (name); CREATE INDEX accounts_by_note ON accounts (note);
    SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(${TEST_LOCK})`,
};

const isBeingBuilt = `SELECT 1 FROM pg_locks WHERE relation = 'accounts'::regclass AND mode = 'ShareLock' AND granted`;

test('while an index of the exact counters is built, an older node verifies and reads; what is refused has changed nothing', async () => {
  await using postgres = await PostgresServer.start();
  using next = new NextProgram();
  next.addToShared(INDEX_OF_COUNTERS);
  const holder = new Client(postgres.url());
  await holder.connect();
  try {
    await holder.query(`SELECT pg_advisory_lock(${TEST_LOCK})`);
    await using older = await KeystileNode.start({ databaseUrl: postgres.url(), location: 'older' });
    const { apiId } = (await older.call('/v1/apis.createApi', { name: 'index' })).body;
    const make = async (fields: object) =>
      (await older.call('/v1/keys.createKey', { apiId, ...fields })).body as { key: string; keyId: string };
    const [plain, counted] = [await make({}), await make({ remaining: 10 })];
    expect((await older.verify({ key: counted.key })).body).toMatchObject({ valid: true, remaining: 9 });

    const starting = KeystileNode.start({ databaseUrl: postgres.url(), location: 'newer', command: next.serve });
    await until('the index is being built', async () => (await postgres.query(isBeingBuilt)).length === 1);
    const spent = older.verify({ key: counted.key });
    const renamed = older.call('/v1/keys.updateKey', { keyId: plain.keyId, name: 'renamed' });
    expect((await older.verify({ key: plain.key })).body).toMatchObject({ valid: true });
    expect((await older.call('/v1/keys.getKey', { keyId: counted.keyId })).body).toMatchObject({ remaining: 9 });
    for (const refused of [spent, renamed]) {
      expect(await refused).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    }

    await holder.query(`SELECT pg_advisory_unlock(${TEST_LOCK})`);
    await using newer = await starting;
    expect((await newer.call('/v1/keys.getKey', { keyId: plain.keyId })).body).not.toHaveProperty('name');
    for (const [node, remaining] of [
      [older, 8],
      [newer, 7],
    ] as const) {
      expect((await node.verify({ key: counted.key })).body).toMatchObject({ valid: true, remaining });
    }
  } finally {
    await holder.end();
  }
});
