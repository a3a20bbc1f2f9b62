import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import { until } from '../../../tools/cluster/wait.ts';
import { Wire } from '../../support/cluster/clients.ts';
import { Setup } from '../../support/cluster/clusterSetup.ts';

setDefaultTimeout(120_000);

let setup: Setup;
let apiId: string;

beforeAll(async () => {
  setup = await Setup.start({ proxied: true });
});

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
});

async function freshKeys(count: number): Promise<string[]> {
  apiId = String((await setup.ok(0, '/v1/apis.createApi', { name: 'analytics' })).apiId);
  const fields = [{}, { name: 'kept', externalId: 'user_1' }, { remaining: 1_000_000 }];
  return Promise.all(
    Array.from({ length: count }, async (_, i) => (await setup.createKey({ apiId, ...fields[i % 3] })).key),
  );
}

/** Verifies each key so many times at this node. */
async function verifyAll(node: number, keys: readonly string[], times: number): Promise<void> {
  using wire = await Wire.open(setup.node(node).port);
  for (let n = 0; n < times; n++) {
    for (const [i, key] of keys.entries()) {
      const reply = await wire.verify(i % 4 === 0 ? { key, tags: ['web'] } : { key });
      expect(reply).toMatchObject({ kind: 'verdict', verdict: { code: 'VALID' } });
    }
  }
}

async function countedBy(node: number, column: 'total' | 'credits' = 'total'): Promise<number> {
  const rows = (await setup.ok(node, '/v1/analytics.getVerifications', { apiId })) as unknown as Counted[];
  return rows[0]?.[column] ?? NaN;
}

interface Counted {
  readonly total: number;
  readonly credits: number;
}

describe('analytics of three nodes', () => {
  test('are one sum, which each node tells within seconds; what a node has counted itself it tells at once', async () => {
    const keys = await freshKeys(12);
    for (const node of [0, 1, 2]) await verifyAll(node, keys, 10);
    expect(await countedBy(0)).toBeGreaterThanOrEqual(120);
    for (const node of [0, 1, 2]) await until('all are counted', async () => (await countedBy(node)) === 360);
    // A third of the keys has credits.
    for (const node of [0, 1, 2]) expect(await countedBy(node, 'credits')).toBe(120);
  });

  test('a node that is stopped leaves nothing uncounted', async () => {
    const keys = await freshKeys(6);
    await verifyAll(1, keys, 10);
    await setup.node(1).stop();
    expect(await countedBy(0)).toBe(60);
    await setup.startAgain(1);
  });

  test('connections that end before the answer to what was appended: every verification is counted once', async () => {
    const keys = await freshKeys(6);
    for (let round = 1; round <= 5; round++) {
      await verifyAll(2, keys, 5);
      const cut = setup.proxy(2).cutBeforeAnswer((bytes) => bytes.includes('append_counts'));
      await until('it was cut', async () => {
        await setup.node(2).call('/v1/analytics.getVerifications', { apiId });
        return Promise.race([cut.then(() => true), Bun.sleep(50).then(() => false)]);
      });
      await until('the node can ask again', async () => {
        return (await setup.node(2).call('/v1/analytics.getVerifications', { apiId })).status === 200;
      });
      expect(await countedBy(2)).toBe(round * 30);
    }
  });

  test('a database that is away for a while: all that was verified from memory is counted', async () => {
    const keys = (await freshKeys(6)).filter((_, i) => i % 3 !== 2);
    await verifyAll(0, keys, 1);
    setup.proxy(0).cut();
    using wire = await Wire.open(setup.node(0).port);
    let valid = keys.length;
    // As long as the node knows that it has seen every change, it answers.
    await until('the node does not know it any more', async () => {
      const reply = await wire.verify({ key: keys[0] });
      if (reply.kind === 'verdict') valid++;
      return reply.kind !== 'verdict';
    });
    setup.proxy(0).heal();
    await until('all are counted', async () => {
      const { status, body } = await setup.node(0).call('/v1/analytics.getVerifications', { apiId });
      return status === 200 && (body as unknown as { total: number }[])[0]?.total === valid;
    });
  });
});
