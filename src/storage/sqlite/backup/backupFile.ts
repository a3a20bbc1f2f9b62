import { type FileHandle, open, stat } from 'node:fs/promises';

import { type Authenticity, authenticityOf, type CopyTrust, refusalOf } from '../../sql/copySignature.ts';
import { BackupError } from './backupError.ts';
import {
  type BackupHeader,
  CHECKSUM_BYTES,
  CHUNK_BYTES,
  FORMAT_LINE,
  formatLine,
  FORMATS,
  MAX_LINE_BYTES,
  NEWEST_FORMAT,
  type PartHeader,
  readChecksum,
  readHeader,
  readPartHeader,
  readSignature,
  SIGNATURE_BYTES,
} from './backupFormat.ts';

/** A part, and the line before it. */
interface FoundPart extends PartHeader {
  readonly offset: number;
  readonly line: string;
}

interface Part extends FoundPart {
  /** Of its bytes, when the file was checked. */
  readonly sha256: string;
}

/**
 * A backup that was read to its end: its format is known, its checksum is right, its parts are where they should be, and its signature is as
 * it was demanded.
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

  /** Writes a part to a new file. It is on disk when this returns, with the bytes that were checked. */
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

/** Of all before the checksum, and of each part. The lines are those that were read: the file may change meanwhile. */
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

/** null = the parts do not end where the checksum begins, one of them is twice in the file, or a database is missing. */
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

/** The line that begins there, with its end. A longer line is cut. */
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
    `${path} is torn or was changed: its checksum does not fit. Use another backup, or copy the file again from where it was made.`,
  );
}

function unreadable(path: string, error: unknown): BackupError {
  const reason = (error as { code?: string }).code ?? String(error);
  return new BackupError(`${path} cannot be read (${reason}). Name a file that keystile backup create has made.`);
}
