import { until } from '../../cluster/wait.ts';
import { allSettledOrThrow, type Case, expectEqual, verdictOf } from '../case.ts';
import { Client } from '../client.ts';
import { bare, verification, VERIFY_PATH } from '../requests.ts';

const BYSTANDERS = 3;
const ROUNDS = 3;
const MANY = 1_000_000;
const CLOSE = 'Connection: close';

const HEAD = [`POST ${VERIFY_PATH} HTTP/1.1`, 'Host: keys.example.com', 'Content-Type: application/json'];

/** Inputs in which one way of reading shows the inner request, and another way hides it in a body. */
function attacks(key: string, inner: string): string[] {
  const body = JSON.stringify({ key });
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const visible = chunks + inner;
  const post = (content: string, ...lines: string[]): string => [...HEAD, ...lines, '', content].join('\r\n');
  const encodings = [
    'Transfer-Encoding: chunked',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: "chunked"',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
    'Transfer-Encoding:\r\n chunked',
    'X: a\nTransfer-Encoding: chunked',
    'X: a\rTransfer-Encoding: chunked',
    'transfer_encoding: chunked',
  ];
  return [
    // The length covers the inner request and the chunks do not, with the headers in both orders.
    ...encodings.map((line) => post(visible, `Content-Length: ${visible.length}`, line)),
    ...encodings.map((line) => post(visible, line, `Content-Length: ${visible.length}`)),
    post(body + inner, `Content-Length: ${body.length}`, `Content-Length: ${body.length + inner.length}`),
    post(body + inner, `Content-Length: ${body.length + inner.length}`, `Content-Length: ${body.length}`),
    post(body + inner, `Content-Length: ${body.length}`, `Content-Length: ${body.length}`),
    post(body + inner, `Content-Length: ${body.length}, ${body.length + inner.length}`),
    post(body + inner, `Content-Length: +${body.length}`),
    post(body + inner, `Content-Length: 0${body.length}`),
    post(body + inner, `Content-Length:\r\n ${body.length}`),
    post(body + inner, `X: a\r\n Content-Length: 0`, `Content-Length: ${body.length}`),
    post(body + inner, `X: a\nContent-Length: 0`, `Content-Length: ${body.length}`),
    post(`0${chunks}${inner}`, 'Transfer-Encoding: chunked'),
    post(
      `${body.length.toString(16)};a=b\r\n${body}\r\n0\r\nContent-Length: 9\r\n\r\n${inner}`,
      'Transfer-Encoding: chunked',
    ),
    post(`${body.length.toString(16)}\n${body}\n0\n\n${inner}`, 'Transfer-Encoding: chunked'),
    bare(`GET ${VERIFY_PATH} HTTP/1.1`, `Content-Length: ${inner.length}`) + inner,
    bare(`GET ${VERIFY_PATH} HTTP/1.0`, 'Connection: keep-alive', 'Transfer-Encoding: chunked') + visible,
    bare(`GET ${VERIFY_PATH} HTTP/1.1\r\nX: a HTTP/1.1`) + inner,
  ];
}

async function attack(port: number, input: string): Promise<void> {
  using client = await Client.open(port);
  client.send(input);
  // A gateway that waits for the rest of a body stops waiting.
  client.halfClose();
  await client.rest();
}

/** Verifies its own key repeatedly. Every answer must be for this key, with one credit less each time. */
async function verifyOwnKey(port: number, key: string, keyId: string, isOver: () => boolean): Promise<number> {
  using client = await Client.open(port);
  let asked = 0;
  for (; asked === 0 || !isOver(); asked++) {
    client.send(verification(key));
    const verdict = verdictOf(await client.answer());
    expectEqual('an answer to another client', [verdict.keyId, verdict.remaining], [keyId, MANY - asked - 1]);
  }
  return asked;
}

export const smuggling: Case = {
  name: 'request smuggling: the node sees only requests that the gateway sent',
  async run({ kind, node, newFolder }) {
    const [attacker, inner] = await node.server.createKeys(2, { remaining: MANY });
    const bystanders = await node.server.createKeys(BYSTANDERS, { remaining: MANY });
    const before = await node.answered();
    // A new gateway, whose counter starts at zero.
    await using gateway = await kind.start({ nodePort: node.server.port, folder: newFolder() });
    const inputs = attacks(attacker?.key ?? '', verification(inner?.key ?? ''));
    let isOver = false;
    const attacking = async (): Promise<number> => {
      try {
        for (let round = 0; round < ROUNDS; round++) {
          for (const input of inputs) await attack(gateway.port, input + verification(attacker?.key ?? '', CLOSE));
        }
        return 0;
      } finally {
        isOver = true;
      }
    };
    const others = bystanders.map(({ key, keyId }) => verifyOwnKey(gateway.port, key, keyId, () => isOver));
    const asked = (await allSettledOrThrow([...others, attacking()])).reduce((sum, count) => sum + count, 0);
    const answered = (await node.answered()) - before;
    // A gateway counts a request only after it has forwarded the answer.
    await until(`${kind.name} has sent the ${answered} requests that the node has answered`, async () => {
      return (await gateway.forwarded()) >= answered;
    });
    const forwarded = await gateway.forwarded();
    return `${inputs.length * ROUNDS} attacks among ${asked} other requests: the gateway sent ${forwarded}, the node answered ${answered}`;
  },
};
