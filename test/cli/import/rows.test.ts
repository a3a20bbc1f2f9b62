import { describe, expect, test } from 'bun:test';

import type { Io } from '../../../src/cli/io.ts';
import { type Line, readLines } from '../../../src/cli/import/lines.ts';
import columns from '../../../src/cli/import/columns.json';
import { Progress } from '../../../src/cli/import/state.ts';
import { importColumns } from '../../../tools/scripts/importColumns.ts';
import { plainLines } from '../../../tools/scripts/plainLines.ts';
import labels from '../../../web/ui/plainLines.json';
import { type Format, readRows, type Row } from '../../../src/cli/import/rows.ts';

/** The text in chunks of this many bytes. */
async function* inChunks(text: string | Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  for (let i = 0; i < bytes.length; i += size) yield bytes.slice(i, i + size);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The message of the failure. */
const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (error: unknown) => (error as Error).message,
  );

const API = 'api_1';

const lines = (text: string | Uint8Array, size = 7, skipTo = 0): Promise<Line[]> =>
  collect(readLines(inChunks(text, size), skipTo));

const rows = (
  format: Format,
  text: string,
  { skipTo = 0, apiId = API, mustExist = false }: { skipTo?: number; apiId?: string | null; mustExist?: boolean } = {},
): Promise<Row[]> => collect(readRows(readLines(inChunks(text, 7), skipTo), { format, apiId, mustExist, skipTo }));

const csv = (...all: string[]): Promise<Row[]> => rows('csv', all.join('\n'));

/** Line numbers with the key, or with the problem. */
const outcomes = (found: readonly Row[]) => found.map(({ line, key, problem }) => [line, key ?? problem]);

describe('lines', () => {
  test('do not depend on the chunks of the text, and know their end offsets in bytes', async () => {
    const text = 'eins\nzwölf\r\n\nletzte';
    for (const size of [1, 2, 3, 5, 100]) {
      expect((await lines(text, size)).map((line) => [line.number, line.text, line.endOffset])).toEqual([
        [1, 'eins', 5],
        [2, 'zwölf', 13],
        [3, '', 14],
        [4, 'letzte', 20],
      ]);
    }
    expect(await lines('')).toEqual([]);
  });

  test('a byte order mark belongs to the file, not to its first line', async () => {
    expect((await lines('\ufeffplaintext\n\ufeffx')).map(({ text }) => text)).toEqual(['plaintext', '\ufeffx']);
  });

  test('a line that is not UTF-8, or longer than a megabyte, does not affect other lines', async () => {
    const long = 'x'.repeat(1024 * 1024 + 1);
    const bytes = Buffer.concat([Buffer.from('a\n'), Buffer.from([0xff, 0x0a]), Buffer.from(`${long}\nb`)]);
    const found = await lines(bytes, 65_536);
    expect(found.map(({ text, problem }) => [text, problem])).toEqual([
      ['a', null],
      ['', 'the line is not valid UTF-8'],
      ['', 'the line is longer than 1048576 bytes'],
      ['b', null],
    ]);
    expect(found.at(-1)?.endOffset).toBe(bytes.length);
  });

  test('lines before an offset are skipped except for the first, and keep their numbers', async () => {
    const text = 'head\none\ntwo\nthree\n';
    expect((await lines(text, 3, 9)).map((line) => [line.number, line.text])).toEqual([
      [1, 'head'],
      [3, 'two'],
      [4, 'three'],
    ]);
  });
});

