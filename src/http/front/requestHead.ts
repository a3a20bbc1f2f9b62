import { AppError, repeatable } from '../../core/errors.ts';
import type { ByteBuffer } from './byteBuffer.ts';
import { checkHost, type HostCheck, isHost, toLength } from '../request/body.ts';
import type { Asking, HeaderLookup, Peer } from '../service.ts';

/** Everything that precedes the body of a request. */
export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  /** From Content-Length; 0 when the body is chunked. */
  readonly bodyBytes: number;
  readonly isChunked: boolean;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** The connection is closed after the answer. */
  readonly isLast: boolean;
  /** HTTP/1.0, which has no chunks. */
  readonly isOld: boolean;
}

/**
 * Parses a head without the empty line at its end, or throws the failure to answer with. A head that could be read in two ways is refused:
 * a proxy and this node must see the same end of every request (RFC 9112, 6.3 and 11.2).
 */
export function parseHead(text: string, mayBeCalled: HostCheck = checkHost): RequestHead {
  const [first = '', ...lines] = text.split('\r\n');
  const { method, target, isOld } = parseRequestLine(first);
  const headers = parseHeaders(lines);
  readHost(headers, isOld, mayBeCalled);
  const isChunked = readTransferEncoding(headers, isOld);
  const bodyBytes = readLength(headers, isChunked);
  const hasBody = isChunked || bodyBytes > 0;
  return {
    method,
    target,
    headers,
    bodyBytes,
    isChunked,
    expectsContinue: hasBody && !isOld && headers.get('expect')?.toLowerCase() === '100-continue',
    // A client of HTTP/1.0 may ask to keep the connection. The server may close it all the same.
    isLast: isOld || tokens(headers.get('connection')).includes('close'),
    isOld,
  };
}

function readHost(headers: HeaderList, isOld: boolean, mayBeCalled: HostCheck): void {
  const host = headers.only('host', 'Host');
  if (host !== null) mayBeCalled(host);
  else if (!isOld) throw new AppError('BAD_REQUEST', 'The header Host is missing. HTTP/1.1 needs it.');
}

function readTransferEncoding(headers: HeaderList, isOld: boolean): boolean {
  const encoding = headers.only('transfer-encoding', 'Transfer-Encoding');
  if (encoding === null) return false;
  if (isOld) throw new AppError('BAD_REQUEST', 'HTTP/1.0 has no Transfer-Encoding. Send Content-Length.');
  if (encoding.toLowerCase() === 'chunked') return true;
  throw new AppError('BAD_REQUEST', `The header Transfer-Encoding must be "chunked", got ${repeatable(encoding)}.`);
}

function readLength(headers: HeaderList, isChunked: boolean): number {
  const length = headers.only('content-length', 'Content-Length');
  if (length === null) return 0;
  if (isChunked) throw new AppError('BAD_REQUEST', 'Send Content-Length or Transfer-Encoding, not both.');
  return toLength(length);
}

function tokens(value: string | null): string[] {
  return value === null ? [] : value.split(',').map((token) => token.trim().toLowerCase());
}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/(\d\.\d)$/;
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i;
const NOT_ASCII = /[\x80-\xff]/;

/** The first line of a request. */
interface RequestLine {
  readonly method: string;
  /** Path and query; it begins with a slash. */
  readonly target: string;
  /** HTTP/1.0: Host is optional, and the connection closes after the answer. */
  readonly isOld: boolean;
}

/** Parses the first line, or throws the error to answer. */
function parseRequestLine(text: string): RequestLine {
  const parts = REQUEST_LINE.exec(text);
  if (parts === null) {
    throw new AppError(
      'BAD_REQUEST',
      'The first line of the request is malformed. It must be "METHOD /path HTTP/1.1".',
    );
  }
  const [, method = '', target = '', version = ''] = parts;
  if (version !== '1.1' && version !== '1.0') {
    throw new AppError('HTTP_VERSION_NOT_SUPPORTED', `This node speaks HTTP/1.1 and HTTP/1.0, not HTTP/${version}.`);
  }
  return { method, target: readTarget(target), isOld: version === '1.0' };
}

function readTarget(text: string): string {
  const target = text.startsWith('/') ? text : withoutOrigin(text);
  if (target.includes('#')) throw new AppError('BAD_REQUEST', 'The path of the request has a "#". Write it as %23.');
  // Each character is one byte. Bytes beyond ASCII are UTF-8: clients that do not percent-encode send it.
  return NOT_ASCII.test(target) ? Buffer.from(target, 'latin1').toString('utf8') : target;
}

