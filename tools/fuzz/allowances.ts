import type { Seen } from './app.ts';

/** A difference between the two servers that is allowed, and why. Every other difference is a finding. */
export interface Allowance {
  readonly name: string;
  readonly reason: string;
  /**
   * Whether this allowance applies. `request` is the first request that only one server passes on, `before` the request
   * before it, and `sent` everything that the connection has sent.
   */
  readonly applies: (request: Seen, sent: string, before?: Seen) => boolean;
  /** The front must refuse the request, whatever the runtime does. */
  readonly mustRefuse?: true;
  /** The front may also wait for more bytes until the client disconnects. */
  readonly mayWait?: true;
}

const HOST = /^(?:[\w.~!$&'()*+;=-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;
const isHost = (text: string): boolean => HOST.test(text) && Number(/:(\d+)$/.exec(text)?.[1] ?? 0) <= 65_535;
const isChunked = ({ headers }: Seen): boolean => headers['transfer-encoding'] !== undefined;
const hasBody = ({ headers }: Seen): boolean =>
  (headers['transfer-encoding'] ?? headers['content-length']) !== undefined;

/** Requests that the runtime passes on, and that the front refuses. It answers with an error status and closes. */
export const STRICTER: readonly Allowance[] = [
  {
    name: 'an empty, malformed or second Host',
    reason: 'RFC 9112, 3.2: the answer must be 400.',
    // HTTP/1.0 needs no Host.
    applies: ({ headers: { host } }) => host !== undefined && !isHost(host),
    mustRefuse: true,
  },
  {
    name: 'a second Content-Length, or one that is not plain digits',
    reason: 'RFC 9112, 6.3 allows equal ones, but a gateway may read them differently.',
    applies: ({ headers }) => !/^(?:0|[1-9]\d*)$/.test(headers['content-length'] ?? '0'),
    mustRefuse: true,
  },
  {
    name: 'a last chunk without an empty line or complete trailers after it',
    reason: 'The runtime accepts any two bytes after the last chunk as its end.',
    applies: (request, sent) => isChunked(request) && /\r\n0+(?:;[^\r\n]*)?\r\n(?!\r\n)/.test(sent),
  },
  {
    name: 'GET or HEAD with a body that is malformed or never ends',
    reason: 'The runtime passes the request on before it reads the body, which is not used.',
    applies: (request) => /^(?:GET|HEAD)$/.test(request.method) && hasBody(request),
    mayWait: true,
  },
  {
    name: 'a Transfer-Encoding other than "chunked"',
    reason: 'The runtime ignores an empty element of the list. The front accepts only the plain value.',
    applies: ({ headers }) => !/^chunked$/i.test(headers['transfer-encoding'] ?? 'chunked'),
    mustRefuse: true,
  },
  {
    name: 'a chunk with a long or quoted extension',
    reason: 'Clients do not send them. Long ones cost time, and quoted ones could hide the end of their line.',
    applies: (request, sent) =>
      isChunked(request) && /\r\n[\da-f]+;(?:[^\r\n]*[^!#$%&'*+.^_`|~\w;=-]|[^\r\n]{240})/i.test(sent),
  },
  {
    name: 'a "#" in the path',
    reason: 'RFC 9112, 3.2 does not allow it. The runtime cuts the path there.',
    applies: (_request, sent) => /^\S+ [^\r\n]*#[^\r\n]* HTTP\/1\.[01]\r$/m.test(sent),
  },
  {
    name: 'an absolute URL without a host',
    reason: 'RFC 9110, 4.2.1: it is invalid.',
    applies: (_request, sent) => /^\S+ https?:\/\/\S* HTTP\/1\.[01]\r$/im.test(sent),
  },
  {
    name: 'a control character in a header',
    reason: 'RFC 9110, 5.5 does not allow it. The runtime accepts DEL.',
    applies: (_request, sent) => sent.includes('\x7f'),
  },
];

/** Requests that the front passes on, and that the runtime refuses. */
export const WIDER: readonly Allowance[] = [
  {
    name: 'a request after a chunked body with trailers',
    reason: 'RFC 9112, 7.1.2: trailers belong to the body. The runtime reads them as the next request and refuses it.',
    applies: (_request, sent, before) =>
      before !== undefined && isChunked(before) && /\r\n0+(?:;[^\r\n]*)?\r\n[!#$%&'*+.^_`|~\w-]+:/.test(sent),
  },
];
