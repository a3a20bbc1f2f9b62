import { type FileHandle, open } from 'node:fs/promises';

import { SCHEMA_VERSION as POSTGRES } from '../../storage/postgres/schema/schema.ts';
import type { CopyTrust } from '../../storage/sql/copySignature.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import {
  atLine,
  type DataHeader,
  type DataTrailer,
  type KnownSchemas,
  MAX_LINE_BYTES,
  provenExport,
  readHeader,
  readTrailer,
  torn,
} from '../../storage/sql/move/dataFormat.ts';
import { SCHEMA_VERSION as SQLITE } from '../../storage/sqlite/file/migrate.ts';

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const BRACE = 0x7b;
/** Longer than any trailer. */
const MAX_TRAILER_BYTES = 64 * 1024;

export type Chunks = AsyncIterable<Uint8Array>;

export async function openExport(path: string): Promise<FileHandle> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw unreadable(path, error);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new DataError(`${path} is not a file. Name a file that keystile data export has made.`);
}

export async function* chunksOf(file: FileHandle, end: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < end;) {
    const { buffer, bytesRead } = await file.read(
      Buffer.allocUnsafe(CHUNK_BYTES),
      0,
      Math.min(CHUNK_BYTES, end - at),
      at,
    );
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Reads a file to its end before anything is imported: its header is known, its checksum is right, and its signature as demanded. */
export async function checkWhole(path: string, file: FileHandle, trust: CopyTrust): Promise<number> {
  const { size } = await file.stat();
  const start = await file.read(Buffer.alloc(MAX_TRAILER_BYTES), 0, MAX_TRAILER_BYTES, 0);
  const firstEnd = start.buffer.indexOf(NEWLINE);
  readHeader(path, start.buffer.toString('utf8', 0, firstEnd === -1 ? start.bytesRead : firstEnd), KNOWN_SCHEMAS);
  const tailAt = Math.max(0, size - MAX_TRAILER_BYTES);
  const tail = await file.read(Buffer.alloc(MAX_TRAILER_BYTES), 0, MAX_TRAILER_BYTES, tailAt);
  const text = tail.buffer.subarray(0, tail.bytesRead);
  const lastAt = text.lastIndexOf(NEWLINE, text.length - 2) + 1;
  const trailer = text.at(-1) === NEWLINE ? readTrailer(text.toString('utf8', lastAt)) : null;
  if (trailer === null) throw torn(path);
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of chunksOf(file, tailAt + lastAt)) hasher.update(chunk);
  if (hasher.digest('hex') !== trailer.sha256) throw torn(path);
  provenExport(path, trailer, trust);
  return size;
}

/** Reads an export line by line. `name` is what messages call it. */
export class DataReader {
  readonly #name: string;
  readonly #lines: AsyncGenerator<readonly Buffer[]>;
  readonly #hasher = new Bun.CryptoHasher('sha256');
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #waiting: readonly Buffer[] = [];
  #next = 0;
  /** The number of the last line that was read. */
  line = 0;
  bytes = 0;

  constructor(name: string, chunks: Chunks) {
    this.#name = name;
    this.#lines = this.#split(chunks);
  }

  async header(): Promise<DataHeader> {
    const line = await this.#take();
    return readHeader(this.#name, line === null ? '' : this.#hashed(line), KNOWN_SCHEMAS);
  }

  /** The text of the next row, or the trailer, behind which nothing may come. */
  async next(): Promise<string | DataTrailer> {
    const line = await this.#take();
    if (line === null) throw torn(this.#name);
    if (line[0] !== BRACE) return this.#hashed(line);
    const trailer = readTrailer(this.#decode(line));
    const digest = this.#hasher.digest('hex');
    if (trailer === null || trailer.sha256 !== digest || (await this.#take()) !== null) throw torn(this.#name);
    return trailer;
  }

  #hashed(line: Buffer): string {
    this.#hasher.update(line);
    return this.#decode(line);
  }

  #decode(line: Buffer): string {
    try {
      return this.#decoder.decode(line);
    } catch {
      throw atLine(this.#name, this.line, 'the text is not valid UTF-8');
    }
  }

  async #take(): Promise<Buffer | null> {
    while (this.#next >= this.#waiting.length) {
      const more = await this.#lines.next();
      if (more.done === true) return null;
      this.#waiting = more.value;
      this.#next = 0;
    }
    this.line++;
    const line = this.#waiting[this.#next++];
    this.bytes += line?.length ?? 0;
    return line ?? null;
  }

  /** The lines of each chunk, with their line breaks. A last line without one is torn. */
  async *#split(chunks: Chunks): AsyncGenerator<readonly Buffer[]> {
    let carried: Buffer = Buffer.alloc(0);
    for await (const chunk of chunks) {
      const bytes = carried.length === 0 ? Buffer.from(chunk) : Buffer.concat([carried, chunk]);
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        lines.push(bytes.subarray(start, end + 1));
        start = end + 1;
      }
      carried = bytes.subarray(start);
      if (lines.length > 0) yield lines;
      if (carried.length > MAX_LINE_BYTES)
        throw atLine(this.#name, this.line + 1, `the line is longer than ${MAX_LINE_BYTES} bytes`);
    }
    if (carried.length > 0) throw torn(this.#name);
  }
}

function unreadable(path: string, error: unknown): DataError {
  const reason = (error as { code?: string }).code ?? String(error);
  return new DataError(`${path} cannot be read (${reason}). Name a file that keystile data export has made.`);
}

const KNOWN_SCHEMAS: KnownSchemas = { sqlite: SQLITE, postgres: POSTGRES };
