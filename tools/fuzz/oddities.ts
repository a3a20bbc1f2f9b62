/** The elements of requests: usual ones, and odd ones that servers and gateways are known to read differently. */

export const METHODS = ['GET', 'POST', 'POST', 'POST'] as const;
export const ODD_METHODS = [
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'get',
  'FOO',
  'M-SEARCH',
  'G@T',
  'GE T',
  'PRI',
  '',
] as const;

export const VERIFY_PATH = '/v1/keys.verifyKey';
export const TARGETS = [VERIFY_PATH, VERIFY_PATH, '/a', '/slow', '/a?b=c'] as const;
export const ODD_TARGETS = [
  '/a/../b',
  '/a/./b',
  '/a%20b',
  '/a%00b',
  'http://other/a',
  'https://other/a',
  'http:///a',
  '*',
  '',
  'a',
  '//a',
  '/a b',
  '/a#b',
  '/\xe4',
  '/a\tb',
  '/a\0b',
  '/{a}',
  '?a',
  'other:80',
] as const;

export const VERSIONS = ['HTTP/1.1'] as const;
export const ODD_VERSIONS = [
  'HTTP/1.0',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.1 ',
  'HTTP/1.10',
  'HTTP/01.1',
  'http/1.1',
  'HTTP/1,1',
  'HTTP/1.',
  'XTTP/1.1',
  '',
] as const;

export const HOSTS = ['Host: a'] as const;
export const ODD_HOSTS = [
  '',
  'Host:',
  'Host: ',
  'Host: a b',
  'Host: a\r\nHost: a',
  'Host: a\r\nHost: b',
  'Host: a,b',
  'Host: a:80',
  'Host: [::1]:80',
  'Host: a/b',
  'Host: a@b',
  'Host: \xe4',
  'Host: a:99999',
  'Host:\ta',
  'Host : a',
  'hOsT:a',
] as const;

export const ODD_LENGTHS = [
  (n: number) => `Content-Length: ${n}\r\nContent-Length: ${n}`,
  (n: number) => `Content-Length: ${n}\r\nContent-Length: ${n + 1}`,
  (n: number) => `Content-Length: ${n}, ${n}`,
  (n: number) => `Content-Length: +${n}`,
  (n: number) => `Content-Length: -${n}`,
  (n: number) => `Content-Length: 0${n}`,
  (n: number) => `Content-Length: 0x${n.toString(16)}`,
  (n: number) => `Content-Length: ${n} `,
  (n: number) => `Content-Length:${n}`,
  (n: number) => `Content-Length:\t${n}`,
  (n: number) => `Content-Length : ${n}`,
  (n: number) => `Content-Length: ${n};`,
  (n: number) => `Content-Length: ${n}.0`,
  (n: number) => `Content-Length: ${n}e0`,
  (n: number) => `Content-Length: ${n + 1}`,
  (n: number) => `Content-Length: ${Math.max(0, n - 1)}`,
  (n: number) => `Content-Length: ${n + 4_294_967_296}`,
  (n: number) => `Content-Length: ${BigInt(n) + 18_446_744_073_709_551_616n}`,
  (n: number) => `content-length: ${n}`,
  (n: number) => `Content_Length: ${n}`,
  (n: number) => `X: a\nContent-Length: ${n}`,
  (n: number) => `X: a\rContent-Length: ${n}`,
  (n: number) => `Content-Length:\r\n ${n}`,
  () => 'Content-Length:',
  () => '',
] as const;

export const ODD_ENCODINGS = [
  'transfer-encoding: Chunked',
  'Transfer-Encoding:chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked ',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunkedx',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding: chunked;a=b',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding:',
  'Transfer_Encoding: chunked',
  'X: a\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\0',
] as const;

export const CONNECTIONS = ['', '', 'Connection: keep-alive'] as const;
export const ODD_CONNECTIONS = [
  'Connection: close',
  'Connection: CLOSE',
  'Connection: close, keep-alive',
  'Connection: keep-alive, close',
  'Connection: keep-alive\r\nConnection: close',
  'Connection: Upgrade\r\nUpgrade: h2c',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'Connection: Content-Length',
  'Connection:',
  'Keep-Alive: timeout=1',
  'Proxy-Connection: close',
] as const;

export const EXTRAS = ['', '', 'Content-Type: application/json', 'X-A: b', 'X-A:b', 'X-A: \tb \t', 'X-A:'] as const;
export const ODD_EXTRAS = [
  'X-A: b\r\n c',
  'X-A: b\r\n\tc',
  'X-A : b',
  ' X-A: b',
  'X-A',
  ': b',
  'X-\xe4: b',
  'X-A: \xe4',
  'X-A: b\0c',
  'X-A: b\rc',
  'X-A: b\nX-B: c',
  'X(A): b',
  'X-A: \x7f',
  'X-A: \x01',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Trailer: X-A',
  'TE: trailers',
  'X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2',
  'Content-Type: a\r\nContent-Type: b',
  `X-Long: ${'a'.repeat(2000)}`,
] as const;

export const LINE_ENDS = ['\r\n'] as const;
export const ODD_LINE_ENDS = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\r\n', ''] as const;

/** Bodies that look like requests: a server that ends the body too early answers them. */
export const BODIES = [
  '',
  '{}',
  '{"key":"a"}',
  'x'.repeat(40),
  'GET /inside HTTP/1.1\r\nHost: a\r\n\r\n',
  '0\r\n\r\nGET /inside HTTP/1.1\r\nHost: a\r\n\r\n',
  '\r\nPOST /inside HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}',
  '5\r\nabcde\r\n0\r\n\r\n',
  '\xff\xfe\0\r\n',
] as const;

export const ODD_SIZES = [
  (n: number) => `0${n.toString(16)}`,
  (n: number) => `0x${n.toString(16)}`,
  (n: number) => ` ${n.toString(16)}`,
  (n: number) => `${n.toString(16)} `,
  (n: number) => `+${n.toString(16)}`,
  (n: number) => `-${n.toString(16)}`,
  (n: number) => `${n.toString(16)};a=b`,
  (n: number) => `${n.toString(16)};a="b\r\nc"`,
  (n: number) => `${n.toString(16)};${'a'.repeat(300)}`,
  (n: number) => `${n.toString(16)}\t`,
  (n: number) => (n + 1).toString(16),
  (n: number) => (n + 4_294_967_296).toString(16),
  (n: number) => (BigInt(n) + 18_446_744_073_709_551_616n).toString(16),
  (n: number) => `${n.toString(16)}g`,
  () => '',
] as const;

export const ENDS = ['0\r\n\r\n'] as const;
export const ODD_ENDS = [
  '00\r\n\r\n',
  '0\n\n',
  '0\r\n\n',
  '0\r\n',
  '0\r\nX-A: b\r\n\r\n',
  '0\r\nContent-Length: 5\r\n\r\n',
  '0\r\nTransfer-Encoding: chunked\r\n\r\n',
  '0\r\nbroken\r\n\r\n',
  '0;a=b\r\n\r\n',
  '0 \r\n\r\n',
  '0\r\n\r\n\r\n',
  '',
] as const;
