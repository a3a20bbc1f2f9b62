import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { keystile, type Ran } from '../cli/cliRun.ts';
import { TempFolder } from '../process.ts';
import { Server } from '../server.ts';

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
