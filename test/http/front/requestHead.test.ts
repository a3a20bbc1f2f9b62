import { describe, expect, test } from 'bun:test';

import { ERRORS } from '../../../src/core/errors.ts';
import { ResponseHeads } from '../../../src/http/front/responder.ts';
import { parseHead } from '../../../src/http/front/requestHead.ts';

const lines = (...all: string[]): string => all.join('\r\n');
const START = 'POST /v1/keys.verifyKey HTTP/1.1';

describe('a head of the usual shape', () => {
  test('is read', () => {
    const text = lines(
      START,
      'Host: keys.example.com:7878',
      'content-type:application/json',
      'CONTENT-LENGTH: \t42 ',
      'User-Agent: curl/8.5 (x; y)',
      'X-Empty:',
      'Connection: Keep-Alive',
    );
    const head = parseHead(text);
    expect(head).toMatchObject({ method: 'POST', target: '/v1/keys.verifyKey', bodyBytes: 42, isLast: false });
    expect(head.headers.get('content-type')).toBe('application/json');
    expect(head.headers.get('x-empty')).toBe('');
    expect(head.headers.get('x-missing')).toBeNull();
    expect([...head.headers.toHeaders()].length).toBe(6);
  });

  test('a header that was sent several times is one with commas, as in Headers', () => {
    const head = parseHead(lines(START, 'Host: a', 'X-Forwarded-For: 1.1.1.1', 'x-forwarded-for: 2.2.2.2'));
    expect(head.headers.get('x-forwarded-for')).toBe('1.1.1.1, 2.2.2.2');
    expect(head.headers.toHeaders().get('x-forwarded-for')).toBe('1.1.1.1, 2.2.2.2');
  });

  test.each([
    ['GET / HTTP/1.1', '/'],
    ['GET /v1/apis.listKeys?apiId=api_1&search=a%20b+c HTTP/1.1', '/v1/apis.listKeys?apiId=api_1&search=a%20b+c'],
    ['POST //v1/keys.verifyKey?pretty HTTP/1.1', '//v1/keys.verifyKey?pretty'],
  ])('%s', (start, target) => {
    expect(parseHead(lines(start, 'Host: a'))).toMatchObject({ target, bodyBytes: 0 });
  });

  test('the connection ends with it where the client says so', () => {
    expect(parseHead(lines(START, 'Host: a', 'Connection: close')).isLast).toBe(true);
  });
});

describe('what else HTTP allows', () => {
  const HOST = 'Host: a';
  test.each([
    ['HTTP/1.0 ends the connection', lines('GET / HTTP/1.0', HOST), { isLast: true }],
    [
      'also where the client asks to keep it',
      lines('GET / HTTP/1.0', HOST, 'Connection: keep-alive'),
      { isLast: true },
    ],
    ['HTTP/1.0 needs no Host', 'GET / HTTP/1.0', { target: '/', isLast: true }],
    ['any method', lines('PURGE / HTTP/1.1', HOST), { method: 'PURGE' }],
    ['a method in lower case is another one', lines('post / HTTP/1.1', HOST), { method: 'post' }],
    ['a whole address', lines('POST http://a:80/v1?b HTTP/1.1', HOST), { target: '/v1?b' }],
    ['a whole address without a path', lines('GET HTTPS://[::1] HTTP/1.1', HOST), { target: '/' }],
    ['a whole address with a query alone', lines('GET http://a?b=/c HTTP/1.1', HOST), { target: '/?b=/c' }],
    ['UTF-8 in the path', lines('GET /\xc3\xa9 HTTP/1.1', HOST), { target: '/é' }],
    ['chunks', lines(START, HOST, 'Transfer-Encoding: Chunked'), { isChunked: true, bodyBytes: 0 }],
    ['an expectation', lines(START, HOST, 'Content-Length: 5', 'Expect: 100-Continue'), { expectsContinue: true }],
    ['one without a body', lines(START, HOST, 'Expect: 100-continue'), { expectsContinue: false }],
    [
      'one of HTTP/1.0',
      lines('POST / HTTP/1.0', 'Content-Length: 5', 'Expect: 100-continue'),
      { expectsContinue: false },
    ],
    ['another one', lines(START, HOST, 'Content-Length: 5', 'Expect: cake'), { expectsContinue: false }],
    ['another protocol is passed over', lines(START, HOST, 'Connection: Upgrade', 'Upgrade: h2c'), { isLast: false }],
    ['a connection with more to say', lines(START, HOST, 'Connection: keep-alive, Close'), { isLast: true }],
    ['a Host with all that a name may have', lines(START, "Host: a_b~!$&'()*+;=.:65535"), { isLast: false }],
    ['a Host that is an address', lines(START, 'Host: [::ffff:1.2.3.4]:'), { isLast: false }],
    ['199 headers', lines(START, HOST, ...Array.from({ length: 198 }, (_, i) => `X-${i}: a`)), { isLast: false }],
  ])('%s', (_name, text, expected) => {
    expect(parseHead(text)).toMatchObject(expected);
  });

  test('a value is taken as it is but for the blanks around it', () => {
    const head = parseHead(lines(START, HOST, 'X-A: \t \xa0a  b\xe9\xa0\t '));
    expect(head.headers.get('x-a')).toBe('\xa0a  b\xe9\xa0');
  });

  test('very many blanks in a value take no longer than as many letters', () => {
    const value = `a${' '.repeat(16_000)}b`;
    for (let i = 0; i < 1000; i++) parseHead(lines(START, HOST, `X-A: ${value}`));
    expect(parseHead(lines(START, HOST, `X-A: ${value}`)).headers.get('x-a')).toBe(value);
  });
});

