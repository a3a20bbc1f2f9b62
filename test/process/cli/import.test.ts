import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { type Situation, SITUATIONS } from './cliRun.ts';
import { PROJECT, TempFolder, Child, PROGRAM } from '../process.ts';
import { Server } from '../server.ts';

/** Lets requests through to a server; from the one with this number on no answer comes back. */
class Gate implements AsyncDisposable {
  readonly #server;
  #passed = 0;
  #closesAt = Infinity;
  readonly #heldUp = Promise.withResolvers<void>();

  constructor(target: string) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        const isCounted = pathname === '/v1/migrations.createKeys' && ++this.#passed > 0;
        const isHeldUp = isCounted && this.#passed >= this.#closesAt;
        const body = request.method === 'GET' ? null : await request.text();
        const answer = await fetch(target + pathname, { method: request.method, headers: request.headers, body });
        // It was done, and who asked will never know.
        if (isHeldUp) {
          this.#heldUp.resolve();
          return new Promise<Response>(() => {});
        }
        return new Response(await answer.text(), { status: answer.status });
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  closeAt(number: number): Promise<void> {
    this.#passed = 0;
    this.#closesAt = number;
    return this.#heldUp.promise;
  }

  open(): void {
    this.#closesAt = Infinity;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(60_000);

const sha256 = (secret: string): string => Bun.SHA256.hash(secret, 'base64');

for (const [title, make] of Object.entries(SITUATIONS)) {
  describe(title, () => {
    let here: Situation;
    let folder: TempFolder;
    let apiId: string;
    let files = 0;
    beforeAll(async () => {
      folder = new TempFolder();
      here = await make();
      apiId = (await here.json('api', 'create', 'imported'))['apiId'] as string;
    });
    afterAll(async () => {
      await here[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    });

    const file = (extension: string, ...lines: string[]): string => {
      const path = folder.join(`keys${++files}.${extension}`);
      writeFileSync(path, `${lines.join('\n')}\n`);
      return path;
    };
    const reportOf = (path: string): unknown[] =>
      readFileSync(`${path}.failed.jsonl`, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
    const verdictOf = async (key: string): Promise<unknown> =>
      (JSON.parse((await here.run(['key', 'verify', key, '--json'])).out) as { code: unknown }).code;

    test('CSV: every column reaches its key', async () => {
      const path = file(
        'csv',
        'plaintext,name,ownerId,meta,remaining,refill.interval,refill.amount,ratelimit.limit,ratelimit.duration,environment',
        'csv-secret-made-elsewhere-1,first,user_csv,"{""plan"":""pro""}",7,daily,9,10,60000,live',
      );
      const { code, out, err } = await here.run(['import', path, '--api', apiId]);
      expect([code, out, err]).toEqual([0, 'imported       1\nalready there  0\nfailed         0\n', '']);
      const { keyId } = JSON.parse(
        (await here.run(['key', 'verify', 'csv-secret-made-elsewhere-1', '--json'])).out,
      ) as {
        keyId: string;
      };
      expect(await here.json('key', 'get', keyId)).toMatchObject({
        apiId,
        start: 'csv-',
        name: 'first',
        ownerId: 'user_csv',
        meta: { plan: 'pro' },
        remaining: 6,
        refill: { interval: 'daily', amount: 9 },
        ratelimit: { limit: 10, duration: 60_000, async: false },
        environment: 'live',
      });
      expect([existsSync(`${path}.keystile-import`), existsSync(`${path}.failed.jsonl`)]).toEqual([false, false]);
    });

    test('JSON lines by digest; a second time all of them are already there', async () => {
      const hash = (secret: string) => ({ value: sha256(secret), variant: 'sha256_base64' });
      const secrets = Array.from({ length: 150 }, (_, i) => `${title}-jsonl-${i}`);
      const path = file('jsonl', ...secrets.map((secret) => JSON.stringify({ apiId, hash: hash(secret) })));
      expect(await here.json('import', path)).toEqual({ imported: 150, present: 0, failed: 0 });
      expect(await verdictOf(secrets[149] ?? '')).toBe('VALID');
      expect(await here.json('import', path)).toEqual({ imported: 0, present: 150, failed: 0 });
      const more = [...secrets, `${title}-jsonl-new`].map((secret) => JSON.stringify({ apiId, hash: hash(secret) }));
      expect(await here.json('import', file('ndjson', ...more))).toEqual({ imported: 1, present: 150, failed: 0 });
    });

    test('rows that fail are reported with line and reason, never with a key; the others are imported', async () => {
      const secret = (i: number): string => `${title}-secret-in-a-bad-file-${i}`;
      const row = (i: number, fields: object = {}): string => JSON.stringify({ plaintext: secret(i), ...fields });
      const path = file(
        'jsonl',
        row(1),
        row(2, { remaining: -1 }),
        '{"plaintext":"half a line',
        row(4, { apiId: 'api_nobody_has' }),
        row(5, { roles: ['no.such.role'] }),
        row(6, { roles: [secret(6)] }),
        row(1),
        row(8, { remainning: 1 }),
        JSON.stringify({ name: 'no key at all' }),
        row(10),
      );
      const { code, out, err } = await here.run(['import', path, '--api', apiId]);
      expect([code, out, err]).toEqual([
        1,
        'imported       2\nalready there  1\nfailed         7\n',
        `${path}.failed.jsonl lists the rows that failed, with the reason.\n`,
      ]);
      expect(reportOf(path)).toEqual([
        { line: 2, reason: 'remaining must be a whole number from 0 to 9007199254740991, got -1' },
        { line: 3, reason: 'the line is not valid JSON' },
        { line: 4, reason: 'There is no api "api_nobody_has", or this root key may not see it.' },
        { line: 5, reason: 'There is no role "no.such.role".' },
        { line: 6, reason: 'There is no role "(the key)".' },
        { line: 8, reason: 'unknown field `remainning`, did you mean `remaining`?' },
        { line: 9, reason: 'give either plaintext or hash' },
      ]);
      expect(readFileSync(`${path}.failed.jsonl`, 'utf8')).not.toContain('secret-in-a-bad-file');
      expect([await verdictOf(secret(1)), await verdictOf(secret(10)), await verdictOf(secret(2))]).toEqual([
        'VALID',
        'VALID',
        'NOT_FOUND',
      ]);
      expect(existsSync(`${path}.keystile-import`)).toBe(false);
    });

    test('bad keys in a batch do not affect the others', async () => {
      const rows = Array.from({ length: 200 }, (_, i) =>
        JSON.stringify({ plaintext: `${title}-half-bad-secret-${i}`, ...(i % 2 === 0 ? {} : { remaining: 'many' }) }),
      );
      const path = file('jsonl', ...rows);
      const { code, out } = await here.run(['import', path, '--api', apiId, '--json']);
      expect([code, JSON.parse(out)]).toEqual([
        1,
        { imported: 100, present: 0, failed: 100, report: `${path}.failed.jsonl` },
      ]);
      expect(reportOf(path).length).toBe(100);
    });

    test('a wrong header is refused before anything is sent', async () => {
      const path = file('csv', 'plaintxt,remainning', 'header-secret,5');
      const { code, out, err } = await here.run(['import', path]);
      expect([code, out]).toEqual([1, '']);
      expect(err.split('\n')).toEqual([
        'Unknown column "plaintxt". Did you mean plaintext?',
        'Unknown column "remainning". Did you mean remaining?',
        'The header needs a column "plaintext" (the keys) or "hash" (the SHA-256 of the keys in base64).',
        'The header needs a column "apiId". To use one api for all rows, give --api ID.',
        '',
      ]);
      expect(existsSync(`${path}.keystile-import`)).toBe(false);
    });

    test('with --must-exist, and with the column, a row with an unknown owner fails and makes no customer', async () => {
      const name = (i: number): string => `${title.replaceAll(/\W/g, '')}_${i}`;
      await here.ok('customer', 'create', name(0));
      const lines = (...columns: string[]): string[] => [
        `plaintext,ownerId${columns.map((column) => `,${column}`).join('')}`,
        ...[0, 1].map((i) => `${title}-owned-${files}-${i},${name(i)}${columns.map(() => ',true').join('')}`),
      ];
      for (const [columns, flags] of [
        [[], ['--must-exist']],
        [['mustExist'], []],
      ] as const) {
        const path = file('csv', ...lines(...columns));
        const { code, out } = await here.run(['import', path, '--api', apiId, ...flags, '--json']);
        expect([code, JSON.parse(out)]).toMatchObject([1, { imported: 1, present: 0, failed: 1 }]);
        expect(reportOf(path)).toEqual([{ line: 3, reason: expect.stringContaining('There is no customer') }]);
      }
      const unknown = await here.run(['customer', 'get', name(1)]);
      expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('There is no')]);
    });

    test('an unknown api of --api stops the import and leaves no files', async () => {
      const path = file('csv', 'plaintext', `${title}-without-an-api`, `${title}-without-an-api-2`);
      const { code, out, err } = await here.run(['import', path, '--api', 'api_wrong']);
      const message = 'There is no api "api_wrong", or this root key may not see it.\n';
      expect([code, out, err]).toEqual([1, '', message]);
      expect([existsSync(`${path}.keystile-import`), existsSync(`${path}.failed.jsonl`)]).toEqual([false, false]);
    });

    test('JSON lines as a database writes them: null for an empty column, the digest as a text', async () => {
      const hash = sha256(`${title}-from-a-database`);
      const path = file('jsonl', JSON.stringify({ hash, name: null, meta: null, remaining: null, expires: null }));
      expect(await here.json('import', path, '--api', apiId)).toEqual({ imported: 1, present: 0, failed: 0 });
      expect(await verdictOf(`${title}-from-a-database`)).toBe('VALID');
    });

    test('a root key without the right stops the import, and the error names the right', async () => {
      const { key } = await here.json('root-key', 'create', '--right', 'api.*.read_api');
      const path = file('jsonl', JSON.stringify({ plaintext: 'stopped-secret-of-a-key' }));
      const environment = { KEYSTILE_ROOT_KEY: key as string };
      const { code, err } = await here.run(['import', path, '--api', apiId], { environment });
      expect([code, err]).toEqual([1, 'This root key lacks the right api.*.create_key.\n']);
    });

    test('a pipe is read with - and --format', async () => {
      const stdin = `plaintext,apiId\n${title}-piped-secret-of-a-key,${apiId}\n`;
      const words = ['import', '-', '--format', 'csv', '--json'];
      const { code, out } = await here.run(words, { stdin });
      expect([code, JSON.parse(out)]).toEqual([0, { imported: 1, present: 0, failed: 0 }]);
      expect(await verdictOf(`${title}-piped-secret-of-a-key`)).toBe('VALID');
    });

    test.each([
      [['import', '-'], 2, 'Standard input does not show a format. Give --format csv or --format jsonl.\n'],
      [
        ['import', 'keys.txt'],
        2,
        'The file name "keys.txt" does not show a format. Give --format csv or --format jsonl.\n',
      ],
      [['import', 'keys.csv', '--format', 'xml'], 2, '--format must be csv or jsonl, got "xml".\n'],
      [['import', '/nowhere/keys.csv'], 1, '/nowhere/keys.csv cannot be read (ENOENT).\n'],
      [['import', PROJECT, '--format', 'csv'], 1, `${PROJECT} is not a file.\n`],
      [
        ['import', '-', '--format', 'csv', '--root-key', '-'],
        2,
        'The keys and the root key cannot both come from standard input. Set KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE.\n',
      ],
    ])('keystile %j ends with %i', async (words, code, err) => {
      expect(await here.run(words)).toEqual({ code, out: '', err });
    });
  });
}

describe('an import as a process', () => {
  // Each import waits for the disk of a busy machine.
  setDefaultTimeout(60_000);

  let folder: TempFolder;
  let server: Server;

  beforeAll(async () => {
    folder = new TempFolder();
    server = await Server.start(folder);
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const keystile = (settings: Record<string, string>, ...words: string[]): Child =>
    new Child({ settings, command: [...PROGRAM, ...words] });

  describe('an import of 3,000 keys that is killed in the middle', () => {
    test('continues where it was; keys stored without an answer are recognised; every key exists once', async () => {
      await using gate = new Gate(server.url);
      const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'imported' })) as { apiId: string };
      const path = folder.join('keys.csv');
      const secrets = Array.from({ length: 3000 }, (_, i) => `secret-of-a-long-import-${i}`);
      // The 1,500th cannot be imported.
      const rows = secrets.map((secret, i) => `${secret},${i === 1499 ? 'x' : i}`);
      writeFileSync(path, ['plaintext,remaining', ...rows].join('\n'));
      const settings = { KEYSTILE_URL: gate.url, KEYSTILE_ROOT_KEY: server.rootKey };
      const words = ['import', path, '--api', apiId];

      const heldUp = gate.closeAt(20);
      await using first = keystile(settings, ...words);
      await heldUp;
      await first.kill9();
      const state = JSON.parse(readFileSync(`${path}.keystile-import`, 'utf8')) as {
        mark: { imported: number; failed: number };
      };
      expect(state.mark.imported + state.mark.failed).toBeGreaterThanOrEqual(1500);
      expect(state.mark.failed).toBe(1);
      expect(readFileSync(`${path}.keystile-import`, 'utf8')).not.toContain('secret-of');

      gate.open();
      await using second = keystile(settings, ...words);
      expect([await second.exited(), second.stderr]).toEqual([1, expect.any(String)]);
      expect(second.stderr).toStartWith(`Continuing after ${state.mark.imported + state.mark.failed} keys.\n`);
      const [, imported, present, failed] =
        /imported +(\d+)\nalready there +(\d+)\nfailed +(\d+)\n/.exec(second.stdout) ?? [];
      expect(Number(imported) + Number(present)).toBe(2999);
      // At least the batch whose answer was held back.
      expect(Number(present)).toBeGreaterThanOrEqual(100);
      expect(Number(failed)).toBe(1);
      expect(readFileSync(`${path}.failed.jsonl`, 'utf8')).toBe(
        '{"line":1501,"reason":"remaining must be a whole number of at least 0"}\n',
      );
      expect(existsSync(`${path}.keystile-import`)).toBe(false);
      const { total } = (await server.ok('/v1/apis.listKeys', { apiId, limit: 1 })) as { total: number };
      expect(total).toBe(2999);
      for (const i of [1, 1498, 1500, 2999]) {
        expect(await server.verify(secrets[i] ?? '')).toMatchObject({ valid: true, remaining: i - 1 });
      }
    });

    test('starts again when the file has changed: no key is left out', async () => {
      await using gate = new Gate(server.url);
      const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'imported' })) as { apiId: string };
      const path = folder.join('keys.jsonl');
      const rows = (prefix: string) =>
        Array.from({ length: 1000 }, (_, i) => `{"plaintext":"${prefix}-secret-of-a-key-${i}"}`);
      writeFileSync(path, rows('first').join('\n'));
      const settings = { KEYSTILE_URL: gate.url, KEYSTILE_ROOT_KEY: server.rootKey };
      const heldUp = gate.closeAt(8);
      await using first = keystile(settings, 'import', path, '--api', apiId);
      await heldUp;
      await first.kill9();
      writeFileSync(path, [...rows('another'), ...rows('first')].join('\n'));
      gate.open();
      await using second = keystile(settings, 'import', path, '--api', apiId, '--json');
      expect(await second.exited()).toBe(0);
      const done = JSON.parse(second.stdout) as { imported: number; present: number; failed: number };
      expect([done.imported + done.present, done.failed]).toEqual([2000, 0]);
      expect(((await server.ok('/v1/apis.listKeys', { apiId, limit: 1 })) as { total: number }).total).toBe(2000);
    });
  });

  test('a real pipe is imported chunk by chunk', async () => {
    const { apiId } = (await server.ok('/v1/apis.createApi', { name: 'imported' })) as { apiId: string };
    const script = `for i in $(seq 1 250); do echo '{"plaintext":"piped-secret-of-a-key-'$i'"}'; done | "$@"`;
    await using child = new Child({
      settings: { KEYSTILE_URL: server.url, KEYSTILE_ROOT_KEY: server.rootKey },
      command: ['sh', '-c', script, 'sh', ...PROGRAM, 'import', '-', '--format', 'jsonl', '--api', apiId, '--json'],
      cwd: folder.path,
    });
    expect(await child.exited()).toBe(0);
    expect(JSON.parse(child.stdout)).toEqual({ imported: 250, present: 0, failed: 0 });
  });
});
