import { MIGRATIONS } from '../../../src/storage/postgres/schema/migrate.ts';
import type { PostgresStorage } from '../../../src/storage/postgres/storage.ts';
import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { until } from '../../../tools/cluster/wait.ts';

/** A key with a counter of 5, as the program of schema version 1 wrote it. */
export const insertAsV1 = (id: string, account: number): string => `
  INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision) VALUES (${account}, 0, 5, 0, 0, 1);
  INSERT INTO keys (id, api_id, identity_id, secret_digest, start, name, meta, environment, enabled, expires_at_ms,
    credits, credits_account, limits, ip_allowlist, created_at_ms, updated_at_ms, deleted_at_ms, revision)
  VALUES ('${id}', 'api_1', NULL, 'digest of ${id}', 'sk_1234', 'Old Name', '{"plan":"free"}', NULL, 1, NULL,
    '{"account":${account},"refill":null}', ${account}, NULL, NULL, 3000, NULL, NULL, 1);
  WITH next AS (UPDATE change_counter SET number = number + 1 RETURNING number)
  INSERT INTO changes (number, at_ms, keys, root_keys) SELECT number, 1, ARRAY['digest of ${id}'], false FROM next;`;

/** A database that the program of schema version 1 has made, with one key in it. */
export async function madeByV1(server: PostgresServer): Promise<{ url: string; name: string }> {
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

/** Puts the keys of version 1 into the index of words. */
export async function filled(storage: PostgresStorage): Promise<void> {
  await until('all keys are in the index of words', () => storage.fillWords());
}
