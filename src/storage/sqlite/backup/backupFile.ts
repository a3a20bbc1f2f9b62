import { BackupError } from './backupError.ts';
import { type FileHandle, open, stat } from 'node:fs/promises';

import {
  type Authenticity,
  authenticityOf,
  type CopyKeys,
  type CopyTrust,
  refusalOf,
  signatureOf,
} from '../../sql/copySignature.ts';

/**
 * A backup is one file:
 *
 *   keystile-backup 1                        the format; 2 = it is signed
 *   {"program":"0.1.0","madeAtMs":...}       what made it, and when it began
 *   {"name":"analytics.db","bytes":...}      the name and length of a part, then its bytes; and so on for every part
 *   sha256 ...                               the checksum of everything before this line
 *   hmac-sha256 ...                          in format 2, its signature (copySignature.ts)
 *
 * The format comes first, so that an older program can say that it does not know it. The checksum is at the end, so a file that was cut off
 * has none.
 */
const FORMATS = { unsigned: 1, signed: 2 } as const;
const NEWEST_FORMAT = FORMATS.signed;

/** The only parts that exist. A name is part of a path, so no other name is accepted. */
const PART_NAMES = ['analytics.db', 'keystile.db', 'encryption-key'] as const;
type PartName = (typeof PART_NAMES)[number];

export interface BackupHeader {
  /** The version of the program that made it. */
  readonly program: string;
  /** Everything that was answered before this instant is in the backup. */
  readonly madeAtMs: number;
}

interface PartHeader {
  readonly name: PartName;
  readonly bytes: number;
}

export const FORMAT_LINE = /^keystile-backup (\d{1,9})\n/;

function formatLine(version: number): string {
  return `keystile-backup ${version}\n`;
}

const SIGNATURE_LINE = /^hmac-sha256 ([0-9a-f]{64})\n$/;

function signatureLine(signature: string): string {
  return `hmac-sha256 ${signature}\n`;
}

const SIGNATURE_BYTES = signatureLine('0'.repeat(64)).length;

/** null = this is no such line. */
function readSignature(line: string): string | null {
  return SIGNATURE_LINE.exec(line)?.[1] ?? null;
}

const CHECKSUM_LINE = /^sha256 ([0-9a-f]{64})\n$/;

function checksumLine(digest: string): string {
  return `sha256 ${digest}\n`;
}

const CHECKSUM_BYTES = checksumLine('0'.repeat(64)).length;

/** null = this is no such line. */
function readChecksum(line: string): string | null {
  return CHECKSUM_LINE.exec(line)?.[1] ?? null;
}

/** Bytes that are read and hashed at once: few, because the thread that answers requests does this during a scheduled backup. */
const CHUNK_BYTES = 256 * 1024;

/** Longer than any line before a part. */
const MAX_LINE_BYTES = 4096;

/** Messages show the version, and a file can be forged, so it must contain nothing that a terminal obeys. */
const PROGRAM_PATTERN = /^[\w.+-]{1,64}$/;

function readHeader(line: string): BackupHeader | null {
  const { program, madeAtMs } = parsed(line);
  const isProgram = typeof program === 'string' && PROGRAM_PATTERN.test(program);
  return isProgram && isSize(madeAtMs) ? { program, madeAtMs } : null;
}

