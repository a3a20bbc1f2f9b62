import { afterAll, beforeAll, expect, test } from 'bun:test';

import { VERSION } from '../../../src/version.ts';
import { KeystileNode } from '../../../tools/cluster/node.ts';
import { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { examined } from '../../process/cli/doctorRun.ts';
import { openStorage } from '../../support/cluster/faultLab.ts';
import { ROOT_KEY } from '../../process/server.ts';

let postgres: PostgresServer;
let node: KeystileNode;

beforeAll(async () => {
  postgres = await PostgresServer.start({ settings: { fsync: 'on', max_connections: '60' } });
  node = await KeystileNode.start({ databaseUrl: postgres.url(), location: 'eu' });
});
afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
});

function settings(more: Record<string, string> = {}): Record<string, string> {
  const fixed = { KEYSTILE_METRICS_PORT: '0', KEYSTILE_MAX_CONNECTIONS: '100' };
  return { ...fixed, KEYSTILE_DATABASE_URL: postgres.url(), KEYSTILE_PORT: String(node.port), ...more };
}

/** What only a data folder has, or a service with TLS. */
const NOT_HERE = ['backups', 'certificate', 'data-folder', 'copied-database', 'disk', 'write-ahead-log'];

/** A row of the list of nodes, of a node that is well but for `changes`. */
function otherNode(changes: Record<string, string>): string {
  const columns: Record<string, string> = {
    id: `'node_other'`,
    location: `'us'`,
    version: `'${VERSION}'`,
    schema_version: '1',
    started_at_ms: '1',
    seen_at_ms: 'ledger_now_v1(NULL)',
    sync_lag_ms: '1',
    freshness_age_ms: '1',
    clock_offset_ms: '1',
    ...changes,
  };
  return `INSERT INTO nodes (${Object.keys(columns).join(', ')}) VALUES (${Object.values(columns).join(', ')})`;
}

const NO_OTHER = `DELETE FROM nodes WHERE id = 'node_other'`;
const WORKING = 'UPDATE root_keys SET revoked_at_ms = NULL, expires_at_ms = NULL';

/** What breaks a check, the statement that mends it, and what is told. */
const HARMS: readonly (readonly [name: string, tells: string, harm: string, mend: string])[] = [
  ['nodes', 'us (node_other, last seen', otherNode({ seen_at_ms: 'ledger_now_v1(NULL) - 60000' }), NO_OTHER],
  ['freshness', 'us (5000 ms)', otherNode({ freshness_age_ms: '5000' }), NO_OTHER],
  ['local-counts', 'us (60 seconds ago)', otherNode({ sync_lag_ms: '60000' }), NO_OTHER],
  ['versions', '9.9.9', otherNode({ version: `'9.9.9'` }), NO_OTHER],
  ['clocks', 'us (9000 ms behind)', otherNode({ clock_offset_ms: '9000' }), NO_OTHER],
  [
    'moved',
    'An import into this database is not finished.',
    `INSERT INTO installation VALUES ('import', '{}')`,
    `DELETE FROM installation WHERE name = 'import'`,
  ],
  ['working-root-key', 'None of the 1 root keys works', 'UPDATE root_keys SET revoked_at_ms = 1', WORKING],
  [
    'expiring-root-keys',
    'expires in 3 days',
    `UPDATE root_keys SET expires_at_ms = ledger_now_v1(NULL) + 3 * 86400000`,
    WORKING,
  ],
];

test('where all is well, nothing is found from outside, and with a root key the node tells the rest', async () => {
  const outside = await examined(settings());
  expect([outside.code, outside.with('problem'), outside.with('advice')]).toEqual([0, [], []]);
  expect(outside.with('not-checked').sort()).toEqual([...NOT_HERE, 'queue', 'tags'].sort());
  const inside = await examined(settings({ KEYSTILE_ROOT_KEY: ROOT_KEY }));
  expect([inside.code, inside.with('advice'), inside.with('not-checked').sort()]).toEqual([
    0,
    ['root-key'],
    NOT_HERE.sort(),
  ]);
});

test.each(HARMS)('%s: %s', async (name, tells, harm, mend) => {
  await postgres.query(harm);
  try {
    const found = await examined(settings());
    expect([...found.with('problem'), ...found.with('advice')]).toEqual([name]);
    expect(found.find(name)).toMatchObject({ text: expect.stringContaining(tells) });
  } finally {
    await postgres.query(mend);
  }
});

test('a schema that is too new for this program is told; a node on it would end, so there is none', async () => {
  const url = await postgres.createDatabase();
  await (await openStorage(url)).close();
  const newer = `UPDATE installation SET value = '99' WHERE name IN ('schema_version', 'schema_compatible_from')`;
  await postgres.query(newer, new URL(url).pathname.slice(1));
  const found = await examined(settings({ KEYSTILE_DATABASE_URL: url, KEYSTILE_PORT: '0' }));
  expect(found.with('problem')).toEqual(['schema']);
  expect(found.find('schema')).toMatchObject({ text: expect.stringContaining('schema version 99') });
  await postgres.dropDatabase(url);
});

