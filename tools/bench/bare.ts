import { readOrder, reportReady } from './child.ts';

export interface BareOrder {
  /** Size of the response body of the compared service. */
  readonly bodyBytes: number;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Entry of a process: the yardstick. It parses the body, computes a SHA-256, and answers JSON of the given size with the given
 * headers. The answer is concatenated from strings, which is faster than JSON.stringify.
 */

const order = readOrder() as BareOrder;
const DIGEST_LENGTH = 44;
const head = '{"valid":true,"digest":"';
const end = '"}';
const filler = '","filler":"';
const fillerBytes = order.bodyBytes - head.length - DIGEST_LENGTH - filler.length - end.length;
const tail = filler + 'x'.repeat(fillerBytes) + end;
const init = { headers: { ...order.headers } };

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  async fetch(request) {
    const { key } = (await request.json()) as { key: string };
    return new Response(head + Bun.SHA256.hash(key, 'base64') + tail, init);
  },
});
reportReady(server.port ?? 0);