function readPartHeader(line: string): PartHeader | null {
  const { name, bytes } = parsed(line);
  const known = PART_NAMES.find((each) => each === name);
  return known !== undefined && isSize(bytes) ? { name: known, bytes } : null;
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function parsed(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** A part, and the line before it. */
interface FoundPart extends PartHeader {
  readonly offset: number;
  readonly line: string;
}

interface Part extends FoundPart {
  /** The digest of its bytes, from when the file was checked. */
  readonly sha256: string;
}

/**
 * A backup that was read to its end: its format is known, its checksum is right, its parts are in their places, and its signature is as
 * demanded.
 */
export class BackupFile {
  readonly path: string;
  readonly bytes: number;
  readonly header: BackupHeader;
  readonly parts: readonly Part[];
  readonly authenticity: Exclude<Authenticity, 'forged'>;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle, content: Content) {
    this.path = path;
    this.#file = file;
    this.bytes = content.bytes;
    this.header = content.header;
    this.parts = content.parts;
    this.authenticity = content.authenticity;
  }

  static async open(path: string, trust: CopyTrust): Promise<BackupFile> {
    const file = await openFile(path).catch((error: unknown) => {
      throw error instanceof BackupError ? error : unreadable(path, error);
    });
    try {
      return new BackupFile(path, file, await readContent(path, file, trust));
    } catch (error) {
      await file.close();
      throw error instanceof BackupError ? error : unreadable(path, error);
    }
  }

  /** Writes a part to a new file. When this returns, the file is on disk with exactly the checked bytes. */
  async extract({ offset, bytes, sha256 }: Part, path: string): Promise<void> {
    const hasher = new Bun.CryptoHasher('sha256');
    const target = await open(path, 'wx', 0o600);
    try {
      await eachChunk(this.#file, { offset, bytes }, async (chunk) => {
        hasher.update(chunk);
        await target.appendFile(chunk);
      });
      if (hasher.digest('hex') !== sha256) throw torn(this.path);
      await target.sync();
    } finally {
      await target.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

interface Content {
  readonly bytes: number;
  readonly header: BackupHeader;
  readonly parts: readonly Part[];
  readonly authenticity: Exclude<Authenticity, 'forged'>;
}

/** Opening a pipe would wait until somebody writes to it. */
async function openFile(path: string): Promise<FileHandle> {
  if (!(await stat(path)).isFile())
    throw new BackupError(`${path} is not a file. Name the file that keystile backup create has made.`);
  return open(path, 'r');
}

async function readContent(path: string, file: FileHandle, trust: CopyTrust): Promise<Content> {
  const { size } = await file.stat();
  const start = await readLine(file, 0);
  const [, format] = FORMAT_LINE.exec(start) ?? [];
  if (format === undefined)
    throw new BackupError(`${path} is not a backup of Keystile. Name a file that keystile backup create has made.`);
  if (Number(format) > NEWEST_FORMAT)
    throw new BackupError(
      `${path} was made by a newer program: it has format ${format}, and this program knows up to ${NEWEST_FORMAT}. ` +
        'Use the program that made it, or a newer one.',
    );
  const isSigned = start === formatLine(FORMATS.signed);
  const signedEnd = isSigned ? size - SIGNATURE_BYTES : size;
  const end = signedEnd - CHECKSUM_BYTES;
  const headerLine = await readLine(file, start.length);
  const header = readHeader(headerLine);
  const found = await readParts(file, start.length + Buffer.byteLength(headerLine), end);
  const signature = isSigned ? readSignature(await readLine(file, signedEnd)) : null;
  const isWhole = isSigned ? signature !== null : start === formatLine(FORMATS.unsigned);
  if (!isWhole || header === null || found === null) throw torn(path);
  const { sha256, parts } = await digestsOf(file, `${start}${headerLine}`, found);
  if (readChecksum((await readLine(file, end)).slice(0, CHECKSUM_BYTES)) !== sha256) throw torn(path);
  const authenticity = authenticityOf({ kind: 'backup', sha256, signature }, trust.keys);
  const refusal = refusalOf(authenticity, trust);
  if (authenticity === 'forged' || refusal !== null) throw new BackupError(`${path} ${refusal}`);
  return { bytes: size, header, parts, authenticity };
}

/**
 * The digest of everything before the checksum, and of each part. The lines are passed in as they were read, because the file may change
 * meanwhile.
 */
async function digestsOf(
  file: FileHandle,
  start: string,
  found: readonly FoundPart[],
): Promise<{ readonly sha256: string; readonly parts: readonly Part[] }> {
  const whole = new Bun.CryptoHasher('sha256').update(start);
  const parts: Part[] = [];
  for (const part of found) {
    whole.update(part.line);
    const own = new Bun.CryptoHasher('sha256');
    await eachChunk(file, part, async (chunk) => {
      whole.update(chunk);
      own.update(chunk);
    });
    parts.push({ ...part, sha256: own.digest('hex') });
  }
  return { sha256: whole.digest('hex'), parts };
}

/** null = the parts do not end where the checksum begins, a part occurs twice, or a database is missing. */
async function readParts(file: FileHandle, start: number, end: number): Promise<readonly FoundPart[] | null> {
  const parts: FoundPart[] = [];
  for (let at = start; at < end;) {
    const line = await readLine(file, at);
    const part = readPartHeader(line);
    const offset = at + Buffer.byteLength(line);
    if (part === null || parts.some(({ name }) => name === part.name) || offset + part.bytes > end) return null;
    parts.push({ ...part, offset, line });
    at = offset + part.bytes;
  }
  const hasBoth = ['keystile.db', 'analytics.db'].every((wanted) => parts.some(({ name }) => name === wanted));
  return hasBoth ? parts : null;
}

/** The line that begins at this offset, with its line end. A longer line is cut. */
async function readLine(file: FileHandle, offset: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_LINE_BYTES), 0, MAX_LINE_BYTES, offset);
  const end = buffer.indexOf('\n');
  return buffer.toString('utf8', 0, end === -1 || end >= bytesRead ? bytesRead : end + 1);
}

async function eachChunk(
  file: FileHandle,
  { offset, bytes }: { readonly offset: number; readonly bytes: number },
  use: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = offset; at < offset + bytes;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, offset + bytes - at), at);
    if (bytesRead === 0) throw new Error('the file became shorter while it was read');
    await use(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function torn(path: string): BackupError {
  return new BackupError(
    `${path} is incomplete or was changed: its checksum does not match. Use another backup, or copy the file again from where it was made.`,
  );
}

function unreadable(path: string, error: unknown): BackupError {
  const reason = (error as { code?: string }).code ?? String(error);
  return new BackupError(`${path} cannot be read (${reason}). Name a file that keystile backup create has made.`);
}

/** Writes a new backup file, part by part. */
export class BackupWriter {
  readonly #file: FileHandle;
  readonly #hasher = new Bun.CryptoHasher('sha256');
  readonly #key: Uint8Array | undefined;

  private constructor(file: FileHandle, [key]: CopyKeys) {
    this.#file = file;
    this.#key = key;
  }

  /** The file is signed if there is a key. */
  static async create(path: string, header: BackupHeader, keys: CopyKeys): Promise<BackupWriter> {
    const writer = new BackupWriter(await open(path, 'wx', 0o600), keys);
    const format = formatLine(keys.length === 0 ? FORMATS.unsigned : FORMATS.signed);
    await writer.#write(Buffer.from(`${format}${JSON.stringify(header)}\n`));
    return writer;
  }

  async addFile(name: PartName, path: string): Promise<void> {
    const source = await open(path, 'r');
    try {
      const { size } = await source.stat();
      await this.#write(Buffer.from(`${JSON.stringify({ name, bytes: size })}\n`));
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      for (let left = size; left > 0;) {
        const { bytesRead } = await source.read(buffer, 0, Math.min(left, CHUNK_BYTES));
        if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
        await this.#write(buffer.subarray(0, bytesRead));
        left -= bytesRead;
      }
    } finally {
      await source.close();
    }
  }

  /** Writes the checksum and its signature. The file is on disk when this returns. */
  async finish(): Promise<void> {
    const sha256 = this.#hasher.digest('hex');
    const signed = this.#key === undefined ? '' : signatureLine(signatureOf(this.#key, 'backup', sha256));
    await this.#file.appendFile(`${checksumLine(sha256)}${signed}`);
    await this.#file.sync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#hasher.update(bytes);
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, written, bytes.length - written);
      written += bytesWritten;
    }
  }
}
