import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readSchemaVersion, SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { checkAdditions } from '../../support/fixtures/additions.ts';
import { copyFixture, fixtureVersions, type MadeKey } from '../../support/fixtures/databases.ts';
import { TestService } from '../../support/service.ts';
import { copyCheckout } from '../documentation/checkout.ts';
import { offline, remainingIn } from '../documentation/offline.ts';
import { Child, type Launch, PROJECT, runToEnd, programOf, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const NEXT_VERSION = SCHEMA_VERSION + 1;
const PRESENT = `v${SCHEMA_VERSION}`;

/** Verifications of the fixture's api. */
const COUNTED = 28;

function idsOf(keys: Readonly<Record<string, MadeKey>>): string[] {
  return Object.values(keys)
    .map(({ keyId }) => keyId)
    .sort();
}

describe('databases of every schema version', () => {
  test('there is a fixture of each version, up to the present one', () => {
    const versions = Array.from({ length: SCHEMA_VERSION }, (_, i) => `v${i + 1}`);
    expect(fixtureVersions()).toEqual(versions.sort());
  });

  for (const version of fixtureVersions()) {
    test(`${version}: every record is read and every counter stands where it was`, async () => {
      using folder = new TempFolder();
      const { keys, apiId, rootKey, workspaceId } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T12:30:00Z' });
      try {
        service.rootKey = rootKey;
        expect(await service.ok('/v1/apis.getApi', { apiId })).toEqual({
          id: apiId,
          workspaceId,
          name: 'fixture api',
          deleteProtection: false,
        });
        const listed = (await service.ok('/v1/apis.listKeys', { apiId })) as { keys: { id: string }[]; total: number };
        const { deleted, ...there } = keys;
        expect(listed.total).toBe(9);
        expect(listed.keys.map(({ id }) => id).sort()).toEqual(idsOf(there));
        const expected = {
          plain: { code: 'VALID', name: 'plain', meta: { plan: 'free' }, ownerId: 'owner_1' },
          credits: { code: 'VALID', remaining: 95 },
          restored: { code: 'VALID', remaining: 42 },
          added: { code: 'VALID', remaining: 2 },
          strict: { code: 'VALID', ratelimit: { limit: 10, remaining: 3, reset: Date.parse('2027-02-13T00:00:00Z') } },
          local: { code: 'VALID', ratelimit: { limit: 10, remaining: 2, reset: Date.parse('2027-02-13T00:00:00Z') } },
          disabled: { code: 'DISABLED', remaining: 9 },
          expiring: { code: 'VALID', expires: Date.parse('2026-03-20T00:00:00Z') },
          listed: { code: 'VALID', environment: 'test' },
        };
        for (const [name, verdict] of Object.entries(expected)) {
          expect(await service.verify(there[name as keyof typeof there].key)).toMatchObject(verdict);
        }
        expect(await service.verify(deleted.key)).toMatchObject({ code: 'NOT_FOUND' });
        for (const search of ['plain', 'free', 'fix']) {
          expect((await service.ok('/v1/apis.listKeys', { apiId, search })).total).toBe(1);
        }
      } finally {
        await service.close();
      }
    });

    test(`${version}: roles, identities, rotated secrets and overrides stand where they were`, async () => {
      using folder = new TempFolder();
      const { additions, rootKey } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T12:30:00Z' });
      try {
        service.rootKey = rootKey;
        await checkAdditions(service, additions);
      } finally {
        await service.close();
      }
    });

    test(`${version}: verifications that were counted, and last uses, are there`, async () => {
      using folder = new TempFolder();
      const { keys, apiId, rootKey } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T12:30:00Z' });
      try {
        service.rootKey = rootKey;
        for (let n = 0; n < 2; n++) {
          const counted = await service.ok('/v1/analytics.getVerifications', { apiId, groupBy: 'day' });
          const [{ time, total }] = counted.slice(-1);
          expect([time, total]).toEqual([Date.parse('2026-03-15T00:00:00Z'), COUNTED]);
          const { lastUsedAt } = await service.ok('/v1/keys.getKey', { keyId: keys.plain.keyId });
          expect(lastUsedAt).toBe(Date.parse('2026-03-15T12:00:00Z'));
          await service.engine.countWriting.fold();
        }
      } finally {
        await service.close();
      }
    });

    test(`${version}: refills, expiry and idempotency keys go on from where they were`, async () => {
      using folder = new TempFolder();
      const { keys } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T23:59:59.999Z' });
      try {
        const retry = service.verify(keys.credits.key, { idempotencyKey: 'fixture-0001' });
        expect(await retry).toMatchObject({ valid: true, remaining: 96 });
        expect(await service.verify(keys.credits.key)).toMatchObject({ remaining: 95 });
        expect(await service.verify(keys.restored.key)).toMatchObject({ remaining: 42 });
        service.clock.set('2026-03-16T00:00:00Z');
        expect(await service.verify(keys.restored.key)).toMatchObject({ remaining: 49 });
        service.clock.set('2026-03-20T00:00:00Z');
        expect(await service.verify(keys.expiring.key)).toMatchObject({ code: 'EXPIRED' });
        service.clock.set('2026-04-01T00:00:00Z');
        expect(await service.verify(keys.added.key)).toMatchObject({ remaining: 12 });
      } finally {
        await service.close();
      }
    });
  }
});

const MIGRATE = 'src/storage/sqlite/file/migrate.ts';
let checkouts: TempFolder;
let checkout: string;

beforeAll(() => {
  checkouts = new TempFolder();
  checkout = copyCheckout(checkouts);
});

afterAll(() => checkouts[Symbol.dispose]());

/** This program with one more migration at the end of its list. */
function nextProgram(migration: string): Launch {
  const source = readFileSync(join(PROJECT, MIGRATE), 'utf8');
  const end = source.indexOf('];', source.indexOf('MIGRATIONS: readonly string[] = ['));
  if (end < 0) throw new Error('migrate.ts has no list of migrations');
  writeFileSync(join(checkout, MIGRATE), `${source.slice(0, end)}, ${JSON.stringify(migration)}${source.slice(end)}`);
  return { command: [...programOf(checkout), 'serve'] };
}

/** The files beside the database that were put aside. */
function backups(folder: TempFolder): string[] {
  return readdirSync(folder.join('data')).filter((name) => name.endsWith('.backup'));
}

/** Another program writes the database now. */
function isLocked(folder: TempFolder): boolean {
  using db = new Database(folder.join('data/keystile.db'));
  try {
    db.run('BEGIN IMMEDIATE');
    db.run('ROLLBACK');
    return false;
  } catch {
    return true;
  }
}

function versionOf(path: string): number {
  using db = new Database(path, { readonly: true });
  return readSchemaVersion(db);
}

describe('a start that has to migrate', () => {
  const ADD_A_COLUMN = 'ALTER TABLE apis ADD COLUMN note TEXT;';

  test('puts a whole copy aside first, migrates once, and keeps every counter', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyFixture(PRESENT, folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey };
    const next = { ...nextProgram(ADD_A_COLUMN), settings };
    for (const remaining of [95, 94]) {
      await using server = await Server.start(folder, next);
      expect(await server.verify(keys.credits.key)).toMatchObject({ valid: true, remaining });
      expect(await server.stop()).toBe(0);
    }
    expect(versionOf(folder.join('data/keystile.db'))).toBe(NEXT_VERSION);
    const [copy = '', ...more] = backups(folder);
    expect(copy).toMatch(new RegExp(`^keystile\\.db\\.${PRESENT}\\.\\d{4}-\\d\\d-\\d\\dT[\\d-]+Z\\.backup$`));
    expect(more).toEqual([]);
    expect(versionOf(folder.join('data', copy))).toBe(SCHEMA_VERSION);

    // The older program refuses the database, and serves the copy with the counters from before.
    const refused = await offline(folder.join('data'), ['key', 'get', keys.credits.keyId], settings);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(`has schema version ${NEXT_VERSION}`);
    mkdirSync(folder.join('older'));
    copyFileSync(folder.join('data', copy), folder.join('older/keystile.db'));
    // What was answered since is lost with it, and has to be accepted.
    const accepting = { ...settings, KEYSTILE_ACCEPT_LOST_COMMITS: 'true' };
    expect(await remainingIn(folder.join('older'), keys.credits.keyId, accepting)).toBe(96);
  });

  test('a migration that fails changes nothing: the older program serves the database as before', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyFixture(PRESENT, folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    const broken = nextProgram(`${ADD_A_COLUMN} ALTER TABLE no_such_table ADD COLUMN note TEXT;`);
    const refused = await runToEnd({ ...broken, settings });
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toMatch(/^The database \S+ cannot be opened \([^\n]*no such table: no_such_table\)\.\n$/);
    expect(versionOf(folder.join('data/keystile.db'))).toBe(SCHEMA_VERSION);
    expect(await remainingIn(folder.join('data'), keys.credits.keyId, settings)).toBe(96);
  });

  test('a crash in the middle of a migration leaves the version before it: both programs serve the database', async () => {
    using folder = new TempFolder();
    const { keys, rootKey } = copyFixture(PRESENT, folder.join('data'));
    const settings = { KEYSTILE_ROOT_KEY: rootKey, KEYSTILE_DATA: folder.join('data') };
    const endless = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    const slow = nextProgram(`${ADD_A_COLUMN} CREATE TABLE slow AS ${endless};`);
    {
      await using migrating = new Child({ ...slow, settings });
      await until('the migration is under way', () => backups(folder).length === 1 && isLocked(folder));
      await migrating.kill9();
    }
    expect(versionOf(folder.join('data/keystile.db'))).toBe(SCHEMA_VERSION);
    expect(await remainingIn(folder.join('data'), keys.credits.keyId, settings)).toBe(96);
    await using next = await Server.start(folder, { ...nextProgram(ADD_A_COLUMN), settings });
    expect(await next.verify(keys.credits.key)).toMatchObject({ valid: true, remaining: 95 });
    expect(versionOf(folder.join('data/keystile.db'))).toBe(NEXT_VERSION);
    expect(backups(folder).length).toBe(2);
  });
});
