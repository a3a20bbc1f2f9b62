import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { hammer } from '../support/cluster/clients.ts';
import { Setup } from '../support/cluster/clusterSetup.ts';

const CLIENTS = 64;
const LIMIT = 100;
const WINDOW_MS = 1000;
/** Whole ones, between the one in which the clients begin and the one in which they end. */
const WINDOWS = 20;

let setup: Setup;

beforeAll(async () => {
  setup = await Setup.start();
});

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
});

describe('a strict limit of 100 per second, 64 clients at three nodes', () => {
  test('20 windows: never more than 100, and exactly 100 whenever at least that many asked', async () => {
    const { key } = await setup.createKey({ ratelimit: { async: false, limit: LIMIT, duration: WINDOW_MS } });
    /** By the end of the window, as the ledger named it. */
    const asked = new Map<number, number>();
    const valid = new Map<number, number>();
    const others: unknown[] = [];
    await hammer(
      setup,
      CLIENTS,
      () => (asked.size < WINDOWS + 2 && others.length === 0 ? { key } : null),
      async (reply) => {
        const reset = reply.kind === 'verdict' ? reply.verdict.ratelimit?.reset : undefined;
        if (reply.kind !== 'verdict' || reset === undefined) return void others.push(reply);
        add(asked, reset);
        if (reply.verdict.valid) add(valid, reset);
      },
    );
    expect(others).toEqual([]);
    for (const count of valid.values()) expect(count).toBeLessThanOrEqual(LIMIT);
    const whole = [...asked.keys()].sort((a, b) => a - b).slice(1, -1);
    expect(whole).toEqual(Array.from({ length: WINDOWS }, (_, i) => (whole[0] ?? 0) + i * WINDOW_MS));
    for (const reset of whole) expect(asked.get(reset)).toBeGreaterThanOrEqual(LIMIT);
    expect(whole.map((reset) => valid.get(reset))).toEqual(whole.map(() => LIMIT));
  });
});

function add(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
