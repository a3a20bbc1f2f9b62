import { Client } from 'pg';

import type { PostgresServer } from '../cluster/postgres.ts';
import { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { Digester } from '../../src/bunPlatform.ts';
import { API_ID, type KeyShape, type KeysPerCustomer, ownerOf, PLAN_ID, planLimitsOf, ROOT_KEY } from './fill.ts';

/** Creates a database with `count` keys of one shape, as the service would store them. `each`: as `fillFolder` says. */
export async function fillDatabase(
  server: PostgresServer,
  count: number,
  given: KeyShape,
  each: KeysPerCustomer = 0,
): Promise<string> {
  const shape = each > 0 ? 'plain' : given;
  const url = await server.createDatabase();
  const storage = await PostgresStorage.open({
    url,
    node: 'fill',
    location: 'fill',
    version: '0',
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
    random: Math.random,
    newWorkspaceId: () => 'ws_bench',
    poolSize: 2,
    maxWaiting: 10,
    idempotencyRetentionMs: 3_600_000,
    staleMaxMs: 1000,
    observe: { committed() {}, refused() {} },
  });
  await storage.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const limit = (account: string): string =>
    `'[{"name":"default","limit":1999999999,"durationMs":2592000000,"async":${shape === 'local'},"account":' || ${account} || '}]'`;
  const credits = shape === 'credits' ? `'{"account":' || i || ',"refill":null}'` : 'NULL';
  const limits = shape === 'credits' || shape === 'plain' ? 'NULL' : limit(shape === 'strict' ? 'i' : `'null'`);
  await client.query(`INSERT INTO apis (id, name, created_at_ms) VALUES ($1, 'bench', 0)`, [API_ID]);
  await client.query(
    `INSERT INTO root_keys (id, secret_digest, start, rights, created_at_ms) VALUES ('rk_1', $1, 'root', '["*"]', 0)`,
    [new Digester(null).digest(ROOT_KEY)],
  );
  await client.query(
    `INSERT INTO keys (id, api_id, secret_digest, start, enabled, credits, credits_account, limits, created_at_ms, revision)
     SELECT 'key_' || lpad(n::text, 22, '0'), '${API_ID}',
       encode(sha256(convert_to('demo_' || lpad(n::text, 28, '0'), 'UTF8')), 'base64'), 'demo_', 1,
       ${credits}, ${shape === 'credits' ? 'i' : 'NULL::bigint'}, ${limits}, 0, 1
     FROM (SELECT n, n + 1 AS i FROM generate_series(0, $1::int - 1) n) s`,
    [count],
  );
  if (shape === 'credits' || shape === 'strict') {
    await client.query(
      `INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision, base, segment_ms)
       SELECT i, $2, $3::bigint, 0, 0, 1, $3::bigint, $4::bigint FROM generate_series(1, $1::int) i`,
      [count, shape === 'credits' ? 0 : 1, shape === 'credits' ? 2_000_000_000 : 0, Date.now()],
    );
  }
  if (each > 0) await insertHolders(client, given, each);
  await client.query('VACUUM ANALYZE');
  await client.end();
  return url;
}

async function insertHolders(client: Client, shape: KeyShape, each: KeysPerCustomer): Promise<void> {
  const isCounted = shape === 'credits';
  await client.query(
    `INSERT INTO plans (id, name, remaining, metered, refills, limits, created_at_ms, revision)
     VALUES ($1, 'bench', $2, 0, '[{"fromMs":0,"rule":null}]', $3, 0, 1)`,
    [PLAN_ID, isCounted ? 2_000_000_000 : null, planLimitsOf(shape)],
  );
  const credits = isCounted ? `'{"account":' || i || ',"refill":null,"ofPlan":true}', i` : 'NULL, NULL::bigint';
  await client.query(`INSERT INTO identities
      (id, external_id, enabled, plan_id, credits, credits_account, created_at_ms, revision)
    SELECT owner, owner, 1, '${PLAN_ID}', ${credits}, 0, 1
    FROM (SELECT owner, row_number() OVER (ORDER BY owner) AS i FROM (SELECT DISTINCT ${ownerOf(each)} AS owner FROM keys) o) s`);
  await client.query(`UPDATE keys SET identity_id = ${ownerOf(each)}`);
  if (!isCounted) return;
  await client.query(`INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision, base, segment_ms)
    SELECT credits_account, 0, 2000000000, 0, 0, 1, 2000000000, ${Date.now()} FROM identities`);
}
