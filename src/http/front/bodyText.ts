const BYTE_ORDER_MARK = 0xef;

/** Like `Request.text`: drops a byte order mark and replaces bytes that are not UTF-8. */
export function bodyText(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BYTE_ORDER_MARK) return new TextDecoder().decode(bytes.subarray(start, end));
  return bytes.toString('utf8', start, end);
}
