import type { HeaderLookup } from '../service.ts';

/** More headers than this are left to the runtime. */
const MAX_HEADERS = 64;

/** A path without dots at the beginning of a segment, which would have to be resolved, and a query. */
const REQUEST_LINE = /^(GET|POST) (\/[\w/.-]*(?:\?[\w%&=+.,:;@/~*'()!$-]*)?) HTTP\/1\.1$/;
const DOT_SEGMENT = /\/\./;
/** A name, and a value of printable ASCII. No part of it can match in two ways: it takes no longer than the line is long. */
const FIELD = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e]*)$/;
const LENGTH = /^(?:0|[1-9]\d{0,8})$/;

/** Everything that precedes the body of a request. */
export interface RequestHead {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly bodyBytes: number;
  /** The connection is closed behind the answer. */
  readonly isLast: boolean;
}

export class HeaderList implements HeaderLookup {
  readonly #fields: (readonly [name: string, value: string])[] = [];

  add(name: string, value: string): void {
    this.#fields.push([name, value]);
  }

  /** As `Headers.get`: a header that was sent several times is one with commas. The name in lower case. */
  get(name: string): string | null {
    let found: string | null = null;
    for (const [each, value] of this.#fields) {
      if (each === name) found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  toHeaders(): Headers {
    const headers = new Headers();
    for (const [name, value] of this.#fields) headers.append(name, value);
    return headers;
  }
}

/**
 * Reads a head (without the empty line at its end) of the shape that nearly every client sends, or answers null: whatever
 * is unusual, doubtful or wrong in HTTP is for the runtime's server to judge, which sees it exactly as it came. So what is
 * read here must not leave two ways to read it: where the body ends is told by one plain Content-Length or not at all.
 */
export function readHead(text: string): RequestHead | null {
  const [first = '', ...lines] = text.split('\r\n');
  const start = REQUEST_LINE.exec(first);
  if (start === null || lines.length > MAX_HEADERS) return null;
  const [, method = '', target = ''] = start;
  if (DOT_SEGMENT.test(target)) return null;
  const headers = new HeaderList();
  for (const line of lines) {
    const field = FIELD.exec(line);
    if (field === null) return null;
    headers.add((field[1] ?? '').toLowerCase(), (field[2] ?? '').trim());
  }
  const length = headers.get('content-length') ?? '0';
  const connection = headers.get('connection')?.toLowerCase() ?? 'keep-alive';
  const host = headers.get('host');
  const isPlain =
    LENGTH.test(length) &&
    (connection === 'keep-alive' || connection === 'close') &&
    host !== null &&
    HOST.test(host) &&
    NOT_READ_HERE.every((name) => headers.get(name) === null);
  if (!isPlain) return null;
  const isLast = connection === 'close';
  return { method: method as RequestHead['method'], target, headers, bodyBytes: Number(length), isLast };
}

/** One host: two of them would come with a comma. */
const HOST = /^[\w.:[\]-]+$/;
/** They change where a body ends, who may send it when, or what the connection speaks. */
const NOT_READ_HERE = ['transfer-encoding', 'expect', 'upgrade', 'http2-settings'];