/** RFC 9112, 3.2.2: a client of a proxy names the whole address. */
function withoutOrigin(text: string): string {
  const absolute = ABSOLUTE.exec(text);
  if (absolute === null || !isHost(absolute[1] ?? '')) {
    throw new AppError('BAD_REQUEST', 'The path of the request must begin with "/".');
  }
  const rest = absolute[2] ?? '';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The longest request line with its headers. Node's server takes as much. */
const MAX_HEAD_BYTES = 16 * 1024;
/** A head is remembered for the next request if it is no longer than this. */
const MAX_REMEMBERED = 1024;
const END_OF_HEAD = '\r\n\r\n';
const [LF, CR] = [0x0a, 0x0d];
/** A method begins with a byte in this range. Others are not HTTP (a TLS handshake begins with 0x16). */
const [FIRST_OF_TOKEN, LAST_OF_TOKEN] = [0x21, 0x7e];

/** What was decided of a fast request. */
export interface Decided {
  readonly code: string;
}

/** The one request that is answered without the work that other routes need: a POST whose answer is JSON with status 200. */
export interface FastPath {
  readonly path: string;
  /** A longer body goes the way of all other requests. */
  readonly maxBodyBytes: number;
  decide(asking: Asking, body: string): Decided | PromiseLike<Decided>;
  /** The body of the answer. */
  text(decided: Decided): string;
  /** How many bytes this body has. */
  bytes(decided: Decided, text: string): number;
  /** The headers of the answer beside those that every answer has, as lines. */
  headerLines(decided: Decided): string;
}

/** A parsed head, with its bytes up to and including the empty line. */
export interface WrittenHead {
  readonly bytes: Buffer;
  readonly head: RequestHead;
  /** It is a request of the fast path whose body fits. */
  readonly isFast: boolean;
  readonly asking: Asking;
}

/** What all connections know of heads. */
export interface HeadContext {
  readonly fast: FastPath;
  /** Pages of other origins may call (CORS). Their answers have more headers. */
  readonly hasCors: boolean;
  /** Throws when this service may not be called by that name. A remembered head was checked. */
  readonly checkHost: HostCheck;
}

/** Takes the next head of one connection. A client repeats its head, so the last one is remembered with its meaning. */
export class NextHead {
  readonly #context: HeadContext;
  readonly #peer: Peer;
  #last: WrittenHead | null = null;
  /** How many bytes of an incomplete head were searched for its end. */
  #seen = 0;

  constructor(context: HeadContext, peer: Peer) {
    this.#context = context;
    this.#peer = peer;
  }

  /** Takes a head. Null: more bytes are needed. Throws the failure to answer with. */
  take(received: ByteBuffer): WrittenHead | null {
    const last = this.#last;
    if (last !== null && startsWith(received, last.bytes)) {
      this.#seen = 0;
      received.consume(last.bytes.length);
      return last;
    }
    const { bytes, start } = received;
    // An end that arrived in two pieces begins up to three bytes before the second piece.
    const found = bytes.subarray(start, received.end).indexOf(END_OF_HEAD, Math.max(0, this.#seen - 3), 'latin1');
    if (found > MAX_HEAD_BYTES || (found < 0 && received.length > MAX_HEAD_BYTES)) {
      throw new AppError('HEADERS_TOO_LARGE', `The headers have more than ${MAX_HEAD_BYTES} bytes.`);
    }
    if (found < 0) {
      this.#checkBeginning(received);
      this.#seen = received.length;
      return null;
    }
    this.#seen = 0;
    const head = parseHead(bytes.toString('latin1', start, start + found), this.#context.checkHost);
    const length = found + END_OF_HEAD.length;
    const isFast = this.#isFast(head);
    const isRemembered = isFast && length <= MAX_REMEMBERED;
    const written = {
      // A copy, so that the bytes around it are not kept in memory.
      bytes: isRemembered ? Buffer.from(bytes.subarray(start, start + length)) : NOTHING,
      head,
      isFast,
      asking: { headers: head.headers, peer: this.#peer },
    };
    if (isRemembered) this.#last = written;
    received.consume(length);
    return written;
  }

  /** Refuses what cannot become a head at once, instead of waiting for the rest of it. */
  #checkBeginning({ bytes, start, end }: ByteBuffer): void {
    const first = bytes[start] ?? 0;
    if (first < FIRST_OF_TOKEN || first > LAST_OF_TOKEN) {
      throw new AppError('BAD_REQUEST', 'This is not an HTTP request. This port accepts HTTP/1.1 without TLS.');
    }
    for (let at = bytes.indexOf(LF, start + this.#seen); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) {
      if (bytes[at - 1] !== CR) throw new AppError('BAD_REQUEST', 'A line of the headers does not end with CR LF.');
    }
  }

  #isFast({ method, target, bodyBytes, isChunked, headers }: RequestHead): boolean {
    return (
      method === 'POST' &&
      target === this.#context.fast.path &&
      bodyBytes <= this.#context.fast.maxBodyBytes &&
      !isChunked &&
      // The answer to a page of another origin has more headers.
      !(this.#context.hasCors && headers.get('origin') !== null)
    );
  }
}

const NOTHING = Buffer.alloc(0);

function startsWith({ bytes, start, length }: ByteBuffer, beginning: Buffer): boolean {
  return length >= beginning.length && beginning.compare(bytes, start, start + beginning.length) === 0;
}

/** Bun's server takes as many. */
const MAX_HEADERS = 199;
/** A name, and a value without control characters. No part can match in two ways: the time is linear in the line's length. */
const FIELD = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e\x80-\xff]*)$/;

/** The headers of one request, in the order in which they came. */
class HeaderList implements HeaderLookup {
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
