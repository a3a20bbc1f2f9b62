import { type CopyKeys, signatureOf } from '../../storage/sql/copySignature.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import {
  type DataHeader,
  headerLine,
  MAX_LINE_BYTES,
  rowLine,
  trailerLine,
} from '../../storage/sql/move/dataFormat.ts';
import type { DataRow, DataTable } from '../../storage/sql/move/dataTables.ts';

/** Where an export goes: a file, or standard output. */
export type Sink = (bytes: Uint8Array) => Promise<void>;

/** Characters that are written at once. */
const CHUNK = 512 * 1024;

/** Writes an export, line by line. */
export class DataWriter {
  readonly #sink: Sink;
  readonly #hasher = new Bun.CryptoHasher('sha256');
  readonly #rows = new Map<string, number>();
  readonly #key: Uint8Array | undefined;
  #lines: string[] = [];
  #length = 0;
  #bytes = 0;
  #total = 0;

  /** `keys`: the export is signed when there is one. */
  constructor(sink: Sink, header: DataHeader, [key]: CopyKeys) {
    this.#sink = sink;
    this.#key = key;
    this.#add(headerLine(header));
  }

  /** Rows so far. */
  get total(): number {
    return this.#total;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Rows of each table that has any. */
  get rows(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#rows);
  }

  async write(table: DataTable, rows: readonly DataRow[]): Promise<void> {
    for (const row of rows) {
      const line = rowLine(table, row);
      // A character takes at most three bytes.
      if (line.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(line) > MAX_LINE_BYTES) throw tooLong(table, row);
      this.#add(line);
      if (this.#length >= CHUNK) await this.#flush();
    }
    this.#rows.set(table.name, (this.#rows.get(table.name) ?? 0) + rows.length);
    this.#total += rows.length;
  }

  /** Writes the trailer. What is written before it is of no use without it, so `beforeTrailer` is the last chance to say no. */
  async end(beforeTrailer: () => Promise<void>): Promise<void> {
    await this.#flush();
    await beforeTrailer();
    const sha256 = this.#hasher.digest('hex');
    const signature = this.#key === undefined ? null : signatureOf(this.#key, 'export', sha256);
    const trailer = Buffer.from(trailerLine({ rows: this.rows, sha256, signature }));
    this.#bytes += trailer.length;
    await this.#sink(trailer);
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#length = 0;
    this.#bytes += bytes.length;
    this.#hasher.update(bytes);
    await this.#sink(bytes);
  }
}

function tooLong({ name, key }: DataTable, row: DataRow): DataError {
  const which = key.map((column) => `${column} ${String(row[column])}`).join(', ');
  return new DataError(`A row of ${name} (${which}) is longer than ${MAX_LINE_BYTES} bytes, and cannot be exported.`);
}