describe('JSON lines', () => {
  test('are keys; empty lines are skipped; the api of the row takes precedence', async () => {
    const text = '{"plaintext":"a"}\n\n  \n{"apiId":"api_2","plaintext":"b","meta":{"x":1}}';
    expect(outcomes(await rows('jsonl', text))).toEqual([
      [1, { apiId: 'api_1', plaintext: 'a' }],
      [4, { apiId: 'api_2', plaintext: 'b', meta: { x: 1 } }],
    ]);
  });

  test('a null field is absent, as in database exports; metadata keeps its nulls', async () => {
    const text = [
      '{"plaintext":"a","name":null,"apiId":null,"remaining":0,"meta":{"x":null}}',
      '{"plaintext":"b","meta":null,"refill":{"interval":null,"amount":null},"ratelimit":{"limit":1,"async":null}}',
      '{"plaintext":"c","refill":{},"roles":[null]}',
    ].join('\n');
    expect(outcomes(await rows('jsonl', text))).toEqual([
      [1, { apiId: 'api_1', plaintext: 'a', remaining: 0, meta: { x: null } }],
      [2, { apiId: 'api_1', plaintext: 'b', ratelimit: { limit: 1 } }],
      [3, { apiId: 'api_1', plaintext: 'c', refill: {}, roles: [null] }],
    ]);
  });

  test('a hash may be only its value, as in CSV; a given variant is kept', async () => {
    const text = '{"hash":"abc="}\n{"hash":{"value":"abc="}}\n{"hash":{"value":"abc=","variant":"other"}}\n{"hash":5}';
    const hash = { value: 'abc=', variant: 'sha256_base64' };
    expect(outcomes(await rows('jsonl', text))).toEqual([
      [1, { apiId: 'api_1', hash }],
      [2, { apiId: 'api_1', hash }],
      [3, { apiId: 'api_1', hash: { ...hash, variant: 'other' } }],
      [4, { apiId: 'api_1', hash: 5 }],
    ]);
  });

  test('the problem of a broken line quotes nothing of it', async () => {
    const text = '{"plaintext":"secret\n[1]\n"text"\nnull\n{"plaintext":"a"}';
    expect(outcomes(await rows('jsonl', text, { apiId: null }))).toEqual([
      [1, 'the line is not valid JSON'],
      [2, 'the line is JSON, but not an object'],
      [3, 'the line is JSON, but not an object'],
      [4, 'the line is JSON, but not an object'],
      [5, { plaintext: 'a' }],
    ]);
  });

  test('continue after an offset', async () => {
    const text = '{"a":1}\n{"a":2}\n{"a":3}\n';
    expect(outcomes(await rows('jsonl', text, { skipTo: 16, apiId: null }))).toEqual([[3, { a: 3 }]]);
    expect(await rows('jsonl', text, { skipTo: 24 })).toEqual([]);
  });
});

describe('CSV', () => {
  test('cells become the fields that their columns name; empty cells are absent', async () => {
    const found = await csv(
      'plaintext,name,meta,remaining,refill.interval,refill.amount,ratelimit.limit,ratelimit.duration,ratelimit.async,roles,permissions,expires,enabled,ipAllowlist',
      'abc,"Zoë, ""the"" first","{""plan"":""pro""}",5,daily,7,10,60000,true,admin reader,a.b;c.d,2030-12-31,false,10.0.0.0/8;::1',
      'def,,,,,,,,,,,,,',
    );
    expect(outcomes(found)).toEqual([
      [
        2,
        {
          apiId: 'api_1',
          plaintext: 'abc',
          name: 'Zoë, "the" first',
          meta: { plan: 'pro' },
          remaining: 5,
          refill: { interval: 'daily', amount: 7 },
          ratelimit: { limit: 10, duration: 60_000, async: true },
          roles: ['admin', 'reader'],
          permissions: ['a.b', 'c.d'],
          expires: Date.UTC(2030, 11, 31),
          enabled: false,
          ipAllowlist: ['10.0.0.0/8', '::1'],
        },
      ],
      [3, { apiId: 'api_1', plaintext: 'def' }],
    ]);
  });

  test('a hash column is its value; the only variant is added', async () => {
    const hash = { value: 'abc=', variant: 'sha256_base64' };
    expect(outcomes(await csv('hash', 'abc='))).toEqual([[2, { apiId: 'api_1', hash }]]);
    expect(outcomes(await csv('hash.value,hash.variant', 'abc=,other'))).toEqual([
      [2, { apiId: 'api_1', hash: { ...hash, variant: 'other' } }],
    ]);
  });

  test('a quoted field may contain line breaks; its record has the number of its first line', async () => {
    expect(outcomes(await csv('plaintext,name', 'a,"two', 'lines"', 'b,c'))).toEqual([
      [2, { apiId: 'api_1', plaintext: 'a', name: 'two\nlines' }],
      [4, { apiId: 'api_1', plaintext: 'b', name: 'c' }],
    ]);
  });

  test('the problem of a wrong cell names its column and does not quote the cell', async () => {
    expect(outcomes(await csv('plaintext,remaining,meta,expires,enabled', 'a,-1,{,soon,perhaps'))).toEqual([
      [
        2,
        'remaining must be a whole number of at least 0; meta must be JSON; expires must be unix milliseconds or a date such as 2030-12-31 (midnight UTC) or 2030-12-31T18:00:00Z; enabled must be true or false',
      ],
    ]);
  });

  test('a broken record loses only its first line', async () => {
    expect(outcomes(await csv('plaintext,name', 'a', 'b,c,d', 'e"f,g', '"h"i,j', 'k,l'))).toEqual([
      [2, 'the row has 1 fields, but the header has 2'],
      [3, 'the row has 3 fields, but the header has 2'],
      [4, 'a field contains a quote but does not start with one'],
      [5, 'a field contains a quote but does not start with one'],
      [6, { apiId: 'api_1', plaintext: 'k', name: 'l' }],
    ]);
  });

  test('an unclosed quote does not affect other records', async () => {
    const good = Array.from({ length: 150 }, (_, i) => `k${i},n`);
    const found = await csv('plaintext,name', 'a,"open', ...good, 'b,"open at the end');
    expect(outcomes(found).filter(([, what]) => typeof what === 'string')).toEqual([
      [2, 'a quote is not closed'],
      [153, 'a quote is not closed'],
    ]);
    expect(found.filter(({ key }) => key !== null).map(({ line }) => line)).toEqual(good.map((_, i) => i + 3));
  });

  test('continues after an offset, with the header of the file', async () => {
    const text = 'plaintext,name\na,b\nc,d\ne,f\n';
    expect(outcomes(await rows('csv', text, { skipTo: 19 }))).toEqual([
      [3, { apiId: 'api_1', plaintext: 'c', name: 'd' }],
      [4, { apiId: 'api_1', plaintext: 'e', name: 'f' }],
    ]);
  });

  test.each<[string, string, string | null, string]>([
    ['nothing', '', 'api_1', 'The file is empty. Its first line must name the columns.'],
    [
      'no key',
      'name,apiId',
      null,
      'The header needs a column "plaintext" (the keys) or "hash" (the SHA-256 of the keys in base64).',
    ],
    ['no api', 'plaintext', null, 'The header needs a column "apiId". To use one api for all rows, give --api ID.'],
    ['a typo', 'plaintext,remainning', 'api_1', 'Unknown column "remainning". Did you mean remaining?'],
    ['a column that is none', 'plaintext,customer_no', 'api_1', 'Unknown column "customer_no".'],
    ['one twice', 'plaintext,name,name', 'api_1', 'The header has the column "name" twice. Remove one of them.'],
    ['an open quote', '"plaintext', 'api_1', 'The header cannot be read (a quote is not closed).'],
  ])('a header with %s is refused before anything is read', async (_name, text, apiId, message) => {
    expect(await failureOf(rows('csv', text, { apiId }))).toStartWith(message);
  });

  test('a file without a header is refused without showing the key that it begins with', async () => {
    const failure = await failureOf(rows('csv', 'sk_live_4242424242424242,user\n'));
    expect(failure).toContain('The header has an unknown column name. The first line must name columns.');
    expect(failure).not.toContain('4242');
    for (const key of ['correct-horse-battery-staple', 'abcdefghijklmnopqrst', 'sk_live_abcdefghij'])
      expect(await failureOf(rows('csv', `${key},user\n`))).not.toContain(key);
  });

  test('a column for every field: also metering and alerts', async () => {
    const found = await csv('plaintext,metered,alerts.creditsBelow,alerts.expiresWithinMs', 'a,true,5,60000', 'b,,,');
    expect(outcomes(found)).toEqual([
      [2, { plaintext: 'a', apiId: API, metered: true, alerts: { creditsBelow: 5, expiresWithinMs: 60_000 } }],
      [3, { plaintext: 'b', apiId: API }],
    ]);
  });
});

