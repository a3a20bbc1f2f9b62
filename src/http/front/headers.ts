import { AppError } from '../../core/errors.ts';
import type { HeaderLookup } from '../service.ts';

/** Bun's server takes as many. */
const MAX_HEADERS = 199;
/** A name, and a value without control characters. No part can match in two ways: the time is linear in the line's length. */
const FIELD = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/** The headers of one request, in the order in which they came. */
export class HeaderList implements HeaderLookup {
  readonly #fields: (readonly [name: string, value: string])[] = [];

  add(name: string, value: string): void {
    this.#fields.push([name, value]);
  }

  /** Like `Headers.get`: values of a repeated header are joined with commas. `name` is in lower case. */
  get(name: string): string | null {
    let found: string | null = null;
    for (const [each, value] of this.#fields) {
      if (each === name) found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  /** Like `get`, for a header that is allowed once: with two, a proxy and this node could use different ones. */
  only(name: string, shownName: string): string | null {
    let found: string | null = null;
    for (const [each, value] of this.#fields) {
      if (each !== name) continue;
      if (found !== null) throw new AppError('BAD_REQUEST', `The header ${shownName} was sent twice. Send it once.`);
      found = value;
    }
    return found;
  }

  toHeaders(): Headers {
    const headers = new Headers();
    for (const [name, value] of this.#fields) headers.append(name, value);
    return headers;
  }
}

/** Parses header lines, or throws the error to answer. */
export function parseHeaders(lines: readonly string[]): HeaderList {
  if (lines.length > MAX_HEADERS) {
    throw new AppError('HEADERS_TOO_LARGE', `The request has more than ${MAX_HEADERS} headers.`);
  }
  const headers = new HeaderList();
  for (const line of lines) {
    const field = FIELD.exec(line);
    if (field === null) throw new AppError('BAD_REQUEST', 'A header is malformed. Each line must be "Name: value".');
    headers.add((field[1] ?? '').toLowerCase(), trimmed(field[2] ?? ''));
  }
  return headers;
}

/** Without blanks and tabs around it. `String.trim` would also take other characters that are part of the value. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
