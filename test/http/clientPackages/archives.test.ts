import { expect, test } from 'bun:test';

import { type Files, tarGz, zip } from '../../../src/http/clientPackages.ts';

const text = (content: string): Uint8Array => new TextEncoder().encode(content);

const FILES: Files = new Map([
  ['package/a.txt', text('hello')],
  ['package/empty', text('')],
  ['package/é/block', new Uint8Array(512).fill(7)],
  ['package/long.js', text('the same again '.repeat(1_000))],
]);

/** The files of a zip file, as its directory at the end lists them. */
function unzipped(bytes: Uint8Array): Map<string, Uint8Array> {
  const view = Buffer.from(bytes);
  const end = view.length - 22;
  expect(view.readUInt32LE(end)).toBe(0x06054b50);
  const files = new Map<string, Uint8Array>();
  let at = view.readUInt32LE(end + 16);
  for (let i = 0; i < view.readUInt16LE(end + 10); i++) {
    expect(view.readUInt32LE(at)).toBe(0x02014b50);
    const [crc, packed, size] = [16, 20, 24].map((offset) => view.readUInt32LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const nameLength = view.readUInt16LE(at + 28);
    const name = view.toString('utf8', at + 46, at + 46 + nameLength);
    const local = view.readUInt32LE(at + 42);
    expect([view.readUInt32LE(local), view.toString('utf8', local + 30, local + 30 + nameLength)]).toEqual([
      0x04034b50,
      name,
    ]);
    // All that the two headers have in common.
    expect(view.subarray(local + 4, local + 30)).toEqual(view.subarray(at + 6, at + 32));
    const start = local + 30 + nameLength;
    const content = Bun.inflateSync(Uint8Array.from(view.subarray(start, start + packed)));
    expect([content.length, Bun.hash.crc32(content)]).toEqual([size, crc]);
    files.set(name, content);
    at += 46 + nameLength;
  }
  expect(at).toBe(end);
  return files;
}

test('a tar file holds the files as they are, and a reader finds them', async () => {
  const found = await new Bun.Archive(tarGz(FILES)).files();
  const contents = await Promise.all([...found].map(async ([name, file]) => [name, await file.bytes()] as const));
  expect<Files>(new Map(contents)).toEqual(FILES);
});

test('a zip file holds the files as they are, with their checksums', () => {
  expect<Files>(unzipped(zip(FILES))).toEqual(FILES);
});

test('the same files give the same bytes on every machine and at every time', () => {
  const digest = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 16);
  expect([digest(tarGz(FILES)), digest(zip(FILES))]).toEqual(['5663d2c1cabc5ae9', '224fe58fe3625f50']);
});

test('a name that does not fit is no archive', () => {
  expect(() => tarGz(new Map([['x'.repeat(101), text('')]]))).toThrow('too long');
});
