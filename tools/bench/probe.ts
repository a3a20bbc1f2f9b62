import type { BareOrder } from './bare.ts';
import { secretOf } from './requests.ts';

/** Verifies the first key and returns the size and headers of the answer, which the yardstick has to copy. */
export async function probe(port: number): Promise<BareOrder> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/keys.verifyKey`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ key: secretOf(0) }),
  });
  const text = await response.text();
  if (response.status !== 200 || !text.startsWith('{"valid":true')) {
    throw new Error(`The service answered ${response.status} ${text}`);
  }
  const headers = Object.fromEntries(response.headers.entries());
  // The runtime sets these headers on every server.
  for (const name of ['date', 'content-length', 'connection']) delete headers[name];
  return { bodyBytes: Buffer.byteLength(text), headers };
}
