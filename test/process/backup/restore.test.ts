import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { VERSION } from '../../../src/version.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { offline, remainingIn } from '../documentation/offline.ts';
import { TempFolder, PROGRAM, PROJECT, runToEnd } from '../process.ts';
import { ROOT_KEY, Server } from '../server.ts';
import { type KeyLoad, verifyUnderLoad } from '../load.ts';

describe('backup and restore', () => {
  /** A data folder with a key of 10 credits and a webhook, and its backup. Three credits were spent and a key was revoked since. */
  let original: TempFolder;
  let made: { key: string; keyId: string };
  let madeAtMs = 0;

  beforeAll(async () => {
    original = new TempFolder();
    await using server = await Server.start(original, { settings: { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' } });
    made = await server.createKey({ remaining: 10 });
    await server.ok('/v1/webhooks.createWebhook', { url: 'http://127.0.0.1:9/hook' });
    const environment = { KEYSTILE_DATA: original.join('data') };
    const { out } = await keystile(['backup', 'create', original.join('a.backup'), '--json'], { environment });
    madeAtMs = (JSON.parse(out) as { madeAt: number }).madeAt;
    for (let i = 0; i < 3; i++) await server.verify(made.key);
    expect(await server.stop()).toBe(0);
  });

  afterAll(() => original[Symbol.dispose]());

  function restore(...words: string[]): Promise<Ran> {
    return keystile(['backup', 'restore', original.join('a.backup'), ...words]);
  }

  function shown(unixMs: number): string {
    return `${new Date(unixMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  }

  function missing(): string {
    return (
      `The backup was made ${shown(madeAtMs)}. Credits that were spent after that come back, ` +
      'and keys and root keys that were revoked after that are valid again.'
    );
  }

  describe('a backup', () => {
    test('is one file that only its owner can read; it holds what the data folder needs, and no root key', () => {
      const file = original.join('a.backup');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readdirSync(original.path).sort()).toEqual(['a.backup', 'data']);
      const parts = readFileSync(file, 'latin1').matchAll(/\{"name":"([\w.-]+)","bytes":\d+\}\n/g);
      expect([...parts].map(([, name]) => name)).toEqual(['analytics.db', 'keystile.db', 'encryption-key']);
      expect(readFileSync(file, 'latin1')).not.toContain(ROOT_KEY);
    });

    test('is verified: what is in it, and when it was made', async () => {
      const { code, out } = await keystile(['backup', 'verify', original.join('a.backup'), '--json']);
      expect([code, JSON.parse(out)]).toEqual([
        0,
        {
          isSound: true,
          madeAt: madeAtMs,
          program: VERSION,
          bytes: statSync(original.join('a.backup')).size,
          authentic: false,
          encryptionKey: true,
          contents: { apis: 1, keys: 1, identities: 0, plans: 0, rootKeys: 1, auditEntries: 4 },
        },
      ]);
      const text = (await keystile(['backup', 'verify', original.join('a.backup')])).out;
      expect(text).toStartWith(
        `backup          sound: its checksum and databases are right\norigin          not proved: it is not signed, so whoever could write the file can have changed it\nmade            ${shown(madeAtMs)}`,
      );
    });
  });

  describe('a restore', () => {
    test('says what will be missing, and changes nothing until that is accepted', async () => {
      using folder = new TempFolder();
      const refused = await restore('--data', folder.join('data'));
      expect(refused).toEqual({
        code: 2,
        out: '',
        err: `${missing()} Nothing was changed. To restore it, add --accept.\n`,
      });
      expect(readdirSync(folder.path)).toEqual([]);
    });

    test('makes a folder of its own that starts at once, and says at every start where it came from', async () => {
      using folder = new TempFolder();
      const { code, err } = await restore('--data', folder.join('data'), '--accept');
      expect([code, err]).toEqual([0, `${missing()} Correct both before clients use the service.\n`]);
      expect(statSync(folder.join('data')).mode & 0o777).toBe(0o700);
      const key = 'encryption-key';
      expect(readFileSync(folder.join('data', key))).toEqual(readFileSync(original.join('data', key)));
      for (let start = 0; start < 2; start++) {
        await using server = await Server.start(folder);
        expect(server.child.stdout).toMatch(
          /^ {2}Restored {2}\S+ \S+ UTC from a backup of .* UTC; what changed in between is missing$/m,
        );
        expect(await server.remaining(made.keyId)).toBe(10);
        const { entries } = (await server.ok('/v1/audit.listEntries', { action: 'installation.restore' })) as {
          entries: { actor: string; after: unknown }[];
        };
        expect(entries.map(({ actor, after }) => ({ actor, after }))).toEqual([
          { actor: 'cli', after: { madeAt: madeAtMs } },
        ]);
        expect(await server.stop()).toBe(0);
      }
      expect(await remainingIn(original.join('data'), made.keyId)).toBe(7);
      // It is a database of its own: the files of the original are not accepted in its folder.
      copyFileSync(original.join('data/keystile.db'), folder.join('data/keystile.db'));
      expect((await offline(folder.join('data'), ['key', 'get', made.keyId])).err).toContain('is a copy');
    });

    test('ends the sessions that were open: one that was ended since must not be valid again', async () => {
      using folder = new TempFolder();
      cpSync(original.join('data'), folder.join('data'), { recursive: true });
      {
        using db = new Database(folder.join('data/keystile.db'));
        db.run("INSERT INTO sessions VALUES ('s', 'digest', 'rk', 1, 1, 9e12, NULL, NULL)");
      }
      const environment = { KEYSTILE_DATA: folder.join('data') };
      expect((await keystile(['backup', 'create', folder.join('s.backup')], { environment })).code).toBe(0);
      const words = ['backup', 'restore', folder.join('s.backup'), '--accept', '--data', folder.join('new')];
      expect((await keystile(words)).code).toBe(0);
      using db = new Database(folder.join('new/keystile.db'), { readonly: true });
      expect(db.query('SELECT count(*) AS count FROM sessions').get()).toEqual({ count: 0 });
    });

    test('refuses an existing folder; --force moves it aside with everything in it', async () => {
      using folder = new TempFolder();
      const data = folder.join('data');
      cpSync(original.join('data'), data, { recursive: true });
      writeFileSync(folder.join('data/mine'), 'kept');
      const refused = await restore('--data', data, '--accept');
      expect([refused.code, refused.err]).toEqual([
        1,
        `The data folder ${data} exists. Name another one with --data, or move it aside with --force. Nothing is deleted.\n`,
      ]);
      const { code, out } = await restore('--data', data, '--accept', '--force', '--json');
      const { movedTo } = JSON.parse(out) as { movedTo: string };
      expect([code, JSON.parse(out)]).toEqual([0, { folder: data, madeAt: madeAtMs, authentic: false, movedTo }]);
      expect(movedTo).toStartWith(`${data}.before-restore-`);
      expect(readFileSync(`${movedTo}/mine`, 'utf8')).toBe('kept');
      expect(await remainingIn(movedTo, made.keyId)).toBe(7);
      expect(await remainingIn(data, made.keyId)).toBe(10);
      expect(readdirSync(folder.path).length).toBe(2);
    });

    test('a link to the folder stays, and leads to the restored one', async () => {
      using folder = new TempFolder();
      cpSync(original.join('data'), folder.join('disk/data'), { recursive: true });
      symlinkSync(folder.join('disk/data'), folder.join('data'));
      expect((await restore('--data', folder.join('data'), '--accept', '--force')).code).toBe(0);
      expect(readdirSync(folder.path).sort()).toEqual(['data', 'disk']);
      expect(await remainingIn(folder.join('disk/data'), made.keyId)).toBe(10);
      expect(await remainingIn(folder.join('data'), made.keyId)).toBe(10);
    });

    test('makes the folders above, as a start does; a file in their place is told', async () => {
      using folder = new TempFolder();
      expect((await restore('--data', folder.join('a/b/data'), '--accept')).code).toBe(0);
      expect(await remainingIn(folder.join('a/b/data'), made.keyId)).toBe(10);
      writeFileSync(folder.join('file'), '');
      expect((await restore('--data', folder.join('file'), '--accept')).err).toContain(
        `${folder.join('file')} is a file`,
      );
      const { code, err } = await restore('--data', folder.join('file/data'), '--accept');
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(
          /^The data folder \S+ was not restored \(ENOTDIR.*\)\. Nothing was changed\. Check the disk\.\n$/,
        ),
      ]);
    });

    test('an empty folder is free', async () => {
      using folder = new TempFolder();
      mkdirSync(folder.join('data'));
      expect((await restore('--data', folder.join('data'), '--accept')).code).toBe(0);
      expect(await remainingIn(folder.join('data'), made.keyId)).toBe(10);
    });

    test('--force does not take the folder of a running service', async () => {
      using folder = new TempFolder();
      await using server = await Server.start(folder);
      const { code, err } = await restore('--data', folder.join('data'), '--accept', '--force');
      expect([code, err]).toEqual([1, expect.stringContaining(`is in use by process ${server.child.pid}`)]);
      expect(readdirSync(folder.path)).toEqual(['data']);
      expect(existsSync(folder.join('data/commit-number'))).toBe(true);
    });
  });
});

test('what docs/backup.md shows works while a service runs', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  await server.createKey({ remaining: 5 });
  const page = readFileSync(join(PROJECT, 'docs/backup.md'), 'utf8');
  const [, shown = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const program = `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`;
  const { code, stdout, stderr } = await runToEnd({
    command: ['sh', '-ec', `${program}\n${shown}`],
    settings: { KEYSTILE_DATA: folder.join('data') },
    cwd: folder.path,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^backup +\S+keystile\.backup$[\s\S]*^backup +sound: [\s\S]*^restored +\S+restored$/m);
  expect(stderr).toEndWith('Correct both before clients use the service.\n');
});

const CLIENTS = 16;
const CREDITS = 100_000;
const REQUESTS = 80;

test('a backup under load has every spend that was answered before it began, on both paths of a commit', async () => {
  using folder = new TempFolder();
  const restored = folder.join('restored');
  const environment = { KEYSTILE_DATA: folder.join('data') };
  const file = folder.join('a.backup');
  const loads: KeyLoad[] = [];
  let answeredBefore: readonly number[] = [];
  let sentBefore: readonly number[] = [];
  {
    await using server = await Server.start(folder);
    for (const made of await server.createKeys(3, { remaining: CREDITS }))
      loads.push({ ...made, valid: 0, unanswered: 0 });
    const halfway = Promise.withResolvers<void>();
    const load = verifyUnderLoad(server, loads, {
      clients: CLIENTS,
      maxRequests: REQUESTS,
      // Half of the spends are remembered under an idempotency key: those go through the writer thread.
      fields: (client, request) => (request % 2 === 0 ? {} : { idempotencyKey: `spend-${client}-${request}` }),
      onValid: (count) => {
        if (count === (CLIENTS * REQUESTS) / 2) halfway.resolve();
      },
    });
    await halfway.promise;
    answeredBefore = loads.map(({ valid }) => valid);
    const made = await keystile(['backup', 'create', file], { environment });
    sentBefore = loads.map(({ valid }) => valid + CLIENTS);
    expect([made.code, made.err]).toEqual([0, '']);
    await load;
    expect(await server.stop()).toBe(0);
  }
  expect((await keystile(['backup', 'restore', file, '--data', restored, '--accept'])).code).toBe(0);
  for (const [i, { keyId, valid }] of loads.entries()) {
    const spent = CREDITS - (await remainingIn(restored, keyId));
    expect(spent).toBeGreaterThanOrEqual(answeredBefore[i] ?? Number.NaN);
    expect(spent).toBeLessThanOrEqual(sentBefore[i] ?? Number.NaN);
    expect(await remainingIn(folder.join('data'), keyId)).toBe(CREDITS - valid);
  }
});
