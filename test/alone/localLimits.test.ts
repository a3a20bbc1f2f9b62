import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { setTimeout } from 'node:timers/promises';

import type { KeystileNode } from '../../tools/cluster/node.ts';
import { until } from '../../tools/cluster/wait.ts';
import { hammer, type Reply, Wire } from '../support/cluster/clients.ts';
import { Setup, sharedSetup } from '../support/cluster/clusterSetup.ts';

/** A window as long as there can be: it does not end during the test. */
const DURATION = 366 * 86_400_000;
const NODES = 3;

function isValid(reply: Reply): boolean {
  return reply.kind === 'verdict' && reply.verdict.valid;
}

function isLimited(reply: Reply): boolean {
  return reply.kind === 'verdict' && reply.verdict.code === 'RATE_LIMITED';
}

let setup: Setup;
/** Two nodes whose work behind the requests is rare, and the same whether there are any requests or not. */
let quiet: Setup;
/** Keys that are answered from memory: without limits, and with a local one. */
let inMemory: readonly string[];

beforeAll(async () => {
  const settings = { KEYSTILE_SYNC_INTERVAL: '60s', KEYSTILE_STALE_MAX: '1h' };
  const starting = Setup.start({ locations: ['eu', 'us'], proxied: true, settings });
  [setup, quiet] = await Promise.all([sharedSetup(), starting]);
  const limited = await quiet.createKey({ ratelimit: { async: true, limit: 1_000_000, duration: DURATION } });
  inMemory = [(await quiet.createKey()).key, limited.key];
});

afterAll(async () => {
  await quiet[Symbol.asyncDispose]();
});

describe('a local limit at three nodes', () => {
  test.concurrent('all hammered at once: each node admits at most the limit, all together at least the limit', async () => {
    const LIMIT = 100;
    const CLIENTS = 24;
    const { key } = await setup.createKey({ ratelimit: { async: true, limit: LIMIT, duration: DURATION } });
    const admitted = Array.from({ length: NODES }, () => 0);
    const refused = new Set<number>();
    const others: Reply[] = [];
    await hammer(
      setup,
      CLIENTS,
      (client) => (refused.has(client) ? null : { key }),
      async (reply, client) => {
        const node = client % NODES;
        if (isValid(reply)) admitted[node] = (admitted[node] ?? 0) + 1;
        else refused.add(client);
        if (!isValid(reply) && !isLimited(reply)) others.push(reply);
      },
    );
    expect(others).toEqual([]);
    for (const count of admitted) expect(count).toBeLessThanOrEqual(LIMIT);
    const all = admitted.reduce((sum, count) => sum + count);
    expect(all).toBeGreaterThanOrEqual(LIMIT);
    expect(all).toBeLessThanOrEqual(NODES * LIMIT);
  });

  test.concurrent('a steady load that takes 10 s to reach the limit is stopped at most 10% above it', async () => {
    const LIMIT = 300;
    const EVERY_MS = 1000 / 30;
    const { key } = await setup.createKey({ ratelimit: { async: true, limit: LIMIT, duration: DURATION } });
    const wires = await Promise.all(setup.nodes.map(({ port }) => Wire.open(port)));
    const refusing = new Set<number>();
    const startedAtMs = performance.now();
    let valid = 0;
    for (let sent = 0; refusing.size < NODES && sent < 2 * LIMIT; sent++) {
      await setTimeout(Math.max(0, startedAtMs + sent * EVERY_MS - performance.now()));
      const reply = await (wires[sent % NODES] as Wire).verify({ key });
      if (isValid(reply)) valid++;
      else expect(isLimited(reply)).toBe(true);
      if (isLimited(reply)) refusing.add(sent % NODES);
    }
    for (const wire of wires) wire[Symbol.dispose]();
    expect(performance.now() - startedAtMs).toBeGreaterThan(9_900);
    expect(valid).toBeGreaterThanOrEqual(LIMIT);
    expect(valid).toBeLessThanOrEqual(LIMIT * 1.1);
  });
});

describe('a local verification does no I/O', () => {
  const CLIENTS = 16;
  const VERIFICATIONS = 30_000;
  /** Between the few. */
  const PAUSE_MS = 50;

  /** All of them must be valid. */
  async function verifyAll(node: KeystileNode, count: number): Promise<void> {
    let sent = 0;
    const others: Reply[] = [];
    const run = async (): Promise<void> => {
      using wire = await Wire.open(node.port);
      while (sent < count && others.length === 0) {
        const reply = await wire.verify({ key: inMemory[sent++ % inMemory.length] });
        if (!isValid(reply)) others.push(reply);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, run));
    expect(others).toEqual([]);
  }

  /** Between this node and the database. */
  async function bytesDuring(node: number, work: () => Promise<unknown>): Promise<number> {
    const bytes = (): number => {
      const { toServer, toClient } = quiet.proxy(node).bytesForwarded;
      return toServer + toClient;
    };
    const before = bytes();
    await work();
    return bytes() - before;
  }

  test.concurrent('30,000 of them move no more bytes to and from the database than as long a time with a few', async () => {
    const ROUNDS = 10;
    const node = quiet.node(0);
    await verifyAll(node, inMemory.length * CLIENTS);
    let [many, few] = [0, 0];
    // In turns, because other work on the machine slows both down alike. A few are needed to have the same counts to write.
    for (let round = 0; round < ROUNDS; round++) {
      const startedAtMs = performance.now();
      many += await bytesDuring(0, () => verifyAll(node, VERIFICATIONS / ROUNDS));
      const untilMs = 2 * performance.now() - startedAtMs;
      few += await bytesDuring(0, async () => {
        while (performance.now() < untilMs) {
          await verifyAll(node, inMemory.length);
          await setTimeout(Math.min(PAUSE_MS, Math.max(0, untilMs - performance.now())));
        }
      });
    }
    // Polls for changes (every 180 to 220 ms), signs of life and the counts of analytics move bytes in both. There can be a few more
    // of them in the one, of some 300 bytes each. A statement has at least 100 bytes.
    expect((many - few) / VERIFICATIONS).toBeLessThan(0.25);
  });

  test.concurrent('while the database is silent they go on, for as long as KEYSTILE_STALE_MAX allows', async () => {
    const DEFAULT_STALE_MAX_MS = 1000;
    using wire = await Wire.open(quiet.node(1).port);
    const areValid = async (): Promise<boolean> => {
      const replies = [await wire.verify({ key: inMemory[0] }), await wire.verify({ key: inMemory[1] })];
      return replies.every(isValid);
    };
    expect(await areValid()).toBe(true);
    quiet.proxy(1).hang();
    const silentFromMs = performance.now();
    const moved = await bytesDuring(1, () =>
      until('it was silent for long', async () => {
        expect(await areValid()).toBe(true);
        return performance.now() - silentFromMs > 2 * DEFAULT_STALE_MAX_MS;
      }),
    );
    expect(moved).toBe(0);
  });
});
