import { until } from '../../cluster/wait.ts';
import { type Case, hold, together, verdictOf } from '../case.ts';
import { Client } from '../client.ts';
import { bare, verification, VERIFY_PATH } from '../requests.ts';

const BYSTANDERS = 3;
const ROUNDS = 3;
const MANY = 1_000_000;
const CLOSE = 'Connection: close';

const HEAD = [`POST ${VERIFY_PATH} HTTP/1.1`, 'Host: a', 'Content-Type: application/json'];

/** Each hides the inner request from one way to read it, and shows it to another one. */
function attacks(key: string, inner: string): string[] {
  const body = JSON.stringify({ key });
  const whole = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const shown = whole + inner;
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
    // The length covers the inner request, the chunks do not; and the other way round.
    ...encodings.map((line) => post(shown, `Content-Length: ${shown.length}`, line)),
    ...encodings.map((line) => post(shown, line, `Content-Length: ${shown.length}`)),
    post(body + inner, `Content-Length: ${body.length}`, `Content-Length: ${body.length + inner.length}`),
    post(body + inner, `Content-Length: ${body.length + inner.length}`, `Content-Length: ${body.length}`),
    post(body + inner, `Content-Length: ${body.length}`, `Content-Length: ${body.length}`),
    post(body + inner, `Content-Length: ${body.length}, ${body.length + inner.length}`),
    post(body + inner, `Content-Length: +${body.length}`),
    post(body + inner, `Content-Length: 0${body.length}`),
    post(body + inner, `Content-Length:\r\n ${body.length}`),
    post(body + inner, `X: a\r\n Content-Length: 0`, `Content-Length: ${body.length}`),
    post(body + inner, `X: a\nContent-Length: 0`, `Content-Length: ${body.length}`),
    post(`0${whole}${inner}`, 'Transfer-Encoding: chunked'),
    post(
      `${body.length.toString(16)};a=b\r\n${body}\r\n0\r\nContent-Length: 9\r\n\r\n${inner}`,
      'Transfer-Encoding: chunked',
    ),
    post(`${body.length.toString(16)}\n${body}\n0\n\n${inner}`, 'Transfer-Encoding: chunked'),
    bare(`GET ${VERIFY_PATH} HTTP/1.1`, `Content-Length: ${inner.length}`) + inner,
    bare(`GET ${VERIFY_PATH} HTTP/1.0`, 'Connection: keep-alive', 'Transfer-Encoding: chunked') + shown,
    bare(`GET ${VERIFY_PATH} HTTP/1.1\r\nX: a HTTP/1.1`) + inner,
  ];
}

async function attack(port: number, input: string): Promise<void> {
  using client = await Client.open(port);
  client.send(input);
  // A gateway that waits for the rest of a body waits no longer.
  client.halfClose();
  await client.rest();
}

/** Asks with his own key, again and again: what he is answered must be for him, and one less each time. */
async function standBy(port: number, key: string, keyId: string, isOver: () => boolean): Promise<number> {
  using client = await Client.open(port);
  let asked = 0;
  for (; asked === 0 || !isOver(); asked++) {
    client.send(verification(key));
    const told = verdictOf(await client.answer());
    hold('an answer to a bystander', [told.keyId, told.remaining], [keyId, MANY - asked - 1]);
  }
  return asked;
}

export const smuggling: Case = {
  name: 'smuggling: the node sees no request that the gateway did not send',
  async run({ kind, node, newFolder }) {
    const [attacker, inner] = await node.server.createKeys(2, { remaining: MANY });
    const bystanders = await node.server.createKeys(BYSTANDERS, { remaining: MANY });
    const before = await node.answered();
    // One of its own: it has sent nothing yet.
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
    const standing = bystanders.map(({ key, keyId }) => standBy(gateway.port, key, keyId, () => isOver));
    const asked = (await together([...standing, attacking()])).reduce((sum, count) => sum + count, 0);
    const answered = (await node.answered()) - before;
    // A gateway notes what it has sent when it has passed on the answer.
    await until(`${kind.name} has sent the ${answered} requests that the node has answered`, async () => {
      return (await gateway.forwarded()) >= answered;
    });
    const forwarded = await gateway.forwarded();
    return `${inputs.length * ROUNDS} attacks beside ${asked} of others: ${forwarded} sent, ${answered} answered`;
  },
};
