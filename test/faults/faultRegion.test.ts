import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TcpProxy } from '../../tools/cluster/proxy.ts';
import { until } from '../../tools/cluster/wait.ts';
import { FaultLab } from '../support/cluster/faultLab.ts';
import { FaultNode, type NodeAnswer } from '../support/cluster/faultNode.ts';
import { VirtualClock } from '../support/clock.ts';

const LIMIT = 20;
const KNOWN = 5;
/** So long that no test meets the end of its window. */
const YEAR_MS = 366 * 86_400_000;
const STALE_MAX_MS = 60_000;
/** The longest pause between two attempts to connect. */
const MAX_PAUSE_MS = 3_000;
const NODES = 3;
const UNAVAILABLE = { status: 503, code: 'UNAVAILABLE', valid: false };

/** A node in a region of its own, with a network and a clock that the test moves. */
class Region implements AsyncDisposable {
  readonly network: TcpProxy;
  readonly clock: VirtualClock;
  readonly node: FaultNode;

  private constructor(network: TcpProxy, clock: VirtualClock, node: FaultNode) {
    this.network = network;
    this.clock = clock;
    this.node = node;
  }

  static async start(lab: FaultLab): Promise<Region> {
    const network = TcpProxy.start({ target: lab.server.port });
    const clock = new VirtualClock(Date.now());
    const node = await FaultNode.start({
      url: `postgres://postgres@${network.hostPort}/${lab.database}`,
      settings: { KEYSTILE_STALE_MAX: `${STALE_MAX_MS}ms` },
      nowMs: clock.nowMs,
      monotonicMs: clock.nowMs,
    });
    return new Region(network, clock, node);
  }

  /** The verdicts of so many verifications, one after the other. */
  async codes(key: string, count: number): Promise<string[]> {
    const codes: string[] = [];
    for (let i = 0; i < count; i++) codes.push((await this.node.verify(key)).code);
    return codes;
  }

  /** Asks without counting. */
  peek(key: string): Promise<NodeAnswer> {
    return this.node.verify(key, { ratelimit: { cost: 0 } });
  }

  /** Tells what was counted here, and learns what was elsewhere; the first try may meet a connection that was cut. */
  sync(): Promise<void> {
    const { localLimits } = this.node.composed.service.engine.memory;
    return until('the counts are told', () =>
      localLimits.sync().then(
        () => true,
        () => false,
      ),
    );
  }

  heal(): void {
    this.network.heal();
    this.clock.advance(MAX_PAUSE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.heal();
    await this.node[Symbol.asyncDispose]();
    this.network.stop();
  }
}

let lab: FaultLab;

beforeAll(async () => {
  lab = await FaultLab.start();
});

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

const localKey = (region: Region) =>
  region.node.createKey({ ratelimit: { async: true, limit: LIMIT, duration: YEAR_MS } });

const verdicts = (valid: number, refused: number): string[] => [
  ...Array.from({ length: valid }, () => 'VALID'),
  ...Array.from({ length: refused }, () => 'RATE_LIMITED'),
];

describe('regions that are cut off from the database, and a local limit', () => {
  test('each goes on and admits what it knows to be left: all together nodes x limit at the most; healed, none more', async () => {
    const regions = await Promise.all(Array.from({ length: NODES }, () => Region.start(lab)));
    await using stack = new AsyncDisposableStack();
    for (const region of regions) stack.use(region);
    const [first, second, third] = regions as [Region, Region, Region];
    const { key, keyId } = await localKey(first);
    for (const region of regions) {
      expect(await region.peek(key)).toMatchObject({ valid: true });
      await region.sync();
    }
    // What the second has heard of the first before the cut counts; the third has heard of nobody.
    expect(await first.codes(key, KNOWN)).toEqual(verdicts(KNOWN, 0));
    third.network.cut();
    await first.sync();
    await second.sync();
    first.network.cut();
    second.network.cut();
    expect(await first.codes(key, 2 * LIMIT)).toEqual(verdicts(LIMIT - KNOWN, LIMIT + KNOWN));
    expect(await second.codes(key, 2 * LIMIT)).toEqual(verdicts(LIMIT - KNOWN, LIMIT + KNOWN));
    expect(await third.codes(key, 2 * LIMIT)).toEqual(verdicts(LIMIT, LIMIT));
    for (const region of regions) region.heal();
    for (const region of [...regions, ...regions]) await region.sync();
    for (const region of regions) expect(await region.codes(key, 1)).toEqual(['RATE_LIMITED']);
    const [stored] = await lab.query('SELECT sum(count)::int AS admitted FROM local_counts WHERE owner = $1', [keyId]);
    expect(stored).toEqual({ admitted: NODES * LIMIT - KNOWN });
    await using late = await Region.start(lab);
    expect(await late.codes(key, 1)).toEqual(['RATE_LIMITED']);
  });

  test('a region answers from memory until KEYSTILE_STALE_MAX has passed, from then on 503; healed, it counts on', async () => {
    await using region = await Region.start(lab);
    const { key } = await localKey(region);
    expect(await region.codes(key, 1)).toEqual(['VALID']);
    region.network.cut();
    region.clock.advance(STALE_MAX_MS - 1);
    expect(await region.codes(key, 2)).toEqual(['VALID', 'VALID']);
    region.clock.advance(1);
    for (let i = 0; i < 3; i++) expect(await region.node.verify(key)).toMatchObject(UNAVAILABLE);
    region.heal();
    // What was refused for want of news has counted for nothing.
    expect((await region.node.verify(key)).body).toMatchObject({ valid: true, ratelimit: { remaining: LIMIT - 4 } });
  });
});
