/** A line without its line break. */
export interface Line {
  readonly number: number;
  /** Number of bytes from the start of the file to the end of this line, line break included. */
  readonly endOffset: number;
  readonly text: string;
  /** Why the line cannot be read. Null: it can. */
  readonly problem: string | null;
}

/** Longer lines are skipped, so that memory stays bounded. */
const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/** The lines that end after `skipTo`, and always the first line, which may be a header. */
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

/** The chunks of the line that is being read. */
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
    if (isTooLong) return { number, endOffset, text: '', problem: `the line is longer than ${MAX_LINE_BYTES} bytes` };
    try {
      const bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
      const body = number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
      return { number, endOffset, text: body.endsWith('\r') ? body.slice(0, -1) : body, problem: null };
    } catch {
      return { number, endOffset, text: '', problem: 'the line is not valid UTF-8' };
    }
  }
}
