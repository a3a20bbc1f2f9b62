const BYTE_ORDER_MARK = 0xef;

/** As `Request.text`: without a byte order mark, and what is no UTF-8 replaced. */
export function bodyText(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === BYTE_ORDER_MARK) return new TextDecoder().decode(bytes.subarray(start, end));
  return bytes.toString('utf8', start, end);
}
