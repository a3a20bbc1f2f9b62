import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { Client } from 'pg';

import { migrate, type Migration, takeMigrationLock } from '../../../../src/storage/postgres/schema/migrate.ts';
import { MIGRATIONS } from '../../../../src/storage/postgres/schema/schema.ts';
import { until } from '../../../../tools/cluster/wait.ts';
import { postgresServer } from '../postgres.ts';
import {
  FIRST,
  hasIndex,
  installationIn,
  NEW,
  NEW_VERSION,
  OLD,
  OLD_VERSION,
  SECOND,
  waitingIn,
  withOldDatabase,
  type Setup,
} from './oldDatabase.ts';
import { ConnectionLost } from '../../../../src/storage/postgres/connection/databaseError.ts';

setDefaultTimeout(60_000);

describe('a program of the next schema version', () => {
  test('brings the database there with everything that is in it', async () => {
    await withOldDatabase(async (setup) => {
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
      await migrate(setup.node, NEW);
      expect(await installationIn(setup)).toEqual(NEW_VERSION);
      expect((await setup.other.query('SELECT id, note FROM keys')).rows).toEqual([{ id: 'key_1', note: 'none' }]);
      expect(await hasIndex(setup)).toBe(true);
      // A second start has nothing to do.
      await migrate(setup.node, NEW);
      expect(await installationIn(setup)).toEqual(NEW_VERSION);
    });
  });

  test('makes an empty database in one go', async () => {
    const server = await postgresServer();
    const url = await server.createDatabase();
    const node = new Client(url);
    await node.connect();
    try {
      await migrate(node, NEW);
      expect((await node.query('SELECT note FROM keys')).rows).toEqual([]);
    } finally {
      await node.end();
      await server.dropDatabase(url);
    }
  });
});

describe('a program that may not upgrade', () => {
  const COMMAND = { ...NEW, upgrades: false, patience: { lockTimeoutMs: 50, tries: 1, pauseMs: 1 } };

  test('of the next schema version says who does, and changes nothing', async () => {
    await withOldDatabase(async (setup) => {
      const refused = await migrate(setup.node, COMMAND).catch(String);
      expect(refused).toBe(
        'WrongServer: The database has schema version 1, and this program is for 2. Start keystile serve, which migrates it.',
      );
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
    });
  });

  test('leaves indexes that are missing to the next start of a service', async () => {
    await withOldDatabase(async (setup) => {
      await migrate(setup.node, NEW);
      await setup.node.query(
        `DROP INDEX keys_by_note; UPDATE installation SET value = '1' WHERE name = 'indexes_version'`,
      );
      const told: string[] = [];
      await migrate(setup.node, { ...COMMAND, tell: (message) => void told.push(message) });
      expect([await hasIndex(setup), await installationIn(setup), told]).toEqual([
        false,
        { ...NEW_VERSION, indexes_version: '1' },
        [],
      ]);
      await migrate(setup.node, NEW);
      expect([await hasIndex(setup), await installationIn(setup)]).toEqual([true, NEW_VERSION]);
    });
  });

  test('does not wait while a node migrates or builds indexes', async () => {
    await withOldDatabase(async (setup) => {
      await migrate(setup.node, NEW);
      await setup.other.query('BEGIN');
      await takeMigrationLock(setup.other);
      // Who waits for the lock fails at once.
      await setup.node.query('SET lock_timeout = 1');
      await migrate(setup.node, COMMAND);
      expect(await migrate(setup.node, { ...COMMAND, upgrades: true }).catch(String)).toContain('1 tries of 50 ms');
    });
  });

  test('makes the tables of an empty database', async () => {
    const server = await postgresServer();
    const url = await server.createDatabase();
    const node = new Client(url);
    await node.connect();
    try {
      await migrate(node, COMMAND);
      expect((await node.query('SELECT note FROM keys')).rows).toEqual([]);
    } finally {
      await node.end();
      await server.dropDatabase(url);
    }
  });
});

describe('a program of the schema version before', () => {
  test('goes on with a newer database that is declared to be compatible, and leaves it as it is', async () => {
    await withOldDatabase(async (setup) => {
      await migrate(setup.node, NEW);
      await migrate(setup.node, OLD);
      expect(await installationIn(setup)).toEqual(NEW_VERSION);
    });
  });

  test('refuses one that is not', async () => {
    await withOldDatabase(async (setup) => {
      await migrate(setup.node, { ...NEW, migrations: [FIRST, { ...SECOND, compatibleFrom: 2 }] });
      expect(await migrate(setup.node, OLD).catch(String)).toBe(
        'WrongServer: The database has schema version 2, which needs a program for version 2 or newer; this one is for 1. Start the newer program that migrated it.',
      );
    });
  });
});

