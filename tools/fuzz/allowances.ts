import type { Seen } from './app.ts';

/** Where the two servers may differ, and why. Every other difference is a finding. */
export interface Allowance {
  readonly name: string;
  readonly reason: string;
  /**
   * Whether it is this one. `request` is the first that only one of them passes on, `before` the one in front of it, `sent`
   * all that the connection has sent.
   */
  readonly isMeant: (request: Seen, sent: string, before?: Seen) => boolean;
  /** The front must refuse it whatever the runtime does. */
  readonly isDuty?: true;
  /** The front need not refuse it: it may also wait for more until the client has gone. */
  readonly mayWait?: true;
}

const HOST = /^(?:[\w.~!$&'()*+;=-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;
const isHost = (text: string): boolean => HOST.test(text) && Number(/:(\d+)$/.exec(text)?.[1] ?? 0) <= 65_535;
const isChunked = ({ headers }: Seen): boolean => headers['transfer-encoding'] !== undefined;
const hasBody = ({ headers }: Seen): boolean =>
  (headers['transfer-encoding'] ?? headers['content-length']) !== undefined;

/** The runtime passes it on; the front answers with a status of its own and closes. */
export const STRICTER: readonly Allowance[] = [
  {
    name: 'an empty, a malformed or a second Host',
    reason: 'RFC 9112, 3.2: the answer must be 400.',
    // HTTP/1.0 needs none.
    isMeant: ({ headers: { host } }) => host !== undefined && !isHost(host),
    isDuty: true,
  },
  {
    name: 'a second Content-Length, or one that is not plain digits',
    reason: 'RFC 9112, 6.3 lets a server take equal ones; a gateway in front may have read them in another way.',
    isMeant: ({ headers }) => !/^(?:0|[1-9]\d*)$/.test(headers['content-length'] ?? '0'),
    isDuty: true,
  },
  {
    name: 'a last chunk without an empty line or whole trailers behind it',
    reason: 'The runtime takes two bytes behind the last chunk for its end, whatever they are.',
    isMeant: (request, sent) => isChunked(request) && /\r\n0+(?:;[^\r\n]*)?\r\n(?!\r\n)/.test(sent),
  },
  {
    name: 'GET or HEAD with a body that is malformed or never ends',
    reason: 'The runtime passes it on before it reads the body, which nobody looks at.',
    isMeant: (request) => /^(?:GET|HEAD)$/.test(request.method) && hasBody(request),
    mayWait: true,
  },
  {
    name: 'a Transfer-Encoding other than "chunked"',
    reason: 'The runtime passes over an empty element of the list. What is not plain is not taken.',
    isMeant: ({ headers }) => !/^chunked$/i.test(headers['transfer-encoding'] ?? 'chunked'),
    isDuty: true,
  },
  {
    name: 'a chunk with a long or quoted extension',
    reason: 'Nobody sends them. Long ones cost time, quoted ones could hide the end of their line.',
    isMeant: (request, sent) =>
      isChunked(request) && /\r\n[\da-f]+;(?:[^\r\n]*[^!#$%&'*+.^_`|~\w;=-]|[^\r\n]{240})/i.test(sent),
  },
  {
    name: 'a "#" in the path',
    reason: 'RFC 9112, 3.2 has none there. The runtime cuts the path at it.',
    isMeant: (_request, sent) => /^\S+ [^\r\n]*#[^\r\n]* HTTP\/1\.[01]\r$/m.test(sent),
  },
  {
    name: 'a whole address without a host',
    reason: 'RFC 9110, 4.2.1: it is invalid.',
    isMeant: (_request, sent) => /^\S+ https?:\/\/\S* HTTP\/1\.[01]\r$/im.test(sent),
  },
  {
    name: 'a control character in a header',
    reason: 'RFC 9110, 5.5. The runtime lets DEL through.',
    isMeant: (_request, sent) => sent.includes('\x7f'),
  },
];

/** The front passes it on; the runtime does not. */
export const WIDER: readonly Allowance[] = [
  {
    name: 'what follows a chunked body with trailers',
    reason:
      'RFC 9112, 7.1.2: trailers belong to the body. The runtime takes them for the next request, and refuses it.',
    isMeant: (_request, sent, before) =>
      before !== undefined && isChunked(before) && /\r\n0+(?:;[^\r\n]*)?\r\n[!#$%&'*+.^_`|~\w-]+:/.test(sent),
  },
];
