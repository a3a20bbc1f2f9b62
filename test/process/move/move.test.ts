import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  constants,
  copyFileSync,
  cpSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
  readFileSync,
  existsSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { DataFolder, findOwner } from '../../../src/storage/sqlite/file/dataFolder.ts';
import {
  noteMoved,
  noteText,
  readNote,
  readWorkspaceId,
  releaseMoved,
} from '../../../src/storage/sqlite/file/installation.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile, type Ran } from '../cli/cliRun.ts';
import { remainingIn } from '../documentation/offline.ts';
import { Child, PROGRAM, runToEnd, TempFolder, PROJECT } from '../process.ts';
import { Server } from '../server.ts';
import { TestService } from '../../support/service.ts';

describe('a service that was moved', () => {
  // Each start opens the database, which waits for the disk of a busy machine.
  setDefaultTimeout(60_000);

  const ACCEPTED = { KEYSTILE_ACCEPT_LOST_COMMITS: 'true' };
  const NOT_MOVED = { code: 1, out: '', err: 'This database was not moved. Nothing was changed.\n' };

  /** The folder of a service that was stopped: a key with 9 credits, and others that make its export longer than a pipe. */
  let original: TempFolder;
  let made: { keyId: string; key: string };

  beforeAll(async () => {
    original = new TempFolder();
    await using server = await Server.start(original);
    made = await server.createKey({ remaining: 10 });
    await server.createKeys(200, { meta: { text: 'x'.repeat(1000) } });
    await server.verify(made.key);
    expect(await server.stop()).toBe(0);
  });

  afterAll(() => original[Symbol.dispose]());

  /** The same for one test. A folder that is copied as a whole is the original as before. */
  function stopped(): TempFolder {
    const folder = new TempFolder();
    cpSync(original.path, folder.path, { recursive: true });
    return folder;
  }

  function data(folder: TempFolder, words: readonly string[], settings: Record<string, string> = {}): Promise<Ran> {
    return keystile(['data', ...words], { environment: { KEYSTILE_DATA: folder.join('data'), ...settings } });
  }

  const moves = (folder: TempFolder, settings: Record<string, string> = {}): Promise<Ran> =>
    data(folder, ['export', folder.join('moved'), '--move'], settings);
  const releases = (folder: TempFolder): Promise<Ran> => data(folder, ['release', '--yes']);

  test('a service is stopped, exported and imported: the source does not start until it is released', async () => {
    using folder = new TempFolder();
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const server = await Server.start(folder);
    const { keyId, key } = await server.createKey({ remaining: 10 });
    await server.verify(key);
    const { pid } = server.child;
    expect(await moves(folder)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(
        new RegExp(
          `^The data folder \\S+ is in use by process ${pid} on \\S+, started \\S+\\. That process is the service\\. Stop it first\\.\\n$`,
        ),
      ),
    });
    expect(readdirSync(folder.path)).toEqual(['data']);
    expect(await releases(folder)).toEqual(NOT_MOVED);
    // What is refused holds up nothing.
    expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 8 });
    expect(await server.stop()).toBe(0);

    expect(await moves(folder)).toMatchObject({
      code: 0,
      err: 'The service was moved, and does not start again. Import the data and start the new service, or go back with keystile data release.\n',
    });
    const into = { environment: { KEYSTILE_DATA: folder.join('new') } };
    expect(await keystile(['data', 'import', folder.join('moved')], into)).toMatchObject({ code: 0, err: '' });
    expect(await remainingIn(folder.join('new'), keyId)).toBe(8);

    const { code, stderr } = await runToEnd({ settings });
    expect([code, stderr]).toEqual([
      78,
      expect.stringMatching(
        /^The data folder \S+ was exported with --move at \S+ \S+ UTC, and its credits may be spent in another place now\. Start the service there\. To use this one again, run keystile data release: .*\n$/,
      ),
    ]);
    expect((await releases(folder)).out).toBe('released\n');
    await using again = await Server.start(folder);
    expect(await again.verify(key)).toMatchObject({ valid: true, remaining: 7 });
  });

  describe('a move refuses what a start refuses', () => {
    test('a copy of the database, until it is accepted', async () => {
      using folder = stopped();
      mkdirSync(folder.join('copy'));
      for (const name of ['keystile.db', 'analytics.db'])
        copyFileSync(folder.join('data', name), folder.join('copy', name));
      const settings = { KEYSTILE_DATA: folder.join('copy') };
      const refused = await moves(folder, settings);
      expect(refused).toEqual({ code: 1, out: '', err: (await runToEnd({ settings })).stderr });
      expect(refused.err).toStartWith(`The database in ${folder.join('copy')} is a copy: `);
      expect(readdirSync(folder.path).sort()).toEqual(['copy', 'data']);
      expect((await moves(folder, { ...settings, ...ACCEPTED })).code).toBe(0);
    });

    test('a database that has lost commits, until that is accepted', async () => {
      using folder = stopped();
      const note = readNote(folder.join('data')) ?? { number: 0, id: '' };
      writeFileSync(folder.join('data/commit-number'), noteText({ ...note, number: note.number + 1 }));
      const refused = await moves(folder);
      expect(refused).toEqual({
        code: 1,
        out: '',
        err: (await runToEnd({ settings: { KEYSTILE_DATA: folder.join('data') } })).stderr,
      });
      expect(refused.err).toContain(
        `its last commit is number ${note.number}, but commit number ${note.number + 1} was`,
      );
      expect(readdirSync(folder.path)).toEqual(['data']);
      expect((await moves(folder, ACCEPTED)).code).toBe(0);
    });

    test('a service that was killed is whole with what is only in its log', async () => {
      using folder = stopped();
      {
        await using server = await Server.start(folder);
        expect(await server.verify(made.key)).toMatchObject({ remaining: 8 });
        await server.child.kill9();
      }
      // It was copied without its index of the log, which a start makes anew.
      rmSync(folder.join('data/keystile.db-shm'));
      expect((await moves(folder)).code).toBe(0);
      await data(folder, ['import', folder.join('moved'), '--data', folder.join('new')]);
      expect(await remainingIn(folder.join('new'), made.keyId)).toBe(8);
    });

    test('a folder whose database is missing', async () => {
      using folder = stopped();
      rmSync(folder.join('data/keystile.db'));
      const refused = await moves(folder);
      expect(refused).toEqual({
        code: 1,
        out: '',
        err: (await runToEnd({ settings: { KEYSTILE_DATA: folder.join('data') } })).stderr,
      });
      expect(refused.err).toContain('has no keystile.db, but commit number ');
      expect((await moves(folder, ACCEPTED)).err).toBe(
        `There is no database in ${folder.join('data')}. Set KEYSTILE_DATA to the data folder of the service.\n`,
      );
    });
  });

  test('a folder that another command uses is waited for, and not stopped', async () => {
    using folder = stopped();
    const startedAt = '2026-01-01T00:00:00.000Z';
    const owner = { pid: 4711, host: hostname(), startedAt, control: null, url: null };
    // Kept: a lock that nothing refers to is dropped when the garbage is collected.
    const owned = { lock: DataFolder.own(folder.join('data'), owner) };
    const refused = {
      code: 1,
      out: '',
      err: `The data folder ${folder.join('data')} is in use by process 4711 on ${hostname()}, started ${startedAt}. That process is another command. Run this one again when it has ended.\n`,
    };
    expect(await moves(folder)).toEqual(refused);
    owned.lock.release();
    expect((await moves(folder)).code).toBe(0);
    owned.lock = DataFolder.own(folder.join('data'), owner);
    expect(await releases(folder)).toEqual(refused);
    owned.lock.release();
  });

  describe('an export that ends early moves nothing, and leaves no lock', () => {
    test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)('by %s while its pipe is full', async (signal) => {
      using folder = stopped();
      Bun.spawnSync(['mkfifo', folder.join('pipe')]);
      const pipe = openSync(folder.join('pipe'), constants.O_RDONLY | constants.O_NONBLOCK);
      await using child = new Child({
        command: ['sh', '-c', 'exec "$@" > "$0"', folder.join('pipe'), ...PROGRAM, 'data', 'export', '-', '--move'],
        settings: { KEYSTILE_DATA: folder.join('data') },
      });
      await until('it writes', () => hasBytes(pipe));
      expect(findOwner(folder.join('data'))?.pid).toBe(child.pid);
      child.signal(signal);
      expect([await child.exited(), child.stderr]).toEqual([signal === 'SIGKILL' ? -1 : 130, '']);
      closeSync(pipe);
      expect(findOwner(folder.join('data'))).toBeNull();
      expect(await releases(folder)).toEqual(NOT_MOVED);
    });

    test('by a disk that is full', async () => {
      using folder = stopped();
      // Files may have so many blocks of 512 bytes: a longer write fails as on a full disk.
      const limited = `trap '' XFSZ; ulimit -f 80; exec "$@"`;
      const { code, stderr } = await runToEnd({
        command: ['sh', '-c', limited, 'sh', ...PROGRAM, 'data', 'export', folder.join('full'), '--move'],
        settings: { KEYSTILE_DATA: folder.join('data') },
      });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^The export \S+ was not made \(EFBIG/)]);
      expect(readdirSync(folder.path)).toEqual(['data']);
      expect(await releases(folder)).toEqual(NOT_MOVED);
    });
  });

  function hasBytes(pipe: number): boolean {
    try {
      return readSync(pipe, Buffer.alloc(1)) > 0;
    } catch (error) {
      if ((error as { code?: string }).code === 'EAGAIN') return false;
      throw error;
    }
  }

  test('a release asks first', async () => {
    using folder = stopped();
    expect(await data(folder, ['release'])).toEqual({
      code: 2,
      out: '',
      err: 'data release asks for confirmation, and standard input is not a terminal. Add --yes to confirm.\n',
    });
  });

  test('a release adds one entry to the audit log', () => {
    using folder = stopped();
    using db = new Database(folder.join('data/keystile.db'));
    noteMoved(db, { exportId: 'export_1', atMs: 0 });
    expect([releaseMoved(db, 9), releaseMoved(db, 10)]).toEqual([true, false]);
    const entries = "SELECT at_ms, actor, action, target FROM audit_entries WHERE action LIKE 'installation.%'";
    expect(db.query(entries).all()).toEqual([
      { at_ms: 9, actor: 'cli', action: 'installation.release', target: readWorkspaceId(db) },
    ]);
  });
});