test('too few connections are left for one more node', async () => {
  const found = await examined(settings({ KEYSTILE_DATABASE_POOL: '60' }));
  expect(found.with('problem')).toEqual(['database-connections']);
  expect(found.find('database-connections')).toMatchObject({ text: expect.stringContaining('a node needs 68') });
});

test('settings that lose what was answered are told with the command that changes them', async () => {
  const set = async (value: 'on' | 'off'): Promise<void> => {
    for (const name of ['fsync', 'full_page_writes']) await postgres.query(`ALTER SYSTEM SET ${name} = ${value}`);
    await postgres.query('SELECT pg_reload_conf()');
    await until('the settings are read', async () => {
      const [row] = await postgres.query(`SELECT current_setting('full_page_writes') AS value`);
      return row?.['value'] === value;
    });
  };
  await set('off');
  try {
    const found = await examined(settings({ KEYSTILE_PORT: '0' }));
    expect(found.with('problem')).toEqual(['database-settings']);
    expect(found.find('database-settings')).toMatchObject({
      text: expect.stringMatching(/fsync = off.*full_page_writes = off/),
      command: `psql "\${KEYSTILE_DATABASE_URL:?}" -c 'alter system set fsync = on' -c 'alter system set full_page_writes = on' -c 'select pg_reload_conf()'`,
    });
  } finally {
    await set('on');
  }
});

test('a standby that commits wait for is well while it is connected, and a problem when it is gone', async () => {
  await using standby = await postgres.startStandby('second');
  await postgres.synchronousWith(['second']);
  try {
    expect((await examined(settings({ KEYSTILE_PORT: '0' }))).find('standby')?.result).toBe('ok');
    const alone = await examined(settings({ KEYSTILE_DATABASE_URL: standby.url(), KEYSTILE_PORT: '0' }));
    expect(alone.find('database')).toMatchObject({ text: expect.stringContaining('accepts no writes (a standby') });
    await standby.stop();
    await until('it is gone', async () => (await postgres.query('SELECT 1 FROM pg_stat_replication')).length === 0);
    expect((await examined(settings({ KEYSTILE_PORT: '0' }))).find('standby')).toMatchObject({
      result: 'problem',
      text: expect.stringContaining('synchronous_standby_names = ANY 1 ("second")'),
    });
  } finally {
    await postgres.synchronousWith(null);
  }
});

test('an empty database stays empty', async () => {
  const url = await postgres.createDatabase();
  const found = await examined(settings({ KEYSTILE_DATABASE_URL: url, KEYSTILE_PORT: '0' }));
  expect(found.with('problem')).toEqual(['schema']);
  expect(found.find('schema')).toMatchObject({ text: expect.stringContaining('The database is empty') });
  const tables = await postgres.query(
    `SELECT 1 FROM pg_tables WHERE schemaname = 'public'`,
    new URL(url).pathname.slice(1),
  );
  expect(tables).toEqual([]);
  await postgres.dropDatabase(url);
});

const RIGHTS_FIX =
  'Set KEYSTILE_DATABASE_URL to the role that owns the tables, or grant this role the right. The command shows the rights on schemas, tables and functions, and their owners.';

test('a running node tells what the database refuses for good', async () => {
  const { apiId } = (await node.call('/v1/apis.createApi', { name: 'refused' })).body as { apiId: string };
  const { key } = (await node.call('/v1/keys.createKey', { apiId, remaining: 5 })).body as { key: string };
  const verify = async () => (await node.call('/v1/keys.verifyKey', { key })).status;
  expect(await verify()).toBe(200);
  await postgres.query('ALTER TABLE accounts RENAME TO renamed');
  try {
    expect(await verify()).toBe(503);
    // What it examined a moment ago is told again.
    await until('the node tells it', async () => {
      expect(await verify()).toBe(503);
      const found = (await examined(settings({ KEYSTILE_ROOT_KEY: ROOT_KEY }))).find('database');
      if (found?.result === 'ok') return false;
      expect(found).toMatchObject({
        text: expect.stringMatching(/^A node cannot use the database: .*accounts.*\[42P01\]/),
        fix: expect.stringContaining('The tables do not belong to Keystile'),
      });
      return true;
    });
  } finally {
    await postgres.query('ALTER TABLE renamed RENAME TO accounts');
  }
  expect(await verify()).toBe(200);
});

