/** Secrets as long as the service makes them, each known from its number: nobody has to remember a million of them. */
export function secretOf(number: number): string {
  return `demo_${String(number).padStart(28, '0')}`;
}

/** The bytes of one verification for each of `count` keys, made before the measuring; all are equally long. */
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

/** Which request is sent next: its number in the pool, or -1 when all were sent. */
export type Picker = () => number;

export function atRandom(count: number): Picker {
  return () => Math.floor(Math.random() * count);
}

/** One key after the other, from the first again after the last, until `requests` were sent. */
export function inTurn(count: number, requests: number): Picker {
  let sent = 0;
  return () => (sent < requests ? sent++ % count : -1);
}
