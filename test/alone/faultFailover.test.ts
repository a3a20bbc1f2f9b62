import { describe, expect, test } from 'bun:test';

import { KeystileNode } from '../../tools/cluster/node.ts';
import { TcpProxy } from '../../tools/cluster/proxy.ts';
import { until } from '../../tools/cluster/wait.ts';
import { createSpentKeys, Load, type SpentKey } from '../support/cluster/faultLoad.ts';
import { FaultPair } from '../support/cluster/faultPair.ts';

const CREDITS = 1_000_000;
const RESUMES_WITHIN_MS = 15_000;
/** Until someone has noticed that the primary is gone; by then the nodes make longer pauses between their attempts. */
const NOTICED_AFTER_MS = 3_000;

/** Three nodes over a primary and its synchronous standby, each server behind a network of its own. */
class Cluster implements AsyncDisposable {
  readonly pair: FaultPair;
  readonly toPrimary: TcpProxy;
  readonly toStandby: TcpProxy;
  nodes: readonly KeystileNode[] = [];

  private constructor(pair: FaultPair) {
    this.pair = pair;
    this.toPrimary = TcpProxy.start({ target: pair.primary.port });
    this.toStandby = TcpProxy.start({ target: pair.standby.port });
  }

  static async start(): Promise<Cluster> {
    const cluster = new Cluster(await FaultPair.start());
    const databaseUrl = `postgres://postgres@${cluster.toPrimary.hostPort},${cluster.toStandby.hostPort}/postgres`;
    const starting = ['eu', 'us', 'ap'].map((location) => KeystileNode.start({ databaseUrl, location }));
    cluster.nodes = await Promise.all(starting);
    return cluster;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
    for (const proxy of [this.toPrimary, this.toStandby]) proxy.stop();
    await this.pair[Symbol.asyncDispose]();
  }
}

/** Nothing that was acknowledged is lost, nothing was charged without a question, no answer was given twice. */
async function expectKept({ pair }: Cluster, { keyId, left, unknown }: SpentKey): Promise<void> {
  const [row] = await pair.standby.query(
    `SELECT a.value FROM keys k JOIN accounts a ON a.id = k.credits_account WHERE k.id = '${keyId}'`,
  );
  const spent = CREDITS - Number(row?.['value']);
  expect(left.length).toBeLessThanOrEqual(spent);
  expect(spent).toBeLessThanOrEqual(left.length + unknown);
  expect(new Set(left).size).toBe(left.length);
  expect(left.filter((value) => !(value >= CREDITS - spent && value < CREDITS))).toEqual([]);
}

async function failOver(cluster: Cluster, fail: () => Promise<void>): Promise<void> {
  const [node] = cluster.nodes as [KeystileNode];
  const keys = await createSpentKeys(node, 4, CREDITS);
  const load = new Load(cluster.nodes, 6, keys);
  await until('the load runs', () => load.valid >= 1_000);
  await fail();
  await Bun.sleep(NOTICED_AFTER_MS);
  const before = load.valid;
  await cluster.pair.standby.promote();
  const promotedAt = performance.now();
  await until('every node serves again', () => load.isServedSince(promotedAt));
  expect(performance.now() - promotedAt).toBeLessThan(RESUMES_WITHIN_MS);
  await until('the load runs again', () => load.valid >= before + 500);
  await load.stop();
  expect(load.others).toEqual([]);
  for (const key of keys) await expectKept(cluster, key);
}

describe('failover to the synchronous standby, under load from three nodes: back within 15 s, nothing lost', () => {
  test.concurrent('the primary is killed', async () => {
    await using cluster = await Cluster.start();
    await failOver(cluster, () => cluster.pair.primary.kill());
  });

  test.concurrent('the primary falls silent and cannot be reached any more', async () => {
    await using cluster = await Cluster.start();
    await failOver(cluster, async () => cluster.toPrimary.hang());
  });
});
