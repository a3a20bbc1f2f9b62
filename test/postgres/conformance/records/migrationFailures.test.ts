import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { ConnectionLost } from '../../../../src/storage/postgres/connection/databaseError.ts';
import { migrate, type Migration } from '../../../../src/storage/postgres/schema/migrate.ts';
import { until } from '../../../../tools/cluster/wait.ts';
import {
  FIRST,
  hasIndex,
  installationIn,
  NEW,
  NEW_VERSION,
  OLD_VERSION,
  SECOND,
  type Setup,
  withOldDatabase,
} from './oldDatabase.ts';

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