test('an export that was made without --move is imported only with --accept, and one with it at once', async () => {
  using own = new TempFolder();
  const from = { KEYSTILE_DATA: own.join('data') };
  const service = await TestService.start({ folder: own.join('data') });
  await service.close();
  await keystile(['data', 'export', own.join('whole')], { environment: from });
  const environment = { KEYSTILE_DATA: own.join('new') };
  const comesBack =
    /^The export was made without --move at \S+ \S+ UTC\. Credits that were spent after that come back, and keys that were revoked after that are valid again\. /;
  const refused = await keystile(['data', 'import', own.join('whole')], { environment });
  expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(comesBack)]);
  expect(refused.err).toEndWith(' Nothing was changed. To import it, add --accept.\n');
  expect(readdirSync(own.path).sort()).toEqual(['data', 'whole']);
  const accepted = await keystile(['data', 'import', own.join('whole'), '--accept'], { environment });
  expect([accepted.code, accepted.err]).toEqual([0, expect.stringMatching(comesBack)]);
  await keystile(['data', 'export', own.join('moved'), '--move'], { environment });
  const moved = await keystile(['data', 'import', own.join('moved')], {
    environment: { KEYSTILE_DATA: own.join('b') },
  });
  expect([moved.code, moved.err]).toEqual([0, '']);
});

