import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { Client } from 'pg';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { SCHEMA_VERSION } from '../../../src/storage/postgres/schema/schema.ts';
import { PROJECT } from '../../process/process.ts';
import { openStorage } from '../../support/cluster/faultLab.ts';
import { expectRefused, nameOf, PASSWORD, PATIENTLY, Starts } from './starts.ts';

let starts: Starts;
let server: PostgresServer;

beforeAll(async () => {
  starts = await Starts.prepare();
  server = starts.server;
});

describe('an address that cannot be right is refused before anything is asked', () => {
  test.concurrent('no address at all', () => expectRefused('hello', /^KEYSTILE_DATABASE_URL must look like postgres:/));

  test.concurrent('of another kind of database', () =>
    expectRefused(`mysql://root:${PASSWORD}@db/keys`, /^KEYSTILE_DATABASE_URL must look like postgres:/));

  test.concurrent('with an unknown parameter', () =>
    expectRefused(
      starts.urlOf({ query: '?sslmod=require' }),
      /^KEYSTILE_DATABASE_URL has the unknown parameter sslmod; known parameters are/,
    ));

  test.concurrent('encrypted perhaps', () =>
    expectRefused(
      starts.urlOf({ query: '?sslmode=prefer' }),
      /^KEYSTILE_DATABASE_URL has an sslmode that is none of disable, req/,
    ));

  test.concurrent('with certificates from a file that is not there', () =>
    expectRefused(starts.urlOf({ query: '?sslmode=verify-full&sslrootcert=/no/such/file' }), /\/no\/such\/file/));

  test.concurrent('no part of a password is told that has signs in it which belong written as %xx', async () => {
    for (const sign of ['@', '?', '/', '#@', '%']) {
      const url = `postgres://postgres:12345${sign}hunter2@127.0.0.1:1/keys`;
      const { message } = await openStorage(url).then(
        () => new Error('was opened'),
        (error: unknown) => error as Error,
      );
      for (const part of ['12345', 'hunter'])
        expect({ sign, message }).not.toEqual({ sign, message: expect.stringContaining(part) });
    }
  });
});

describe('a database that cannot serve is one sentence that says why', () => {
  test.concurrent('nobody listens there, at none of the hosts', () =>
    expectRefused(
      starts.urlOf({ hosts: '127.0.0.1:1,127.0.0.1:2' }),
      /^The database cannot be reached \(127\.0\.0\.1:1: .*ECONNREFUSED.*; 127\.0\.0\.1:2: .*ECONNREFUSED.*\)\.$/m,
    ));

  test.concurrent('no such host', () =>
    expectRefused(
      starts.urlOf({ hosts: 'no.such.host.invalid' }),
      /^The database cannot be reached \(no\.such\.host\.invalid:/,
    ));

  test.concurrent('something else listens there', async () => {
    using web = Bun.serve({ port: 0, fetch: () => new Response('hello') });
    await expectRefused(
      starts.urlOf({ hosts: `127.0.0.1:${web.port}` }),
      /^The database cannot be reached \(127\.0\.0\.1:/,
    );
  });

  test.concurrent('it takes the connection and says nothing', async () => {
    using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const hosts = `127.0.0.1:${silent.port}`;
    await expectRefused(
      starts.urlOf({ hosts, query: '?connect_timeout=1' }),
      /^The database cannot be reached .*timeout/,
    );
  });

  test.concurrent('no such user', () =>
    expectRefused(starts.urlOf({ user: 'nobody_here' }), /^The database cannot be reached .*nobody_here.* \[28000\]/));

  test.concurrent('no such database', () =>
    expectRefused(starts.urlOf({ database: 'not_here' }), /^The database cannot be reached .*not_here.* \[3D000\]/));

  test.concurrent('a server without encryption, where it is asked for', () =>
    expectRefused(
      starts.urlOf({ query: `?sslmode=require&${PATIENTLY}` }),
      /^The database cannot be reached .*does not support SSL/,
    ));

  test.concurrent('one that accepts no writes', async () => {
    const database = nameOf(await server.createDatabase());
    await server.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await expectRefused(starts.urlOf({ database }), /^The database cannot be reached .*accepts no writes/);
  });

  test.concurrent('a database that cannot run the functions of Keystile is not taken for that of another program', async () => {
    const database = nameOf(await server.createDatabase());
    await server.query('DROP EXTENSION plpgsql', database);
    await expectRefused(
      starts.urlOf({ database }),
      /^The database could not be migrated .*plpgsql.* \[42704\]\)|^The database cannot be prepared \(.*plpgsql.* \[42704\]\)\. Check KEYSTILE_DATABASE_URL\.$/m,
    );
  });

  test.concurrent.each([
    ['keys', 'id integer', '42P07'],
    ['installation', 'id integer', '42703'],
    ['installation', 'name text PRIMARY KEY, value integer', '22P02'],
    ['installation', 'name text PRIMARY KEY, value varchar(2)', '22001'],
    ['installation', 'name text PRIMARY KEY, value text, more text NOT NULL', '23502'],
  ])('another program has a table %s (%s)', async (table, columns, state) => {
    const database = nameOf(await server.createDatabase());
    await server.query(`CREATE TABLE ${table} (${columns})`, database);
    await expectRefused(
      starts.urlOf({ database }),
      new RegExp(
        `^The database cannot be prepared \\(.* \\[${state}\\]\\)\\. Its tables are not those of Keystile\\. Check KEYSTILE_DATABASE_URL\\.$`,
        'm',
      ),
    );
    expect(await server.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`, database)).toEqual([
      { tablename: table },
    ]);
  });

  test.concurrent('empty, where data is required: no table is made', async () => {
    const database = nameOf(await server.createDatabase());
    await expectRefused(
      starts.urlOf({ database }),
      /^The database is empty, and KEYSTILE_REQUIRE_DATA is on: no new installation is begun\. Check KEYSTILE_DATABASE_URL\. For a first start, turn KEYSTILE_REQUIRE_DATA off\.$/m,
      { KEYSTILE_REQUIRE_DATA: 'on' },
    );
    expect(await server.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`, database)).toEqual([]);
  });

  // A PostgreSQL that is too old cannot be run here: the package has one version of it.

  test.concurrent('someone holds the lock of the first root key for too long', async () => {
    const database = await starts.prepared();
    const holder = new Client(server.url(database));
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(7218530412)');
    await expectRefused(starts.urlOf({ database }), /^The database /);
    await holder.end();
  });
});

