import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { flushFolder, FolderError, writeDurably } from './dataFolder.ts';

const KEY_BYTES = 32;

/** The encryption key in the data folder (0600). It is made when it is first needed, and never changed. */
export class FolderKey {
  readonly #folder: string;
  readonly #newKey: () => Uint8Array;
  #known: Uint8Array | null = null;

  constructor(folder: string, newKey: () => Uint8Array) {
    this.#folder = folder;
    this.#newKey = newKey;
  }

  /** The key, when there is one. */
  find(): readonly Uint8Array[] {
    if (this.#known === null && existsSync(this.#path)) this.#known = this.#read();
    return this.#known === null ? [] : [this.#known];
  }

  findOrMake(): Uint8Array {
    const [found] = this.find();
    if (found !== undefined) return found;
    const made = this.#newKey();
    writeDurably(this.#path, `${Buffer.from(made).toString('base64')}\n`);
    flushFolder(this.#folder);
    return (this.#known = made);
  }

  get #path(): string {
    return join(this.#folder, 'encryption-key');
  }

  #read(): Uint8Array {
    const key = Buffer.from(readFileSync(this.#path, 'utf8').trim(), 'base64');
    if (key.length === KEY_BYTES) return key;
    throw new FolderError(
      `The file ${this.#path} is not a valid encryption key. It must contain ${KEY_BYTES} bytes in base64.`,
    );
  }
}
