import { type FileHandle, open } from 'node:fs/promises';

import {
  type BackupHeader,
  checksumLine,
  CHUNK_BYTES,
  FORMAT_VERSION,
  formatLine,
  type PartName,
} from './backupFormat.ts';

/** Writes a new backup file, part by part. */
export class BackupWriter {
  readonly #file: FileHandle;
  readonly #hasher = new Bun.CryptoHasher('sha256');

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string, header: BackupHeader): Promise<BackupWriter> {
    const writer = new BackupWriter(await open(path, 'wx', 0o600));
    await writer.#write(Buffer.from(`${formatLine(FORMAT_VERSION)}${JSON.stringify(header)}\n`));
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

  /** Writes the checksum. The file is on disk when this returns. */
  async finish(): Promise<void> {
    await this.#file.appendFile(checksumLine(this.#hasher.digest('hex')));
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
