import type { TextReader } from '../system.ts';

const BLOCK_BYTES = 2 ** 20;
/** A longer text is not worth a copy with every answer. */
const MAX_TEXT = 1024;

/** Texts one after the other, as bytes. It is only ever added to, and goes when no entry refers to it. */
export class TextBlock {
  readonly read: (start: number, end: number) => string;
  readonly #bytes = new Uint8Array(BLOCK_BYTES);
  #used = 0;

  constructor(readerOf: TextReader) {
    this.read = readerOf(this.#bytes.buffer);
  }

  fits(text: string): boolean {
    return this.#used + text.length <= BLOCK_BYTES;
  }

  /** Answers where the text begins. */
  add(text: string): number {
    const start = this.#used;
    for (let i = 0; i < text.length; i++) this.#bytes[start + i] = text.charCodeAt(i);
    this.#used += text.length;
    return start;
  }
}

/**
 * Parts of answers that belong to one of many identities. To read a string out of 100,000 is to wait for memory three times, one after the
 * other: for the string, for its head and for its characters. Bytes in a block are read at once.
 */
export class KeptTexts {
  readonly #readerOf: TextReader;
  #block: TextBlock | null = null;

  constructor(readerOf: TextReader) {
    this.#readerOf = readerOf;
  }

  /** The block in which to keep this text of ASCII; null = it is too long. */
  blockFor(text: string): TextBlock | null {
    if (text.length > MAX_TEXT) return null;
    if (this.#block?.fits(text) !== true) this.#block = new TextBlock(this.#readerOf);
    return this.#block;
  }
}
