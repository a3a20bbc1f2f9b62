import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { parseAddress } from '../../../src/core/databaseUrl.ts';
import { Connector, destroy, inOneWrite } from '../../../src/storage/postgres/connection/connector.ts';
import { openStorage } from '../../support/cluster/faultLab.ts';
import { SELF_SIGNED } from '../../support/selfSigned.ts';

const IS_ENCRYPTED = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';

let server: PostgresServer;
let folder: string;
let trusted: string;

beforeAll(async () => {
  server = await PostgresServer.start();
  await saveBesideData('server.crt', SELF_SIGNED.cert);
  await saveBesideData('server.key', SELF_SIGNED.key);
  await server.query('ALTER SYSTEM SET ssl = on');
  await server.query('SELECT pg_reload_conf()');
  await until('the server encrypts', async () => (await server.query('SHOW ssl'))[0]?.['ssl'] === 'on');
  folder = mkdtempSync(join(tmpdir(), 'keystile-encrypted-'));
  trusted = join(folder, 'root.crt');
  writeFileSync(trusted, SELF_SIGNED.cert);
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.remove();
});

/** The server reads its key only if nobody else may. */
function saveBesideData(name: string, text: string): Promise<unknown> {
  const lines = text.trimEnd().replaceAll('\n', '|');
  return server.query(`COPY (SELECT regexp_split_to_table('${lines}', '\\|')) TO PROGRAM 'umask 077; cat > ${name}'`);
}

const connector = (query: string): Connector => new Connector(parseAddress(`${server.url()}?${query}`), 'encrypted');

test.each(['require', 'verify-ca', 'verify-full'])('a connection with sslmode=%s is encrypted', async (mode) => {
  const client = await connector(`sslmode=${mode}&sslrootcert=${trusted}`).connect({});
  expect((await client.query(IS_ENCRYPTED)).rows).toEqual([{ ssl: true }]);
  await client.end();
});

test('a certificate that nobody vouches for is refused, unless it is named', () =>
  expect(connector('sslmode=verify-full').connect({})).rejects.toThrow(/self.signed certificate/i));

test('a certificate for another host is refused', () => {
  const address = parseAddress(
    `postgres://postgres@localhost:${server.port}/postgres?sslmode=verify-full&sslrootcert=${trusted}`,
  );
  return expect(new Connector(address, 'encrypted').connect({})).rejects.toThrow(/altnames|not in the cert/i);
});

test('a connection that was refused is closed', async () => {
  await connector('sslmode=verify-full')
    .connect({})
    .catch(() => {});
  const named = `SELECT 1 FROM pg_stat_activity WHERE application_name LIKE '%encrypted'`;
  await until('the server has none left', async () => (await server.query(named)).length === 0);
});

test('a storage works over encrypted connections', async () => {
  const database = new URL(await server.createDatabase()).pathname.slice(1);
  const storage = await openStorage(`${server.url(database)}?sslmode=verify-full&sslrootcert=${trusted}`);
  const sessions = await server.query(`SELECT bool_and(ssl) AS all, count(*) > 0 AS some
    FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '${database}'`);
  await storage.close();
  expect(sessions).toEqual([{ all: true, some: true }]);
});

test.each(['disable', 'require'])('with sslmode=%s, a destroyed connection ends at once', async (mode) => {
  const client = await connector(`sslmode=${mode}`).connect({});
  const failure = client.query('SELECT pg_sleep(3600)').catch(String);
  destroy(client);
  expect(await failure).toContain('Connection terminated');
  const idle = await connector(`sslmode=${mode}`).connect({});
  const { rows } = await idle.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  destroy(idle);
  await until('the server has noticed', async () => {
    return (await server.query(`SELECT 1 FROM pg_stat_activity WHERE pid = ${rows[0]?.pid}`)).length === 0;
  });
});

test.each(['disable', 'require'])('with sslmode=%s, queries of one write are all answered', async (mode) => {
  const client = await connector(`sslmode=${mode}`).connect({}, true);
  const answers = inOneWrite(client, () => [1, 2, 3].map((n) => client.query(`SELECT ${n} AS n`)));
  expect((await Promise.all(answers)).map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
  await client.end();
});