describe('an upgrade', () => {
  test('gives way to what holds its tables: others wait no longer than a try, and a later try gets through', async () => {
    await withOldDatabase(async (setup) => {
      const { server, database, node, other: dump } = setup;
      await dump.query('BEGIN; LOCK TABLE keys IN ACCESS SHARE MODE');
      const upgraded = migrate(node, { ...NEW, patience: { lockTimeoutMs: 200, tries: 100, pauseMs: 200 } });
      await until('the upgrade waits for a lock', async () => (await waitingIn(setup)) === 1);
      // Queues behind the upgrade, which would wait for the dump for ever.
      expect(await server.query('SELECT id FROM keys', database)).toEqual([{ id: 'key_1' }]);
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
      await dump.query('COMMIT');
      await upgraded;
      expect(await installationIn(setup)).toEqual(NEW_VERSION);
    });
  });

  test('tells each step', async () => {
    await withOldDatabase(async (setup) => {
      const told: unknown[] = [];
      const tell = (message: string, fields: object): void => void told.push([message, fields]);
      const third = { compatibleFrom: 1, sql: 'SELECT 1', indexes: '' };
      await migrate(setup.node, { ...NEW, migrations: [FIRST, SECOND, third], tell });
      await migrate(setup.node, { ...NEW, migrations: [FIRST, SECOND, third], tell });
      expect(told).toEqual([
        ['migrating the database; a failure leaves it as it is', { step: '1 of 2', from: 1, to: 2 }],
        ['migrating the database; a failure leaves it as it is', { step: '2 of 2', from: 2, to: 3 }],
        ['building the indexes of the new schema version', { version: 3 }],
        ['the database is migrated', { version: 3 }],
      ]);
    });
  });

  test('builds the indexes while keys are read, also when it was ended before it came to them', async () => {
    await withOldDatabase(async (setup) => {
      const { node, other: reader } = setup;
      await migrate(node, NEW);
      await node.query(`DROP INDEX keys_by_note; UPDATE installation SET value = '1' WHERE name = 'indexes_version'`);
      await reader.query('BEGIN; SELECT id FROM keys');
      await migrate(node, { ...NEW, patience: { lockTimeoutMs: 1_000, tries: 1, pauseMs: 1 } });
      expect(await hasIndex(setup)).toBe(true);
    });
  });
});

describe('nodes of an older version that run', () => {
  const BREAKING: Migration = { ...SECOND, compatibleFrom: 2 };
  const nodeRow = (id: string, schemaVersion: number, seenAgoMs: number): string =>
    `INSERT INTO nodes (id, location, version, schema_version, started_at_ms, seen_at_ms, clock_offset_ms)
      VALUES ('${id}', 'in ${id}', '0.${schemaVersion}.0', ${schemaVersion}, 0, ledger_now_v1(NULL) - ${seenAgoMs}, 0)`;

  test('are no hindrance for a version that they can work with', async () => {
    await withOldDatabase(async (setup) => {
      await setup.other.query(nodeRow('old', 1, 0));
      await migrate(setup.node, NEW);
      expect(await installationIn(setup)).toEqual(NEW_VERSION);
    });
  });

  test('are named, and nothing is changed, where they could not go on; nodes that are gone or new enough do not count', async () => {
    await withOldDatabase(async (setup) => {
      await setup.other.query(
        [nodeRow('b', 1, 9_000), nodeRow('a', 1, 0), nodeRow('gone', 1, 10_001), nodeRow('new', 2, 0)].join(';'),
      );
      // A later step that is compatible again does not make the one before it so.
      const later = { compatibleFrom: 1, sql: 'SELECT 1', indexes: '' };
      for (const migrations of [
        [FIRST, BREAKING],
        [FIRST, BREAKING, later],
      ]) {
        expect(await migrate(setup.node, { ...NEW, migrations }).catch(String)).toBe(
          `WrongServer: The database cannot be migrated from schema version 1 to ${migrations.length} while nodes of an older version run: ` +
            'in a (a, version 0.1.0), in b (b, version 0.1.0). Stop them, then start this one. ' +
            'A node that was killed counts as running for 10 s.',
        );
      }
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
      await setup.other.query(`DELETE FROM nodes WHERE id IN ('a', 'b')`);
      await migrate(setup.node, { ...NEW, migrations: [FIRST, BREAKING, later] });
      expect(await installationIn(setup)).toMatchObject({ schema_version: '3', schema_compatible_from: '2' });
    });
  });

  test('are known from the moment at which they found the database fit', async () => {
    await withOldDatabase(async (setup) => {
      await migrate(setup.other, {
        ...OLD,
        register: async (client) => void (await client.query(nodeRow('starting', 1, 0))),
      });
      expect(await migrate(setup.node, { ...NEW, migrations: [FIRST, BREAKING] }).catch(String)).toContain(
        'in starting',
      );
    });
  });
});

