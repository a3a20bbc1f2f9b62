import type { Line } from './lines.ts';

/** A record of a CSV file (RFC 4180). `line` is the line on which it begins. */
export interface CsvRecord {
  readonly line: number;
  readonly endOffset: number;
  readonly fields: readonly string[];
  /** Why the record cannot be read. Null: it can. */
  readonly problem: string | null;
}

/** The largest number of lines in a record, so that an unclosed quote does not swallow the rest of the file. */
const MAX_RECORD_LINES = 100;

/** Reads records. A broken record loses only its first line: the lines after it are read again. */
export class CsvReader {
  readonly #lines: AsyncIterator<Line>;
  #queued: Line[] = [];

  constructor(lines: AsyncIterator<Line>) {
    this.#lines = lines;
  }

  /** The next record, which must have `width` fields (null: any number). Null at the end. Empty lines are skipped. */
  async read(width: number | null): Promise<CsvRecord | null> {
    for (;;) {
      const first = await this.#next();
      if (first === null) return null;
      if (first.text !== '' || first.problem !== null) return this.#readFrom(first, width);
    }
  }

  async #readFrom(first: Line, width: number | null): Promise<CsvRecord> {
    const lines = [first];
    let text = first.text;
    let parsed = parseRecord(text);
    while (parsed === OPEN && lines.length < MAX_RECORD_LINES) {
      const more = await this.#next();
      if (more === null) break;
      lines.push(more);
      text += `\n${more.text}`;
      parsed = more.problem === null ? parseRecord(text) : OPEN;
      if (more.problem !== null) break;
    }
    const problem = first.problem ?? problemOf(parsed, width);
    if (problem === null && typeof parsed !== 'string') {
      return { line: first.number, endOffset: lines.at(-1)?.endOffset ?? 0, fields: parsed, problem };
    }
    this.#queued.unshift(...lines.slice(1));
    return { line: first.number, endOffset: first.endOffset, fields: [], problem: problem ?? '' };
  }

  async #next(): Promise<Line | null> {
    const queued = this.#queued.shift();
    if (queued !== undefined) return queued;
    const next = await this.#lines.next();
    return next.done === true ? null : next.value;
  }
}

const OPEN = 'a quote is not closed';
const LOOSE = 'a field contains a quote but does not start with one';

function problemOf(parsed: readonly string[] | string, width: number | null): string | null {
  if (typeof parsed === 'string') return parsed;
  if (width === null || parsed.length === width) return null;
  return `the row has ${parsed.length} fields, but the header has ${width}`;
}

/** The fields of a record, or its problem. */
function parseRecord(text: string): string[] | typeof OPEN | typeof LOOSE {
  const fields: string[] = [];
  let i = 0;
  for (;;) {
    if (text[i] === '"') {
      const end = closingQuote(text, i + 1);
      if (end === -1) return OPEN;
      fields.push(text.slice(i + 1, end).replaceAll('""', '"'));
      i = end + 1;
      if (i < text.length && text[i] !== ',') return LOOSE;
    } else {
      const end = text.indexOf(',', i);
      const field = text.slice(i, end === -1 ? text.length : end);
      if (field.includes('"')) return LOOSE;
      fields.push(field);
      i += field.length;
    }
    if (i >= text.length) return fields;
    i++;
  }
}

/** Two quotes in a row mean one quote inside the field. */
function closingQuote(text: string, from: number): number {
  for (let i = text.indexOf('"', from); i !== -1; i = text.indexOf('"', i + 2)) {
    if (text[i + 1] !== '"') return i;
  }
  return -1;
}
