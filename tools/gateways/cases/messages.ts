import { type Case, expectEqual, verdictOf } from '../case.ts';
import { Client } from '../client.ts';
import { bare, chunkedVerification, verification, VERIFY_PATH } from '../requests.ts';

const LARGE_BYTES = [9_000, 100_000, 1_000_000] as const;

/** Sends the requests in one write. Returns the remaining credits after each of them. */
async function remainingAfter(port: number, requests: readonly string[]): Promise<unknown[]> {
  using client = await Client.open(port);
  client.send(requests.join(''));
  const left: unknown[] = [];
  while (left.length < requests.length) left.push(verdictOf(await client.answer()).remaining);
  return left;
}

export const MESSAGE_CASES: readonly Case[] = [
  {
    name: 'chunked bodies',
    async run({ gateway, node }) {
      const { key } = await node.server.createKey({ remaining: 10 });
      using client = await Client.open(gateway.port);
      const left: unknown[] = [];
      for (let i = 0; i < 5; i++) {
        client.send(chunkedVerification(key));
        left.push(verdictOf(await client.answer()).remaining);
      }
      expectEqual('remaining credits after each', left, [9, 8, 7, 6, 5]);
      return 'five requests on one connection';
    },
  },
  {
    name: 'pipelined requests, plain and chunked',
    async run({ gateway, node }) {
      const { key } = await node.server.createKey({ remaining: 10 });
      const plain = verification(key);
      const chunked = chunkedVerification(key);
      const left = await remainingAfter(gateway.port, [plain, plain, chunked, chunked, plain, chunked]);
      expectEqual('remaining credits after each', left, [9, 8, 7, 6, 5, 4]);
      return 'six requests answered in order';
    },
  },
  {
    name: 'HEAD and OPTIONS',
    async run({ gateway }) {
      using client = await Client.open(gateway.port);
      client.send(bare('HEAD /v1/liveness HTTP/1.1'));
      const head = await client.answer(true);
      client.send(bare(`OPTIONS ${VERIFY_PATH} HTTP/1.1`));
      const options = await client.answer();
      client.send(bare('GET /v1/liveness HTTP/1.1'));
      const get = await client.answer();
      expectEqual('statuses', [head?.status, options?.status, get?.status], [200, 204, 200]);
      expectEqual('methods', options?.headers['allow'], 'POST');
      return '200 and 204 on one connection';
    },
  },
  {
    name: 'bodies that are too large',
    async run({ gateway, node }) {
      for (const bytes of LARGE_BYTES) {
        using client = await Client.open(gateway.port);
        client.send(verification('x'.repeat(bytes)));
        const answer = await client.answer();
        expectEqual(`${bytes} bytes`, [answer?.status, answer?.body.includes('PAYLOAD_TOO_LARGE')], [413, true]);
      }
      const { key } = await node.server.createKey({ remaining: 1 });
      expectEqual('the next request', await remainingAfter(gateway.port, [verification(key)]), [0]);
      return `413 for ${LARGE_BYTES.join(', ')} bytes`;
    },
  },
  {
    name: 'a client that half-closes after its request',
    async run({ gateway, node }) {
      const { key } = await node.server.createKey({ remaining: 10 });
      for (const [i, request] of [verification(key), chunkedVerification(key)].entries()) {
        using client = await Client.open(gateway.port);
        client.send(request);
        client.halfClose();
        expectEqual('remaining credits', verdictOf(await client.answer()).remaining, 9 - i);
      }
      return 'answered, plain and chunked';
    },
  },
  {
    name: 'Expect: 100-continue',
    async run({ gateway, node }) {
      const { key } = await node.server.createKey({ remaining: 10 });
      const request = verification(key, 'Expect: 100-continue');
      const body = request.indexOf('\r\n\r\n') + 4;
      using client = await Client.open(gateway.port);
      client.send(request.slice(0, body));
      expectEqual('first', (await client.answer())?.status, 100);
      client.send(request.slice(body));
      expectEqual('second', verdictOf(await client.answer()).code, 'VALID');
      return '100, then the verdict';
    },
  },
];
