/** Requests as text, as they are sent. */

export const VERIFY_PATH = '/v1/keys.verifyKey';
const JSON_TYPE = 'Content-Type: application/json';

export function verification(key: string, ...headers: string[]): string {
  const body = JSON.stringify({ key });
  return [
    `POST ${VERIFY_PATH} HTTP/1.1`,
    'Host: keys.example.com',
    JSON_TYPE,
    `Content-Length: ${body.length}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}

export function chunkedVerification(key: string, ...headers: string[]): string {
  const body = JSON.stringify({ key });
  const [first, second] = [body.slice(0, 5), body.slice(5)].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
  const head = [
    `POST ${VERIFY_PATH} HTTP/1.1`,
    'Host: keys.example.com',
    JSON_TYPE,
    'Transfer-Encoding: chunked',
    ...headers,
    '',
    '',
  ];
  return `${head.join('\r\n')}${first}${second}0\r\n\r\n`;
}

export function bare(start: string, ...headers: string[]): string {
  return [start, 'Host: keys.example.com', ...headers, '', ''].join('\r\n');
}
