import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { setTimeout } from 'node:timers/promises';

import { hammer, type Reply, Wire } from '../support/cluster/clients.ts';
import { Setup } from '../support/cluster/clusterSetup.ts';

/** A window as long as there can be: it does not end during the test. */
const DURATION = 366 * 86_400_000;
const NODES = 3;

function isValid(reply: Reply): boolean {
  return reply.kind === 'verdict' && reply.verdict.valid;
}

function isLimited(reply: Reply): boolean {
  return reply.kind === 'verdict' && reply.verdict.code === 'RATE_LIMITED';
}

describe('a local limit at three nodes', () => {
  let setup: Setup;

  beforeAll(async () => {
    setup = await Setup.start();
  });

  afterAll(async () => {
    await setup[Symbol.asyncDispose]();
  });

  test('all hammered at once: each node admits at most the limit, all together at least the limit', async () => {
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

  test('a steady load that takes 10 s to reach the limit is stopped at most 10% above it', async () => {
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
  let setup: Setup;
  /** Those that a node has in memory: without limits, and with a local one. */
  let keys: readonly string[];

  beforeAll(async () => {
    // What goes on behind the requests is rare, and the same whether there are any or not.
    const settings = { KEYSTILE_SYNC_INTERVAL: '60s', KEYSTILE_STALE_MAX: '1h' };
    setup = await Setup.start({ locations: ['eu'], proxied: true, settings });
    const limited = await setup.createKey({ ratelimit: { async: true, limit: 1_000_000, duration: DURATION } });
    keys = [(await setup.createKey()).key, limited.key];
    await verifyAll(keys.length * CLIENTS);
  });

  afterAll(async () => {
    await setup[Symbol.asyncDispose]();
  });

  /** All of them must be valid. */
  async function verifyAll(count: number): Promise<void> {
    let sent = 0;
    const others: Reply[] = [];
    await hammer(
      setup,
      CLIENTS,
      () => (sent < count && others.length === 0 ? { key: keys[sent++ % keys.length] } : null),
      async (reply) => {
        if (!isValid(reply)) others.push(reply);
      },
    );
    expect(others).toEqual([]);
  }

  function bytes(): number {
    const { toServer, toClient } = setup.proxy(0).bytesForwarded;
    return toServer + toClient;
  }

  async function bytesDuring(work: () => Promise<unknown>): Promise<number> {
    const before = bytes();
    await work();
    return bytes() - before;
  }

  test('30,000 of them move no more bytes to and from the database than as long a time without any', async () => {
    const startedAtMs = performance.now();
    const busy = await bytesDuring(() => verifyAll(VERIFICATIONS));
    const idle = await bytesDuring(() => setTimeout(performance.now() - startedAtMs));
    // Polls for changes (every 180 to 220 ms) and signs of life (every 900 to 1100 ms) go on; in spans of the same length
    // there can be a few more of them in one than in the other, of some 200 bytes each. A statement has at least 100 bytes.
    expect(Math.abs(busy - idle) / VERIFICATIONS).toBeLessThan(0.25);
  });

  test('while the database is silent they go on, for as long as KEYSTILE_STALE_MAX allows', async () => {
    const DEFAULT_STALE_MAX_MS = 1000;
    setup.proxy(0).hang();
    const silentFromMs = performance.now();
    const moved = await bytesDuring(async () => {
      while (performance.now() - silentFromMs < 2 * DEFAULT_STALE_MAX_MS) await verifyAll(1000);
    });
    expect(moved).toBe(0);
  });
});
