/** A line without its end. */
export interface Line {
  readonly number: number;
  /** Bytes from the beginning up to and with its end. */
  readonly endOffset: number;
  readonly text: string;
  /** Why it cannot be read; null = it can. */
  readonly problem: string | null;
}

/** Longer lines are passed over: the file is never held in memory. */
const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/** The lines of a text; of those that end at `skipTo` or before only the first, which may be a header. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, skipTo: number): AsyncGenerator<Line> {
  const carried = new Carried();
  let offset = 0;
  let number = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      carried.add(chunk.subarray(start, end));
      start = end + 1;
      number++;
      if (number === 1 || offset + start > skipTo) yield carried.take(number, offset + start);
      else carried.drop();
    }
    carried.add(chunk.subarray(start));
    offset += chunk.length;
  }
  if (!carried.isEmpty && offset > skipTo) yield carried.take(number + 1, offset);
}

/** The pieces of the line that is being read. */
class Carried {
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_LINE_BYTES) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  drop(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }

  take(number: number, endOffset: number): Line {
    const [pieces, isTooLong] = [this.#pieces, this.#bytes > MAX_LINE_BYTES];
    this.drop();
    if (isTooLong) return { number, endOffset, text: '', problem: `is longer than ${MAX_LINE_BYTES} bytes` };
    try {
      const bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
      const body = number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
      return { number, endOffset, text: body.endsWith('\r') ? body.slice(0, -1) : body, problem: null };
    } catch {
      return { number, endOffset, text: '', problem: 'is not valid UTF-8' };
    }
  }
}
