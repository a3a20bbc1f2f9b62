import { allSettledOrThrow, type Case, expectEqual, type Verdict, verdictOf } from '../case.ts';
import { Client } from '../client.ts';
import { chunkedVerification, verification } from '../requests.ts';

const CREDITS = 200;
const CLIENTS = 8;
const REQUESTS_OF_EACH = 40;

async function ask(client: Client, request: string): Promise<Verdict> {
  client.send(request);
  return verdictOf(await client.answer());
}

const credits: Case = {
  name: `${CREDITS} credits give exactly ${CREDITS} valid answers`,
  async run({ gateway, node }) {
    const { key, keyId } = await node.server.createKey({ remaining: CREDITS });
    const clients = Array.from({ length: CLIENTS }, async (_, i) => {
      using client = await Client.open(gateway.port);
      const verdicts: Verdict[] = [];
      const request = i % 2 === 0 ? verification(key) : chunkedVerification(key);
      for (let count = 0; count < REQUESTS_OF_EACH; count++) verdicts.push(await ask(client, request));
      return verdicts;
    });
    const verdicts = (await allSettledOrThrow(clients)).flat();
    const valid = verdicts.filter((verdict) => verdict.valid).map(({ remaining }) => remaining ?? -1);
    expectEqual(
      'balances',
      valid.sort((a, b) => a - b),
      Array.from({ length: CREDITS }, (_, i) => i),
    );
    expectEqual('remaining credits', await node.server.remaining(keyId), 0);
    return `${valid.length} of ${verdicts.length} requests valid, each balance exactly once`;
  },
};

const addresses: Case = {
  name: 'X-Forwarded-For and an allowlist of addresses',
  async run({ gateway, node }) {
    const { key } = await node.server.createKey({ ipAllowlist: ['127.0.0.9'] });
    const codes: string[] = [];
    for (const [address, headers] of [
      ['127.0.0.9', []],
      ['127.0.0.8', []],
      // A header of the client itself does not count: the gateway adds its address after it.
      ['127.0.0.8', ['X-Forwarded-For: 127.0.0.9']],
      ['127.0.0.8', ['X-Forwarded-For: 127.0.0.9, 127.0.0.1']],
      ['127.0.0.9', ['X-Forwarded-For: 127.0.0.8']],
    ] as const) {
      for (const request of [verification(key, ...headers), chunkedVerification(key, ...headers)]) {
        using client = await Client.open(gateway.port, address);
        codes.push((await ask(client, request)).code);
      }
    }
    const [ok, no] = [
      ['VALID', 'VALID'],
      ['FORBIDDEN', 'FORBIDDEN'],
    ];
    expectEqual('codes', codes, [...ok, ...no, ...no, ...no, ...ok]);
    return 'the address that the gateway saw is checked';
  },
};

export const KEY_CASES: readonly Case[] = [credits, addresses];
