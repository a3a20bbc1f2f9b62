import { AppError } from '../../core/errors.ts';
import { isHost } from '../request/framing.ts';

const REQUEST_LINE = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e\x80-\xff]+) HTTP\/(\d\.\d)$/;
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i;
const NOT_ASCII = /[\x80-\xff]/;

/** The first line of a request. */
export interface RequestLine {
  readonly method: string;
  /** Path and query; it begins with a slash. */
  readonly target: string;
  /** HTTP/1.0: Host is optional, and the connection closes after the answer. */
  readonly isOld: boolean;
}

/** Parses the first line, or throws the error to answer. */
export function parseRequestLine(text: string): RequestLine {
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
