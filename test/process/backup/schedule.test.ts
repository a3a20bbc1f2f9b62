import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';

import type { Turn } from '../../../src/storage/port/tasks.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { TestService } from '../../support/service.ts';
import { keystile } from '../cli/cliRun.ts';
import { runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const HOUR_MS = 3_600_000;
const TURN: Turn = { rest: async () => true, until: (event) => event };

let folder: TempFolder;
let service: TestService;

beforeEach(async () => {
  folder = new TempFolder();
  const settings = {
    KEYSTILE_BACKUP_FOLDER: folder.join('backups'),
    KEYSTILE_BACKUP_EVERY: '1h',
    KEYSTILE_BACKUP_KEEP: '2',
  };
  service = await TestService.start({ settings, startsAt: '2026-03-15T12:00:00Z' });
});

afterEach(async () => {
  await service.close();
  folder[Symbol.dispose]();
});

/** One turn of the task. Answers why it failed. */
async function run(): Promise<string | null> {
  const { backups } = service.composed;
  if (backups === null) throw new Error('no backups are scheduled');
  return backups.run(TURN).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

/** How the names of this service begin. */
function prefix(): string {
  return `keystile-${service.storage.workspaceId}-${service.storage.folderId}-`;
}

/** The times of the backups in the folder. */
function times(): string[] {
  return readdirSync(folder.join('backups'))
    .map((name) => name.replace(`${prefix()}2026-03-`, '').replace('-000Z.backup', ''))
    .sort();
}

async function problems(): Promise<string[]> {
  // The status is shared for a second.
  service.clock.advance(1000);
  const status = (await service.ok('/v1/service.getStatus', {})) as { problems: { name: string; text: string }[] };
  return status.problems.filter(({ name }) => name === 'backups').map(({ text }) => text);
}

describe('scheduled backups', () => {
  test('one is made at once and then every period, for this user alone; the oldest are removed', async () => {
    expect(await run()).toBeNull();
    expect(times()).toEqual(['15T12-00-00']);
    expect(statSync(folder.join('backups')).mode & 0o777).toBe(0o700);
    service.clock.advance(HOUR_MS - 1);
    expect(await run()).toBeNull();
    expect(service.composed.backups?.ageMs).toBe(HOUR_MS - 1);
    expect(times()).toEqual(['15T12-00-00']);
    service.clock.advance(1);
    expect(await run()).toBeNull();
    service.clock.advance(HOUR_MS);
    expect(await run()).toBeNull();
    expect(times()).toEqual(['15T13-00-00', '15T14-00-00']);
    const [newest = ''] = readdirSync(folder.join('backups')).sort().slice(-1);
    expect((await keystile(['backup', 'verify', folder.join('backups', newest)])).code).toBe(0);
    expect(service.logLines.filter((line) => line.includes('an old backup was removed')).length).toBe(1);
  });

  test('a restart does not begin a new period', async () => {
    await run();
    service.clock.advance(HOUR_MS / 2);
    await service.restart();
    await run();
    expect(times()).toEqual(['15T12-00-00']);
    service.clock.advance(HOUR_MS / 2);
    await run();
    expect(times()).toEqual(['15T12-00-00', '15T13-00-00']);
  });

  test('files of others are left alone: of another installation, of another copy of this one, of a person, and what another process is making', async () => {
    mkdirSync(folder.join('backups'));
    const ours = `${prefix()}2026-03-15T11-00-00-000Z.backup`;
    const others = [
      `keystile-${service.storage.workspaceId}-folder_other-2026-03-01T00-00-00-000Z.backup`,
      `keystile-${service.storage.workspaceId}-2026-03-01T00-00-00-000Z.backup`,
      'keystile-ws_other-2026-03-01T00-00-00-000Z.backup',
      'mine.backup',
      `${ours}.partial-1`,
    ];
    for (const name of others) writeFileSync(folder.join('backups', name), '');
    // Left by a process that was killed: no process has this number.
    mkdirSync(folder.join('backups', `${ours}.partial-4194305`));
    for (let i = 0; i < 4; i++) {
      expect(await run()).toBeNull();
      service.clock.advance(HOUR_MS);
    }
    expect(times().filter((name) => /^15T[\d-]+$/.test(name))).toEqual(['15T14-00-00', '15T15-00-00']);
    expect(readdirSync(folder.join('backups'))).toEqual(expect.arrayContaining(others));
    expect(readdirSync(folder.join('backups')).length).toBe(7);
  });

  test('a clock that was wrong neither stops backups nor removes those that it has named', async () => {
    service.clock.set('2026-03-25T00:00:00Z');
    await run();
    service.clock.set('2026-03-15T12:00:00Z');
    for (let i = 0; i < 3; i++) {
      expect(await run()).toBeNull();
      service.clock.advance(HOUR_MS);
    }
    expect(times()).toEqual(['15T13-00-00', '15T14-00-00', '25T00-00-00']);
  });

  test('a failure is told in the status until a backup is made; it is tried again after ten minutes, and nothing is removed', async () => {
    await run();
    expect(await problems()).toEqual([]);
    rmSync(folder.join('backups'), { recursive: true });
    writeFileSync(folder.join('backups'), 'in the way');
    service.clock.advance(HOUR_MS);
    const reason = `The folder ${folder.join('backups')} of KEYSTILE_BACKUP_FOLDER cannot be used (ENOTDIR). Check that it is a folder in which this user may write.`;
    expect(await run()).toBe(reason);
    expect(await problems()).toEqual([
      `Scheduled backups fail: ${reason} No backup of this data folder was found in ${folder.join('backups')}.`,
    ]);
    rmSync(folder.join('backups'));
    mkdirSync(folder.join('backups'));
    service.clock.advance(9 * 60_000);
    expect(await run()).toBeNull();
    expect((await problems()).length).toBe(1);
    service.clock.advance(60_000);
    expect(await run()).toBeNull();
    expect(times().length).toBe(1);
    expect(await problems()).toEqual([]);
  });
});

describe('backups that are gone', () => {
  test('are told at once, and a new one is made within a minute', async () => {
    await run();
    rmSync(folder.join('backups', `${prefix()}2026-03-15T12-00-00-000Z.backup`));
    expect(await problems()).toEqual([
      `A backup is due every 60 minutes. No backup of this data folder was found in ${folder.join('backups')}.`,
    ]);
    service.clock.advance(58_999);
    await run();
    expect(times()).toEqual([]);
    service.clock.advance(1);
    await run();
    expect(times()).toEqual(['15T12-01-00']);
    expect(await problems()).toEqual([]);
  });

  test('with their folder are told, and the folder of a disk that is not mounted is not made', async () => {
    await run();
    rmSync(folder.join('backups'), { recursive: true });
    const reason = `The folder ${folder.join('backups')} of KEYSTILE_BACKUP_FOLDER cannot be used (ENOENT). Check that its disk is mounted, or make the folder.`;
    expect((await problems())[0]).toStartWith(`Scheduled backups fail: ${reason}`);
    service.clock.advance(60_000);
    expect(await run()).toBe(reason);
    expect(service.composed.backups?.ageMs).toBe(61_000);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test('a start makes the last folder of the path only', async () => {
    using own = new TempFolder();
    const settings = { KEYSTILE_BACKUP_FOLDER: own.join('disk/backups') };
    const other = await TestService.start({ settings });
    try {
      const failed = await other.composed.backups?.run(TURN).catch((error: unknown) => String(error));
      expect(failed).toContain('cannot be used (ENOENT). Check that its disk is mounted, or make the folder.');
      expect(readdirSync(own.path)).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

test('a start refuses a folder for backups in the data folder, also through a link, and makes nothing', async () => {
  using own = new TempFolder();
  symlinkSync('.', own.join('link'));
  const settings = { KEYSTILE_DATA: own.join('data'), KEYSTILE_BACKUP_FOLDER: own.join('link/data/backups') };
  expect(await runToEnd({ settings })).toEqual({
    code: 78,
    stdout: '',
    stderr: `The folder ${own.join('link/data/backups')} of KEYSTILE_BACKUP_FOLDER is in the data folder ${own.join('data')}. Set it to another folder: a backup must not be lost with what it is a copy of.\n`,
  });
  expect(readdirSync(own.path)).toEqual(['link']);
});

test('a service starts while the folder for backups cannot even be looked at, and tells of it', async () => {
  using own = new TempFolder();
  await using server = await Server.start(own, { settings: { KEYSTILE_BACKUP_FOLDER: own.join('x'.repeat(300)) } });
  await until('the log tells of it', () => server.child.stderr.includes('cannot be used (ENAMETOOLONG)'));
  expect(await server.stop()).toBe(0);
});

test('a running service makes them by itself', async () => {
  using own = new TempFolder();
  mkdirSync(own.join('backups'));
  const copyKey = { KEYSTILE_COPY_KEY: Buffer.alloc(32, 1).toString('base64') };
  const settings = { KEYSTILE_BACKUP_FOLDER: own.join('backups'), ...copyKey };
  await using server = await Server.start(own, { settings });
  const made = (): string[] => readdirSync(own.join('backups')).filter((name) => name.endsWith('.backup'));
  await until('a backup is there', () => made().length > 0);
  const [, metrics = ''] = /metrics on (\S+)/.exec(server.child.stdout) ?? [];
  await until('the metrics tell of it', async () =>
    /^keystile_backup_age_seconds \d/m.test(await (await fetch(`http://${metrics}/metrics`)).text()),
  );
  expect(await server.stop()).toBe(0);
  const file = own.join('backups', made()[0] ?? '');
  const words = ['backup', 'restore', file, '--data', own.join('restored'), '--accept', '--json'];
  const { code, out } = await keystile(words, { environment: copyKey });
  expect([code, JSON.parse(out)]).toMatchObject([0, { authentic: true }]);
});