test('a data folder and PostgreSQL at once are refused by all three commands', async () => {
  const environment = { KEYSTILE_DATABASE_URL: 'postgres://nowhere/keystile' };
  for (const words of [
    ['export', 'b'],
    ['import', 'whole'],
    ['release', '--yes'],
  ])
    expect(await keystile(['data', ...words, '--data', 'data'], { environment })).toEqual({
      code: 2,
      out: '',
      err: '--data names a data folder, and KEYSTILE_DATABASE_URL names a PostgreSQL database. Leave one of them out.\n',
    });
});

test('what docs/move.md shows works while a service runs, and the new folder has the same balance', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  const { keyId, key } = await server.createKey({ remaining: 5 });
  await server.verify(key);
  const page = readFileSync(join(PROJECT, 'docs/move.md'), 'utf8');
  const [, shown = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const program = `keystile() { ${PROGRAM.map((word) => `'${word}'`).join(' ')} "$@"; }`;
  const { code, stdout, stderr } = await runToEnd({
    command: ['sh', '-ec', `${program}\n${shown}`],
    settings: { KEYSTILE_DATA: folder.join('data') },
    cwd: folder.path,
  });
  expect([code, stderr]).toEqual([0, expect.stringContaining('The export was made without --move at ')]);
  expect(stdout).toMatch(/^export +keystile\.ndjson$[\s\S]*^imported +moved$/m);
  expect(await remainingIn(folder.join('moved'), keyId)).toBe(4);
});

