/** A secret of the usual length, derived from its number, so that a million of them need not be stored. */
export function secretOf(number: number): string {
  return `demo_${String(number).padStart(28, '0')}`;
}

/** The bytes of one verification request for each of `count` keys, prepared in advance. All have the same length. */
export class RequestPool {
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly count: number;

  constructor(count: number) {
    this.size = requestText(0).length;
    this.count = count;
    this.bytes = new Uint8Array(this.size * count);
    const encoder = new TextEncoder();
    for (let number = 0; number < count; number++) {
      encoder.encodeInto(requestText(number), this.bytes.subarray(number * this.size));
    }
  }
}

function requestText(number: number): string {
  const body = JSON.stringify({ key: secretOf(number) });
  return [
    'POST /v1/keys.verifyKey HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
}

/** Returns the number of the next request in the pool, or -1 when all are sent. */
export type Picker = () => number;

export function atRandom(count: number): Picker {
  return () => Math.floor(Math.random() * count);
}

/** One key after the other, starting over after the last, until `requests` are sent. */
export function inTurn(count: number, requests: number): Picker {
  let sent = 0;
  return () => (sent < requests ? sent++ % count : -1);
}
