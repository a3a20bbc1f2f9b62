import { type FileHandle, open } from 'node:fs/promises';

import { type CopyKeys, signatureOf } from '../../sql/copySignature.ts';
import {
  type BackupHeader,
  checksumLine,
  CHUNK_BYTES,
  formatLine,
  FORMATS,
  type PartName,
  signatureLine,
} from './backupFormat.ts';

/** Writes a new backup file, part by part. */
export class BackupWriter {
  readonly #file: FileHandle;
  readonly #hasher = new Bun.CryptoHasher('sha256');
  readonly #key: Uint8Array | undefined;

  private constructor(file: FileHandle, [key]: CopyKeys) {
    this.#file = file;
    this.#key = key;
  }

  /** Signed when there is a key. */
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

  /** Writes the checksum, and its signature. The file is on disk when this returns. */
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