describe('whatever could be read in two ways, or not at all, is refused', () => {
  const HOST = 'Host: a';
  test.each([
    ['nothing', ''],
    ['two blanks', lines('POST  / HTTP/1.1', HOST)],
    ['a blank at the end', lines('POST / HTTP/1.1 ', HOST)],
    ['a blank in the path', lines('POST /a b HTTP/1.1', HOST)],
    ['a star', lines('OPTIONS * HTTP/1.1', HOST)],
    ['an authority', lines('CONNECT a:80 HTTP/1.1', HOST)],
    ['a fragment', lines('POST /v1/keys.verifyKey#a HTTP/1.1', HOST)],
    ['an address with a user', lines('POST http://a@b/ HTTP/1.1', HOST)],
    ['an address without a name', lines('POST http:///v1 HTTP/1.1', HOST)],
    ['no version', lines('GET /', HOST)],
    ['a version in lower case', lines('GET / http/1.1', HOST)],
    ['no host', START],
    ['an empty host', lines(START, 'Host:')],
    ['two hosts', lines(START, HOST, HOST)],
    ['two hosts in one', lines(START, 'Host: a, b')],
    ['an odd host', lines(START, 'Host: a/b')],
    ['a host with a port too large', lines(START, 'Host: a:65536')],
    ['a host with a port of letters', lines(START, 'Host: a:b')],
    ['two lengths', lines(START, HOST, 'Content-Length: 5', 'Content-Length: 5')],
    ['lengths in one line', lines(START, HOST, 'Content-Length: 5, 5')],
    ['an empty length', lines(START, HOST, 'Content-Length:')],
    ['a signed length', lines(START, HOST, 'Content-Length: +5')],
    ['a length with a zero before it', lines(START, HOST, 'Content-Length: 05')],
    ['a hexadecimal length', lines(START, HOST, 'Content-Length: 0x5')],
    ['a length past counting', lines(START, HOST, 'Content-Length: 9999999999999999')],
    ['another transfer encoding', lines(START, HOST, 'Transfer-Encoding: gzip, chunked')],
    ['an empty one', lines(START, HOST, 'Transfer-Encoding:')],
    ['one of HTTP/1.0', lines('POST / HTTP/1.0', HOST, 'Transfer-Encoding: chunked')],
    ['one twice', lines(START, HOST, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    ['one beside a length', lines(START, HOST, 'Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['a blank before the colon', lines(START, HOST, 'X-A : b')],
    ['a folded line', lines(START, HOST, 'X-A: b', ' c')],
    ['a line without a colon', lines(START, HOST, 'X-A')],
    ['a header without a name', lines(START, HOST, ': b')],
    ['a name with a blank', lines(START, HOST, 'X A: b')],
    ['a bare line feed', lines(START, HOST, 'X-A: b\nContent-Length: 5')],
    ['a bare carriage return', lines(START, HOST, 'X-A: b\rContent-Length: 5')],
    ['a NUL', lines(START, HOST, 'X-A: \0')],
    ['a DEL', lines(START, HOST, 'X-A: \x7f')],
    ['a name that is no ASCII', lines(START, HOST, '\xe9: a')],
    ['an empty line before it', lines('', START, HOST)],
  ])('%s', (_name, text) => {
    expect(() => parseHead(text)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }) as Error);
  });

  test.each([
    ['another version', lines('POST / HTTP/2.0', HOST), 'HTTP_VERSION_NOT_SUPPORTED'],
    ['a version to come', lines('POST / HTTP/1.2', HOST), 'HTTP_VERSION_NOT_SUPPORTED'],
    [
      'too many headers',
      lines(START, HOST, ...Array.from({ length: 199 }, (_, i) => `X-${i}: a`)),
      'HEADERS_TOO_LARGE',
    ],
  ])('%s', (_name, text, code) => {
    expect(() => parseHead(text)).toThrow(expect.objectContaining({ code }) as Error);
  });
});

describe('the head of an answer', () => {
  let nowMs = Date.parse('2026-03-15T12:00:00.999Z');
  const heads = new ResponseHeads(() => nowMs);

  test('has the date of its second, a length, and the given headers', () => {
    const shown = heads.ofFast('ratelimit: "a";r=1;t=2\r\n', 12, false);
    expect(shown).toBe(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sun, 15 Mar 2026 12:00:00 GMT\r\nratelimit: "a";r=1;t=2\r\nContent-Length: 12\r\n\r\n',
    );
    nowMs += 1;
    expect(heads.ofFast('', 0, true)).toContain('Date: Sun, 15 Mar 2026 12:00:01 GMT\r\nConnection: close\r\n');
    expect(heads.of(404, new Headers({ 'x-a': 'b' }), 3, false)).toBe(
      'HTTP/1.1 404 Not Found\r\nDate: Sun, 15 Mar 2026 12:00:01 GMT\r\nx-a: b\r\nContent-Length: 3\r\n\r\n',
    );
  });

  test('names every status that an error has', () => {
    const nameless = Object.values(ERRORS).filter(({ status }) =>
      /^HTTP\/1.1 \d+ \r/.test(heads.of(status, [], 0, false)),
    );
    expect(nameless).toEqual([]);
  });
});