describe('signed exports', () => {
  const [KEY, OTHER] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];

  let folder: TempFolder;
  let signed: string;
  let unsigned: string;

  beforeAll(async () => {
    folder = new TempFolder();
    {
      await using server = await Server.start(folder);
      await server.ok('/v1/rootKeys.createRootKey', { name: 'low', permissions: ['api.*.read_api'] });
      await server.stop();
    }
    const exported = async (file: string, copyKey: object): Promise<string> => {
      const environment = { KEYSTILE_DATA: folder.join('data'), ...copyKey };
      const ran = await keystile(['data', 'export', folder.join(file), '--json'], { environment });
      expect([ran.code, JSON.parse(ran.out)]).toMatchObject([0, { signed: 'KEYSTILE_COPY_KEY' in copyKey }]);
      return readFileSync(folder.join(file), 'utf8');
    };
    signed = await exported('signed', { KEYSTILE_COPY_KEY: KEY });
    unsigned = await exported('unsigned', {});
  });

  afterAll(() => folder[Symbol.dispose]());

  let imported = 0;

  /** Imports a text, from a file and from standard input. Answers both outcomes, which are the same but for the name of the file. */
  async function imports(text: string, key: string | null, ...flags: string[]): Promise<Ran & { data: string }> {
    const [file, data] = [folder.join(`file-${imported}`), folder.join(`imported-${imported++}`)];
    writeFileSync(file, text);
    const settings = { KEYSTILE_DATA: data, ...(key === null ? {} : { KEYSTILE_COPY_KEY: key }) };
    const ran = await keystile(['data', 'import', file, '--accept', ...flags], { environment: settings });
    const environment = { ...settings, KEYSTILE_DATA: `${data}-piped` };
    const piped = await keystile(['data', 'import', '-', '--accept', ...flags], { environment, piped: text });
    expect([piped.code, existsSync(`${data}-piped`)]).toEqual([ran.code, existsSync(data)]);
    if (ran.code !== 0) expect(piped.err).toBe(ran.err.replace(file, 'Standard input'));
    return { ...ran, err: ran.err.replace(file, 'FILE'), data };
  }

  const FORGED =
    'FILE was changed, or was made with another key: its signature does not match KEYSTILE_COPY_KEY. Use another copy, or add the key that it was made with to KEYSTILE_COPY_KEY, behind a comma.\n';

  const UNSIGNED =
    'FILE is not signed, and KEYSTILE_COPY_KEY is set: whoever could write the file can have changed it. If you know where it has been since it was made, add --accept-unsigned.\n';

  /** With more rights, and a checksum that fits. `trailer`: what it says besides. */
  function forged(text: string, trailer: (own: Record<string, unknown>) => object): string {
    const more = text.replace('[\\"api.*.read_api\\"]', '[\\"*\\"]');
    expect(more).not.toBe(text);
    const lines = more.split('\n');
    const own = JSON.parse(lines.at(-2) ?? '') as Record<string, unknown>;
    const body = `${lines.slice(0, -2).join('\n')}\n`;
    const sha256 = new Bun.CryptoHasher('sha256').update(body).digest('hex');
    return `${body}${JSON.stringify({ ...trailer(own), sha256 })}\n`;
  }

  test('a signed export is imported with its key, and its origin is told', async () => {
    for (const key of [KEY, `${OTHER}, ${KEY}`]) {
      const { code, out, data } = await imports(signed, key);
      expect([code, out]).toEqual([0, expect.stringContaining('proved: it was made with KEYSTILE_COPY_KEY')]);
      using db = new Database(`${data}/keystile.db`);
      expect(db.query('SELECT count(*) AS count FROM root_keys').get()).toEqual({ count: 2 });
    }
    expect(await imports(signed, null)).toMatchObject({
      code: 0,
      out: expect.stringContaining('not proved: it is signed'),
    });
  });

  test('an export that was changed is refused, however its checksum is made to fit, and nothing is made of it', async () => {
    const kept = forged(signed, (own) => own);
    const made = forged(signed, (own) => ({ ...own, hmac: '0'.repeat(64) }));
    const stripped = forged(signed, ({ rows }) => ({ rows }));
    for (const flags of [[], ['--accept-unsigned']]) {
      for (const text of [kept, made])
        expect(await imports(text, KEY, ...flags)).toMatchObject({ code: 1, out: '', err: FORGED });
      expect(await imports(signed, OTHER, ...flags)).toMatchObject({ code: 1, out: '', err: FORGED });
    }
    expect(await imports(stripped, KEY)).toMatchObject({ code: 1, out: '', err: UNSIGNED });
  });

  test('an export of before, which is not signed, is imported without a key as ever, and with one after it is accepted', async () => {
    expect(await imports(unsigned, null)).toMatchObject({
      code: 0,
      out: expect.stringContaining('not proved: it is not signed'),
    });
    expect(await imports(unsigned, KEY)).toMatchObject({ code: 1, out: '', err: UNSIGNED });
    expect((await imports(unsigned, KEY, '--accept-unsigned')).code).toBe(0);
  });

  test('the signature of a backup proves no export', async () => {
    const { signatureOf } = await import('../../../src/storage/sql/copySignature.ts');
    const [key, sha256] = [Buffer.from(KEY, 'base64'), 'a'.repeat(64)];
    expect(signatureOf(key, 'backup', sha256)).not.toBe(signatureOf(key, 'export', sha256));
  });
});
