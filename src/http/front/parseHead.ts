import { AppError, repeatable } from '../../core/errors.ts';
import { checkHost, type HostCheck, toLength } from '../request/framing.ts';
import { type HeaderList, parseHeaders } from './headers.ts';
import { parseRequestLine } from './requestLine.ts';

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
