import { describe, expect, test } from 'bun:test';

import { ERRORS } from '../../src/core/errors.ts';
import { AnswerHeads } from '../../src/http/front/answerHead.ts';
import { readHead } from '../../src/http/front/head.ts';

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
    const head = readHead(text);
    expect(head).toMatchObject({ method: 'POST', target: '/v1/keys.verifyKey', bodyBytes: 42, isLast: false });
    expect(head?.headers.get('content-type')).toBe('application/json');
    expect(head?.headers.get('x-empty')).toBe('');
    expect(head?.headers.get('x-missing')).toBeNull();
    expect([...(head?.headers.toHeaders() ?? [])].length).toBe(6);
  });

  test('a header that was sent several times is one with commas, as in Headers', () => {
    const head = readHead(lines(START, 'Host: a', 'X-Forwarded-For: 1.1.1.1', 'x-forwarded-for: 2.2.2.2'));
    expect(head?.headers.get('x-forwarded-for')).toBe('1.1.1.1, 2.2.2.2');
    expect(head?.headers.toHeaders().get('x-forwarded-for')).toBe('1.1.1.1, 2.2.2.2');
  });

  test.each([
    ['GET / HTTP/1.1', '/'],
    ['GET /v1/apis.listKeys?apiId=api_1&search=a%20b+c HTTP/1.1', '/v1/apis.listKeys?apiId=api_1&search=a%20b+c'],
    ['POST //v1/keys.verifyKey?pretty HTTP/1.1', '//v1/keys.verifyKey?pretty'],
  ])('%s', (start, target) => {
    expect(readHead(lines(start, 'Host: a'))).toMatchObject({ target, bodyBytes: 0 });
  });

  test('the connection ends with it where the client says so', () => {
    expect(readHead(lines(START, 'Host: a', 'Connection: close'))?.isLast).toBe(true);
  });
});

describe('whatever could be read in two ways, or not at all, is left to the runtime', () => {
  const HOST = 'Host: a';
  test.each([
    ['nothing', ''],
    ['another version', lines('POST / HTTP/1.0', HOST)],
    ['a version to come', lines('POST / HTTP/1.12', HOST)],
    ['another method', lines('PUT / HTTP/1.1', HOST)],
    ['HEAD', lines('HEAD / HTTP/1.1', HOST)],
    ['OPTIONS', lines('OPTIONS * HTTP/1.1', HOST)],
    ['a method in lower case', lines('post / HTTP/1.1', HOST)],
    ['two blanks', lines('POST  / HTTP/1.1', HOST)],
    ['a whole address', lines('POST http://a/v1/keys.verifyKey HTTP/1.1', HOST)],
    ['a path to resolve', lines('POST /v1/../v1/keys.verifyKey HTTP/1.1', HOST)],
    ['a fragment', lines('POST /v1/keys.verifyKey#a HTTP/1.1', HOST)],
    ['a character that is no ASCII in the path', lines('POST /v1/\xe9 HTTP/1.1', HOST)],
    ['no host', START],
    ['an empty host', lines(START, 'Host:')],
    ['two hosts', lines(START, HOST, HOST)],
    ['an odd host', lines(START, 'Host: a/b')],
    ['two lengths', lines(START, HOST, 'Content-Length: 5', 'Content-Length: 5')],
    ['lengths in one line', lines(START, HOST, 'Content-Length: 5, 5')],
    ['an empty length', lines(START, HOST, 'Content-Length:')],
    ['a signed length', lines(START, HOST, 'Content-Length: +5')],
    ['a length with a zero before it', lines(START, HOST, 'Content-Length: 05')],
    ['a hexadecimal length', lines(START, HOST, 'Content-Length: 0x5')],
    ['a length past counting', lines(START, HOST, 'Content-Length: 9999999999')],
    ['a transfer encoding', lines(START, HOST, 'Transfer-Encoding: chunked')],
    ['a transfer encoding beside a length', lines(START, HOST, 'Content-Length: 5', 'Transfer-Encoding: identity')],
    ['an expectation', lines(START, HOST, 'Expect: 100-continue')],
    ['another protocol', lines(START, HOST, 'Connection: Upgrade', 'Upgrade: h2c')],
    ['an upgrade alone', lines(START, HOST, 'Upgrade: websocket')],
    ['a connection with more to say', lines(START, HOST, 'Connection: keep-alive, close')],
    ['a blank before the colon', lines(START, HOST, 'X-A : b')],
    ['a folded line', lines(START, HOST, 'X-A: b', ' c')],
    ['a line without a colon', lines(START, HOST, 'X-A')],
    ['a header without a name', lines(START, HOST, ': b')],
    ['a name with a blank', lines(START, HOST, 'X A: b')],
    ['a bare line feed', lines(START, HOST, 'X-A: b\nContent-Length: 5')],
    ['a bare carriage return', lines(START, HOST, 'X-A: b\rContent-Length: 5')],
    ['a NUL', lines(START, HOST, 'X-A: \0')],
    ['a value that is no ASCII', lines(START, HOST, 'X-A: \xe9')],
    ['an empty line before it', lines('', START, HOST)],
    ['too many headers', lines(START, HOST, ...Array.from({ length: 64 }, (_, i) => `X-${i}: a`))],
  ])('%s', (_name, text) => {
    expect(readHead(text)).toBeNull();
  });
});

describe('the head of an answer', () => {
  let nowMs = Date.parse('2026-03-15T12:00:00.999Z');
  const heads = new AnswerHeads(() => nowMs);

  test('has the date of its second, a length, and the given headers', () => {
    const shown = heads.ofVerdict('ratelimit: "a";r=1;t=2\r\n', 12, false);
    expect(shown).toBe(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sun, 15 Mar 2026 12:00:00 GMT\r\nratelimit: "a";r=1;t=2\r\nContent-Length: 12\r\n\r\n',
    );
    nowMs += 1;
    expect(heads.ofVerdict('', 0, true)).toContain('Date: Sun, 15 Mar 2026 12:00:01 GMT\r\nConnection: close\r\n');
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
