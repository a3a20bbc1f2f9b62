import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { until } from '../../../tools/cluster/wait.ts';
import { TestService } from '../../support/service.ts';
import { copyPresentFixture } from '../../support/fixtures/databases.ts';
import { offline } from '../documentation/offline.ts';
import { runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const STARTS_AT = '2026-03-15T12:00:00Z';

/** How often a file of this name is open in this process; 0 where the system does not tell. */
function openFiles(name: string): number {
  if (!existsSync('/proc/self/fd')) return 0;
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return links.filter((link) => link.endsWith(`/${name}`)).length;
}

async function totalOf(service: TestService, apiId: string): Promise<unknown> {
  const [row] = await service.ok('/v1/analytics.getVerifications', { apiId });
  return row.total;
}

describe('the file of the analytics', () => {
  test('is not needed: moved away, the service starts without counts, and every credit is there', async () => {
    const service = await TestService.start({ startsAt: STARTS_AT });
    try {
      const { key, apiId } = await service.createKey({ remaining: 5 });
      await service.verify(key);
      expect(await totalOf(service, apiId)).toBe(1);
      await service.stop();
      for (const end of ['', '-wal', '-shm']) rmSync(join(service.folder, `analytics.db${end}`), { force: true });
      await service.open();
      expect(await totalOf(service, apiId)).toBe(0);
      expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 3 });
      expect(await totalOf(service, apiId)).toBe(1);
    } finally {
      await service.close();
    }
  });

  test('fails while the service runs: verification goes on, and what was counted is there when it works again', async () => {
    const service = await TestService.start({ startsAt: STARTS_AT });
    try {
      const { key, apiId } = await service.createKey({ remaining: 5 });
      const { countWriting } = service.engine;
      using db = new Database(join(service.folder, 'analytics.db'));
      db.run('ALTER TABLE count_slices RENAME TO gone');
      for (let n = 0; n < 2; n++) {
        await service.verify(key);
        const failure = await countWriting.flush().catch((error: unknown) => String(error));
        expect(failure).toContain('no such table: count_slices');
      }
      expect(service.broken).toEqual([]);
      db.run('ALTER TABLE gone RENAME TO count_slices');
      expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 2 });
      expect(await totalOf(service, apiId)).toBe(3);
    } finally {
      await service.close();
    }
  });

  test.each(['count_slices', 'verdict_log'])(
    'fails again and again (%s): no thread and no file is left open',
    async (table) => {
      const service = await TestService.start({ startsAt: STARTS_AT });
      try {
        const { key, apiId } = await service.createKey();
        using db = new Database(join(service.folder, 'analytics.db'));
        db.run(`ALTER TABLE ${table} RENAME TO gone`);
        const fail = async (): Promise<void> => {
          await service.verify(key);
          expect((await service.call('/v1/analytics.getVerifications', { apiId })).status).toBe(503);
        };
        await fail();
        const before = openFiles('analytics.db');
        for (let n = 0; n < 10; n++) await fail();
        await until('what failed is closed', () => openFiles('analytics.db') <= before);
        db.run(`ALTER TABLE gone RENAME TO ${table}`);
        expect(await totalOf(service, apiId)).toBe(11);
      } finally {
        await service.close();
      }
    },
  );

  test('is for its user alone, whoever makes it', async () => {
    using folder = new TempFolder();
    copyPresentFixture(folder.path);
    for (const name of ['analytics.db', 'analytics.db-wal']) rmSync(folder.join(name), { force: true });
    expect((await offline(folder.path, ['root-key', 'list'])).code).toBe(0);
    expect(statSync(folder.join('analytics.db')).mode & 0o777).toBe(0o600);
  });

  test('damaged, or of a newer or a much older program: the start is refused with a sentence that names it', async () => {
    using folder = new TempFolder();
    const path = folder.join('analytics.db');
    writeFileSync(path, 'this is no database, whatever its name says; it is long enough to be looked at');
    const damaged = await runToEnd({ settings: { KEYSTILE_DATA: folder.path } });
    expect([damaged.code, damaged.stdout]).toEqual([78, '']);
    expect(damaged.stderr).toBe(
      `The analytics in ${path} cannot be opened (SQLITE_NOTADB: file is not a database). Move the file away to begin without counts.\n`,
    );
    rmSync(path);
    const writtenBy = (version: number, applicationId: number): void => {
      using written = new Database(path, { create: true });
      written.run(`PRAGMA user_version = ${version}`);
      written.run(`PRAGMA application_id = ${applicationId}`);
    };
    writtenBy(1, 0);
    const older = await offline(folder.path, ['root-key', 'list']);
    expect([older.code, older.out]).toEqual([1, '']);
    expect(older.err).toContain(
      `The analytics in ${path} were written by a program before 0.1.0. Move the file away to begin without counts.`,
    );
    writtenBy(99, 0x4b455941);
    const refused = await offline(folder.path, ['root-key', 'list']);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(`The analytics in ${path} have schema version 99, and this program knows up to 2.`);
  });

  test('a killed process loses nothing that was written down', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'crash' })) as { apiId: string };
    const { key } = await server.createKey({ apiId });
    for (let n = 0; n < 7; n++) await server.verify(key);
    // A node that is asked writes down what it has counted before it answers.
    expect((await server.ok('/v1/analytics.getVerifications', { apiId }))[0].total).toBe(7);
    await server.child.kill9();
    const after = await TestService.start({ folder: folder.join('data'), startsAt: new Date().toISOString() });
    try {
      expect(await totalOf(after, apiId)).toBe(7);
    } finally {
      await after.close();
    }
  });

  test('is written by itself: counts stand in the log, then in the sums, and the key has a last use', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder);
    const { keyId, key } = await server.createKey({});
    await server.verify(key);
    await until('the key has a last use', async () => {
      const { lastUsedAt } = await server.ok('/v1/keys.getKey', { keyId });
      return lastUsedAt !== undefined;
    });
    expect(await server.stop()).toBe(0);
    using db = new Database(folder.join('data/analytics.db'), { readonly: true });
    for (const table of ['count_slices', 'verdict_log']) {
      expect(db.query(`SELECT count(*) AS rows FROM ${table}`).get()).toEqual({ rows: 0 });
    }
    expect(db.query('SELECT span, count FROM key_verdicts WHERE key_id = ? ORDER BY span').all(keyId)).toEqual(
      [0, 1, 2].map((span) => ({ span, count: 1 })),
    );
  });

  test('tells a new process which tags were counted today: a refusal that has them counts under them', async () => {
    using folder = new TempFolder();
    const before = await TestService.start({ folder: folder.join('data'), startsAt: new Date().toISOString() });
    const { key, apiId } = await before.createKey();
    const off = await before.createKey({ apiId, enabled: false });
    await before.verify(key, { tags: ['a'] });
    await before.engine.countWriting.flush();
    await before.engine.countWriting.fold();
    await before.close();
    await using server = await Server.start(folder, { settings: { KEYSTILE_ROOT_KEY: before.rootKey } });
    await until('the tag is known', async () => {
      await server.verify(off.key, { tags: ['a'] });
      const [row] = await server.ok('/v1/analytics.getVerifications', { apiId, tag: 'a' });
      return row.disabled > 0;
    });
  });
});