describe('the progress', () => {
  const counts = (imported: number, present = 0, failed = 0) => ({ imported, present, failed });
  const shown = (isTerminal: boolean, totalBytes: number | null) => {
    const written: string[] = [];
    const io = { isTerminal, err: (text: string) => void written.push(text) } as unknown as Io;
    return { progress: new Progress(io, totalBytes), written };
  };

  test('is a bar on a terminal, drawn over itself', () => {
    const { progress, written } = shown(true, 1000);
    progress.show(counts(0), 0);
    progress.show(counts(90, 8, 2), 1000);
    progress.end();
    expect(written[0]?.replace(/\d+\/s/, 'N/s')).toBe(`\r[${'.'.repeat(30)}] 0%  0 imported  N/s\u001b[K`);
    expect(written[1]?.replace(/\d+\/s/, 'N/s')).toBe(
      `\r[${'#'.repeat(30)}] 100%  90 imported, 8 already there, 2 failed  N/s\u001b[K`,
    );
    expect(written[2]).toBe('\n');
  });

  test('is a line for each tenth of the file without a terminal', () => {
    const { progress, written } = shown(false, 1000);
    for (let offset = 0; offset <= 1000; offset += 50) progress.show(counts(offset), offset);
    progress.end();
    expect(written).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((i) => `${i * 10}%  ${i * 100} imported\n`));
  });

  test('of a pipe is a line for each 100,000 keys', () => {
    const { progress, written } = shown(false, null);
    for (let i = 0; i <= 250_000; i += 100) progress.show(counts(i), i);
    expect(written).toEqual(['100000 imported\n', '200000 imported\n']);
  });
});

test('generated tables of fields are those of the declarations; if not, run `npm run docs`', () => {
  expect(columns as unknown).toEqual(importColumns());
  expect(labels as unknown).toEqual(plainLines());
});
