import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';

import { ANALYTICS_VERSION } from '../../../src/storage/sqlite/analytics.ts';
import { readSchemaVersion, SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { copyPresentFixture } from '../../support/fixtures/databases.ts';
import { remainingIn } from '../documentation/offline.ts';
import { NextProgram } from '../nextProgram.ts';
import { runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { linesAbout } from './logLines.ts';

const UPGRADE = 'src/storage/sqlite/file/migrate.ts';
const ADD_A_COLUMN = 'ALTER TABLE key_uses ADD COLUMN note TEXT;';
const FAIL = 'ALTER TABLE no_such_table ADD COLUMN note TEXT;';

let next: NextProgram;

beforeAll(() => {
  next = new NextProgram();
});

beforeEach(() => {
  next.addToEmbedded('ALTER TABLE apis ADD COLUMN note TEXT;');
  next.addToAnalytics(ADD_A_COLUMN);
  next.killAt(UPGRADE, null);
});

afterAll(() => next[Symbol.dispose]());

function fixtureIn(folder: TempFolder) {
  const { keys, apiId, rootKey } = copyPresentFixture(folder.join('data'));
  const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
  return { apiId, credits: keys.credits, settings };
}

/** How many versions each file is past this program. */
function past(folder: TempFolder): { keys: number; analytics: number } {
  const versionOf = (name: string): number => {
    using db = new Database(folder.join('data', name), { readonly: true });
    return readSchemaVersion(db);
  };
  return {
    keys: versionOf('keystile.db') - SCHEMA_VERSION,
    analytics: versionOf('analytics.db') - ANALYTICS_VERSION,
  };
}

function copiesOf(folder: TempFolder): string[] {
  const names = readdirSync(folder.join('data')).filter((name) => name.includes('.backup'));
  return names.map((name) => name.slice(0, name.indexOf('.v'))).sort();
}

async function countedBy(server: Server, apiId: string): Promise<number> {
  const start = Date.parse('2026-03-01T00:00:00Z');
  const rows = await server.ok('/v1/analytics.getVerifications', { apiId, start, groupBy: 'day' });
  return (rows as { total: number }[]).reduce((sum, { total }) => sum + total, 0);
}

describe('a start that migrates both files', () => {
  test('brings both to the next version, keeps what was counted, and tells each step of both', async () => {
    using folder = new TempFolder();
    const { apiId, settings } = fixtureIn(folder);
    const launch = { command: next.serve, settings: { ...settings, KEYSTILE_LOG_LEVEL: 'info' } };
    await using server = await Server.start(folder, launch);
    expect(await countedBy(server, apiId)).toBe(28);
    expect([past(folder), copiesOf(folder)]).toEqual([{ keys: 1, analytics: 1 }, ['analytics.db', 'keystile.db']]);
    const copyOf = (name: string): string =>
      folder.join('data', readdirSync(folder.join('data')).find((each) => each.startsWith(`${name}.v`)) ?? '');
    const put = (name: string) => ({
      message: 'the database has an older schema version: it is copied before it is migrated',
      copy: copyOf(name),
      bytes: expect.any(Number),
    });
    const step = (name: string, from: number) => ({
      message: 'migrating the database',
      step: '1 of 1',
      from,
      to: from + 1,
      file: folder.join('data', name),
    });
    const end = (name: string, version: number) => ({
      message: 'the database is migrated; the copy is no longer needed once the new version works',
      version,
      milliseconds: expect.any(Number),
      copy: copyOf(name),
    });
    expect(linesAbout(server.child.stderr, /the database/)).toEqual([
      put('analytics.db'),
      step('analytics.db', ANALYTICS_VERSION),
      put('keystile.db'),
      step('keystile.db', SCHEMA_VERSION),
      end('keystile.db', SCHEMA_VERSION + 1),
      end('analytics.db', ANALYTICS_VERSION + 1),
    ]);
  });

  test('killed before the first commit, it leaves both files to the older program', async () => {
    using folder = new TempFolder();
    const { credits, settings } = fixtureIn(folder);
    next.killAt(UPGRADE, 'if (version === 0) migrate(db);');
    await runToEnd({ command: next.serve, settings });
    expect(past(folder)).toEqual({ keys: 0, analytics: 0 });
    expect(await remainingIn(folder.join('data'), credits.keyId, settings)).toBe(96);
  });

  test('killed between the two commits, it goes on with the analytics at its next start', async () => {
    using folder = new TempFolder();
    const { apiId, credits, settings } = fixtureIn(folder);
    next.killAt(UPGRADE, 'analytics.commit(');
    await runToEnd({ command: next.serve, settings });
    expect(past(folder)).toEqual({ keys: 1, analytics: 0 });
    const refused = await runToEnd({ settings });
    expect([refused.code, refused.stderr]).toEqual([
      78,
      `The database in ${folder.join('data')} has schema version ${SCHEMA_VERSION + 1}, and this program knows up to ${SCHEMA_VERSION}. Start it with the newer program that wrote it.\n`,
    ]);
    next.killAt(UPGRADE, null);
    await using server = await Server.start(folder, { command: next.serve, settings });
    expect(await countedBy(server, apiId)).toBe(28);
    expect(await server.verify(credits.key)).toMatchObject({ valid: true, remaining: 95 });
    expect(past(folder)).toEqual({ keys: 1, analytics: 1 });
  });

  const notMigrated = (folder: TempFolder, reason: string): string =>
    `The analytics in ${folder.join('data/analytics.db')} could not be migrated from schema version ${ANALYTICS_VERSION} to ${ANALYTICS_VERSION + 1} ` +
    `(${reason}). The file is unchanged, with all its counts.`;
  const START_AGAIN =
    ' keystile.db is migrated already, and the older program refuses the folder: start this program again, which migrates the analytics.';

  test('a disk that is full at the second commit leaves the analytics as before, and the next start goes on', async () => {
    using folder = new TempFolder();
    const { apiId, settings } = fixtureIn(folder);
    // The file may not grow any more. A commit writes the index of words, which has been in memory.
    next.addToAnalytics(`${ADD_A_COLUMN} CREATE VIRTUAL TABLE words USING fts5 (word, content = ''); PRAGMA max_page_count = 1;
      INSERT INTO words (rowid, word) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        SELECT 1, group_concat(hex(randomblob(30)), ' ') FROM n;`);
    const { code, stdout, stderr } = await runToEnd({ command: next.serve, settings });
    expect([code, stdout, stderr]).toEqual([
      75,
      '',
      `${notMigrated(folder, 'SQLITE_FULL: database or disk is full')}${START_AGAIN}\n`,
    ]);
    expect([past(folder), copiesOf(folder)]).toEqual([{ keys: 1, analytics: 0 }, ['keystile.db']]);
    next.addToAnalytics(ADD_A_COLUMN);
    await using server = await Server.start(folder, { command: next.serve, settings });
    expect(await countedBy(server, apiId)).toBe(28);
    expect(past(folder)).toEqual({ keys: 1, analytics: 1 });
  });

  test('a disk that fails at the second commit leaves the analytics as before, and the copy of them', async () => {
    using folder = new TempFolder();
    const { apiId, settings } = fixtureIn(folder);
    // It fits into the memory of the connection, so nothing is written before the commit.
    next.addToAnalytics(
      `${ADD_A_COLUMN} CREATE TABLE large (bytes BLOB); INSERT INTO large VALUES (zeroblob(1500000));`,
    );
    // Files may have 2048 blocks of 512 bytes: SQLite takes a write that is refused for a failed disk.
    const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 2048; exec "$@"`, 'sh', ...next.serve];
    const { code, stdout, stderr } = await runToEnd({ command: limited, settings });
    const copy = readdirSync(folder.join('data')).find((name) => name.startsWith('analytics.db.v')) ?? '';
    expect([code, stdout, stderr]).toEqual([
      78,
      '',
      `${notMigrated(folder, 'SQLITE_IOERR_WRITE: disk I/O error')}${START_AGAIN} A copy is in ${folder.join('data', copy)}.\n`,
    ]);
    expect([past(folder), copiesOf(folder)]).toEqual([{ keys: 1, analytics: 0 }, ['analytics.db', 'keystile.db']]);
    await using server = await Server.start(folder, { command: next.serve, settings });
    expect(await countedBy(server, apiId)).toBe(28);
    expect(past(folder)).toEqual({ keys: 1, analytics: 1 });
  });

  test('analytics that cannot be migrated leave both files as before, and no copy, however often it is tried', async () => {
    using folder = new TempFolder();
    const { credits, settings } = fixtureIn(folder);
    next.addToAnalytics(`${ADD_A_COLUMN} ${FAIL}`);
    for (let n = 0; n < 2; n++) {
      const { code, stdout, stderr } = await runToEnd({ command: next.serve, settings });
      expect([code, stdout]).toEqual([78, '']);
      expect(stderr).toBe(`${notMigrated(folder, 'SQLITE_ERROR: no such table: no_such_table')}\n`);
    }
    expect([past(folder), copiesOf(folder)]).toEqual([{ keys: 0, analytics: 0 }, []]);
    expect(await remainingIn(folder.join('data'), credits.keyId, settings)).toBe(96);
  });

  test('a database that cannot be migrated leaves the analytics as before, and no copy of either', async () => {
    using folder = new TempFolder();
    const { credits, settings } = fixtureIn(folder);
    next.addToEmbedded(FAIL);
    const { code, stderr } = await runToEnd({ command: next.serve, settings });
    expect([code, stderr]).toEqual([78, expect.stringContaining('the older program can use it.\n')]);
    expect([past(folder), copiesOf(folder)]).toEqual([{ keys: 0, analytics: 0 }, []]);
    expect(await remainingIn(folder.join('data'), credits.keyId, settings)).toBe(96);
  });
});