test('every migration of this program names a version that exists, and none goes back behind the one before', () => {
  for (const [i, { compatibleFrom }] of MIGRATIONS.entries()) {
    expect(compatibleFrom).toBeLessThanOrEqual(i + 1);
    expect(compatibleFrom).toBeGreaterThanOrEqual(MIGRATIONS[i - 1]?.compatibleFrom ?? 1);
  }
});

test('the migrations of this program leave every function of the versions before as it is: their nodes go on calling it', async () => {
  await withOldDatabase(async (setup) => {
    const functions = async (): Promise<unknown[]> => {
      const sql = `SELECT pg_get_functiondef(oid) AS made FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1`;
      return (await setup.other.query<{ made: string }>(sql)).rows.map(({ made }) => made);
    };
    for (let version = 1; version < MIGRATIONS.length; version++) {
      const before = await functions();
      await migrate(setup.node, { ...OLD, migrations: MIGRATIONS.slice(0, version + 1) });
      expect(await functions()).toEqual(expect.arrayContaining(before));
      expect(before.length).toBeGreaterThan(0);
    }
    expect(await installationIn(setup)).toMatchObject({ schema_version: String(MIGRATIONS.length) });
  });
});

setDefaultTimeout(60_000);

describe('an upgrade', () => {
  test('that never gets its locks says why, and changes nothing', async () => {
    await withOldDatabase(async (setup) => {
      await setup.other.query('BEGIN; LOCK TABLE keys IN ACCESS SHARE MODE');
      const upgraded = migrate(setup.node, { ...NEW, patience: { lockTimeoutMs: 50, tries: 3, pauseMs: 1 } });
      expect(await upgraded.catch(String)).toBe(
        'StorageUnavailable: The schema of the database cannot be upgraded: another transaction, such as a dump, kept its tables locked during 3 tries of 50 ms. Start again when it has ended.',
      );
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
    });
  });

  test('that fails changes nothing', async () => {
    await withOldDatabase(async (setup) => {
      const broken = { ...SECOND, sql: `${SECOND.sql}; SELECT 1 / 0` };
      expect(await migrate(setup.node, { ...NEW, migrations: [FIRST, broken] }).catch(String)).toBe(
        'WrongServer: The database could not be migrated from schema version 1 to 2 (division by zero [22012]). ' +
          'It is unchanged, and nodes of the older version continue.',
      );
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
      await migrate(setup.node, NEW);
      expect(await installationIn(setup)).toEqual(NEW_VERSION);
    });
  });

  test('whose connection breaks in the middle changes nothing', async () => {
    await withOldDatabase(async (setup) => {
      const { server, database, node } = setup;
      const endless = { ...SECOND, sql: `${SECOND.sql}; SELECT pg_sleep(600)` };
      const ended = migrate(node, { ...NEW, migrations: [FIRST, endless] }).catch(String);
      const sleeping = `datname = '${database}' AND wait_event = 'PgSleep'`;
      await until('the upgrade is in its middle', async () => {
        return (await server.query(`SELECT 1 FROM pg_stat_activity WHERE ${sleeping}`)).length === 1;
      });
      await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${sleeping}`);
      expect(await ended).toContain('It is unchanged, and nodes of the older version continue.');
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
      expect(await server.query('SELECT * FROM keys', database)).toEqual([
        expect.not.objectContaining({ note: 'none' }),
      ]);
    });
  });

  test('is for a person when the database refuses it, and may be tried again when the database could not do it', async () => {
    const ofView = (change: string): string =>
      `CREATE VIEW names AS SELECT start FROM keys; ALTER TABLE keys ${change}`;
    await withOldDatabase(async (setup) => {
      for (const [sql, kind, state] of [
        ['ALTER TABLE no_such_table ADD COLUMN note text', 'WrongServer', '42P01'],
        ['ALTER TABLE keys ADD CONSTRAINT none CHECK (id IS NULL)', 'WrongServer', '23514'],
        [ofView('DROP COLUMN start'), 'WrongServer', '2BP01'],
        [ofView('ALTER COLUMN start TYPE varchar'), 'WrongServer', '0A000'],
        [`DO $$ BEGIN RAISE EXCEPTION 'no'; END $$`, 'WrongServer', 'P0001'],
        [`DO $$ BEGIN RAISE SQLSTATE 'XX001'; END $$`, 'WrongServer', 'XX001'],
        [`DO $$ BEGIN RAISE SQLSTATE 'XX002'; END $$`, 'WrongServer', 'XX002'],
        // Such as "tuple concurrently updated".
        [`DO $$ BEGIN RAISE SQLSTATE 'XX000'; END $$`, 'StorageUnavailable', 'XX000'],
        [`DO $$ BEGIN RAISE SQLSTATE '53100'; END $$`, 'StorageUnavailable', '53100'],
        [`DO $$ BEGIN RAISE SQLSTATE '57014'; END $$`, 'StorageUnavailable', '57014'],
      ] as const) {
        const migrations = [FIRST, { ...SECOND, sql }];
        expect(await migrate(setup.node, { ...NEW, migrations }).catch(String)).toMatch(
          new RegExp(`^${kind}: The database could not be migrated from schema version 1 to 2 .+ \\[${state}\\]`),
        );
      }
      expect(await installationIn(setup)).toEqual(OLD_VERSION);
    });
  });
});

describe('an upgrade whose schema is committed and whose indexes fail', () => {
  const MIGRATED = 'The schema of the database is migrated to version 2, and its indexes are not built';
  const withIndexes = (indexes: string): readonly Migration[] => [FIRST, { ...SECOND, indexes }];

  /** The next start goes on with them. */
  const expectOnlyIndexesMissing = async (setup: Setup): Promise<void> => {
    expect(await installationIn(setup)).toEqual({ ...NEW_VERSION, indexes_version: '1' });
    await migrate(setup.other, NEW);
    expect([await hasIndex(setup), await installationIn(setup)]).toEqual([true, NEW_VERSION]);
  };

  test.each([
    ['42703', 'WrongServer', 'Correct that, then start again.'],
    ['53100', 'StorageUnavailable', 'Start again: a start builds what is missing.'],
    ['XX000', 'StorageUnavailable', 'Start again: a start builds what is missing.'],
  ])('says so, with its SQLSTATE %s', async (state, kind, next) => {
    await withOldDatabase(async (setup) => {
      const migrations = withIndexes(`DO $$ BEGIN RAISE 'no' USING ERRCODE = '${state}'; END $$`);
      expect(await migrate(setup.node, { ...NEW, migrations }).catch(String)).toBe(
        `${kind}: ${MIGRATED} (no [${state}]). ${next}`,
      );
      await expectOnlyIndexesMissing(setup);
    });
  });

  test('says so when they take too long', async () => {
    await withOldDatabase(async (setup) => {
      const { node, server, database } = setup;
      const tooLong = Promise.withResolvers<never>();
      const inTime = (work: (goesOn: () => void) => Promise<void>): Promise<void> =>
        Promise.race([work(() => {}), tooLong.promise]);
      const migrations = withIndexes('SELECT pg_sleep(600)');
      const ended = migrate(node, { ...NEW, migrations, inTime }).catch(String);
      const building = `FROM pg_stat_activity WHERE datname = '${database}' AND wait_event = 'PgSleep'`;
      await until('the indexes are built', async () => (await server.query(`SELECT 1 ${building}`)).length === 1);
      tooLong.reject(new ConnectionLost('no answer in 600000 ms'));
      expect(await ended).toBe(
        `StorageUnavailable: ${MIGRATED} (no answer in 600000 ms). Start again: a start builds what is missing.`,
      );
      await server.query(`SELECT pg_terminate_backend(pid) ${building}`);
      await expectOnlyIndexesMissing(setup);
    });
  });

  test('says so when it never gets its locks, and tells each try', async () => {
    await withOldDatabase(async (setup) => {
      const { node, other: writer } = setup;
      await migrate(node, { ...NEW, migrations: withIndexes('') });
      await node.query(`UPDATE installation SET value = '1' WHERE name = 'indexes_version'`);
      await writer.query('BEGIN; LOCK TABLE keys IN ROW EXCLUSIVE MODE');
      const told: unknown[] = [];
      const tell = (message: string, fields: object): void => void told.push([message, fields]);
      const patience = { lockTimeoutMs: 50, tries: 2, pauseMs: 1 };
      expect(await migrate(node, { ...NEW, patience, tell }).catch(String)).toBe(
        `StorageUnavailable: ${MIGRATED}: another transaction kept its tables locked during 2 tries of 50 ms. Start again when it has ended.`,
      );
      expect(told).toEqual([
        ['building the indexes of the new schema version', { version: 2 }],
        ['the indexes are not built yet: another transaction keeps its tables locked', { try: '1 of 2', againInMs: 1 }],
        ['building the indexes of the new schema version', { version: 2 }],
      ]);
      await writer.query('COMMIT');
      await expectOnlyIndexesMissing(setup);
    });
  });
});