test('a role without rights on the tables, and tables of another program, have a fix of their own', async () => {
  const psql = 'psql "${KEYSTILE_DATABASE_URL:?}"';
  await postgres.query('CREATE ROLE doctor_without_rights LOGIN');
  const ofRole = Object.assign(new URL(postgres.url()), { username: 'doctor_without_rights' }).href;
  const denied = await examined(settings({ KEYSTILE_DATABASE_URL: ofRole, KEYSTILE_PORT: '0' }));
  expect([denied.code, denied.with('problem')]).toEqual([1, ['database']]);
  expect(denied.find('database')).toMatchObject({
    text: expect.stringMatching(/: The database refused \(.*installation.* \[42501\]\)\.$/),
    fix: RIGHTS_FIX,
    command: String.raw`${psql} -c '\dn+' -c '\dp' -c '\dt' -c '\df+ ledger_*'`,
  });
  const other = await postgres.createDatabase();
  await postgres.query('CREATE TABLE installation (id integer)', new URL(other).pathname.slice(1));
  const foreign = await examined(settings({ KEYSTILE_DATABASE_URL: other, KEYSTILE_PORT: '0' }));
  expect(foreign.with('problem')).toEqual(['database']);
  expect(foreign.find('database')).toMatchObject({
    text: expect.stringMatching(/: The database refused \(.* \[42703\]\)\.$/),
    fix: 'The tables do not belong to Keystile: check KEYSTILE_DATABASE_URL. The command lists the tables.',
    command: String.raw`${psql} -c '\dt'`,
  });
  await postgres.dropDatabase(other);
});

test('a role that can only read, or see nothing, is told before a start fails', async () => {
  const url = await postgres.createDatabase();
  const database = new URL(url).pathname.slice(1);
  await (await openStorage(url)).close();
  await postgres.query('CREATE ROLE doctor_reads LOGIN');
  const ofRole = Object.assign(new URL(url), { username: 'doctor_reads' }).href;
  const denials: readonly [changed: string, text: string][] = [
    ['REVOKE ALL ON SCHEMA public FROM PUBLIC', 'The role doctor_reads can use no schema of its search_path '],
    [
      'GRANT USAGE ON SCHEMA public TO doctor_reads; GRANT SELECT ON installation TO doctor_reads',
      'The role doctor_reads may not create tables in the schema public, as a start does. ',
    ],
    [
      'GRANT SELECT ON ALL TABLES IN SCHEMA public TO doctor_reads; REVOKE SELECT ON nodes FROM doctor_reads',
      'The role doctor_reads may not create tables in the schema public, as a start does. ',
    ],
    [
      'GRANT SELECT ON ALL TABLES IN SCHEMA public TO doctor_reads',
      'The role doctor_reads may not create tables in the schema public, as a start does. ',
    ],
    [
      'GRANT CREATE ON SCHEMA public TO doctor_reads',
      'The role doctor_reads may not read and write the table accounts. ',
    ],
    [
      'GRANT ALL ON ALL TABLES IN SCHEMA public TO doctor_reads',
      'The role doctor_reads may not use the sequence account_numbers. ',
    ],
  ];
  for (const [changed, text] of denials) {
    await postgres.query(changed, database);
    const denied = await examined(settings({ KEYSTILE_DATABASE_URL: ofRole, KEYSTILE_PORT: '0' }));
    expect(denied.code).toBe(1);
    expect(denied.find('database')).toMatchObject({
      result: 'problem',
      text: expect.stringContaining(text),
      fix: RIGHTS_FIX,
    });
    if (changed.startsWith('REVOKE ALL')) continue;
    // It hides nothing that this role can see.
    expect(denied.find('schema')?.result).toBe('ok');
    const listed = await keystile(['nodes'], { environment: { KEYSTILE_DATABASE_URL: ofRole } });
    expect(listed.code).toBe(changed.includes('installation') || changed.includes('REVOKE') ? 1 : 0);
  }
  await postgres.query('GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO doctor_reads', database);
  const allowed = await examined(settings({ KEYSTILE_DATABASE_URL: ofRole, KEYSTILE_PORT: '0' }));
  expect(allowed.find('database')?.result).toBe('ok');
  await postgres.query(`REVOKE CONNECT ON DATABASE ${database} FROM PUBLIC`);
  const kept = await examined(settings({ KEYSTILE_DATABASE_URL: ofRole, KEYSTILE_PORT: '0' }));
  // Its tables are not the question.
  expect(kept.find('database')).toMatchObject({
    text: expect.stringContaining('[42501]'),
    fix: expect.stringContaining('Check that PostgreSQL runs'),
  });
  await postgres.dropDatabase(url);
  await postgres.query('DROP ROLE doctor_reads');
});

test('a database that cannot be reached is one problem, and hides nothing else', async () => {
  const url = 'postgres://postgres:s3cret@127.0.0.1:1/x';
  const found = await examined(settings({ KEYSTILE_DATABASE_URL: url, KEYSTILE_PORT: '0' }));
  expect([found.code, found.with('problem')]).toEqual([1, ['database']]);
  expect(found.find('database')).toMatchObject({ text: expect.stringContaining('127.0.0.1:1: ') });
  expect(found.find('standby')).toMatchObject({ because: 'the database cannot be read' });
  expect(JSON.stringify(found.find('database'))).not.toContain('s3cret');
});