describe('a schema of another version of the program', () => {
  const setVersions = (database: string, version: number, compatibleFrom: number) =>
    server.query(
      `UPDATE installation SET value = CASE name WHEN 'schema_version' THEN '${version}' ELSE '${compatibleFrom}' END
       WHERE name IN ('schema_version', 'schema_compatible_from')`,
      database,
    );

  test.concurrent('newer, and not for this one: refused, with both versions named', async () => {
    const database = await starts.prepared();
    await setVersions(database, 99, 99);
    await expectRefused(
      starts.urlOf({ database }),
      new RegExp(
        `^The database has schema version 99, .* this one is for ${SCHEMA_VERSION}\\. Start the newer program`,
        'm',
      ),
    );
  });

  test.concurrent('newer by one, and declared to be compatible: the command `keystile` starts and serves', async () => {
    const database = await starts.prepared();
    await setVersions(database, SCHEMA_VERSION + 1, SCHEMA_VERSION);
    await using node = await KeystileNode.start({
      databaseUrl: starts.urlOf({ database }),
      location: 'older',
      command: ['node', join(PROJECT, 'bin/keystile.mjs'), 'serve'],
    });
    expect((await node.call('/v1/apis.createApi', { name: 'made by an older program' })).status).toBe(200);
    const [row] = await server.query(`SELECT value FROM installation WHERE name = 'schema_version'`, database);
    expect(row).toEqual({ value: String(SCHEMA_VERSION + 1) });
    expect(node.child.stdout + node.child.stderr).not.toContain(PASSWORD);
  });

  test.concurrent('of a program before 0.1.0: refused with one sentence that says what to do, and left as it was', async () => {
    const database = await starts.prepared();
    const rows = () => server.query('SELECT name, value FROM installation ORDER BY name', database);
    await server.query(`DELETE FROM installation WHERE name = 'schema_series'`, database);
    for (const version of [1, 2, 3]) {
      await setVersions(database, version, 1);
      const before = await rows();
      await expectRefused(
        starts.urlOf({ database }),
        /^The database was written by a program before 0\.1\.0, and this program cannot read it\. Nothing was changed\. Set KEYSTILE_DATABASE_URL to another database, and create or import the keys again\.$/m,
      );
      expect(await rows()).toEqual(before);
    }
  });
});

test.concurrent('a root key that cannot be read does not keep the others from a start', async () => {
  const database = await starts.prepared();
  await using first = await KeystileNode.start({ databaseUrl: starts.urlOf({ database }), location: 'first' });
  await server.query(
    `INSERT INTO root_keys SELECT 'rk_spoilt', 'digest', start, name, '{bad json', created_at_ms FROM root_keys`,
    database,
  );
  await using second = await KeystileNode.start({ databaseUrl: starts.urlOf({ database }), location: 'second' });
  for (const node of [first, second]) {
    expect((await node.call('/v1/apis.createApi', { name: 'made with a root key that can be read' })).status).toBe(200);
  }
});
