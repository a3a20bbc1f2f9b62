/** The statuses of the whole answers in these bytes, and the bytes behind them. */
export function answersIn(bytes: Buffer): { readonly statuses: readonly string[]; readonly rest: Buffer } {
  const statuses: string[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const head = bytes.toString('latin1', at, end);
    const next = end + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (next > bytes.length) break;
    statuses.push(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    at = next;
  }
  return { statuses, rest: Buffer.from(bytes.subarray(at)) };
}

/** One request. `client`: the address that a trusted proxy reports. */
export function requestText(
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: string },
  client: string,
  rootKey: string | null = null,
): string {
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    `X-Forwarded-For: ${client}`,
    ...(rootKey === null ? [] : [`Authorization: Bearer ${rootKey}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}
