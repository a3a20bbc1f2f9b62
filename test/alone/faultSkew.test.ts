import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import { FaultLab } from '../support/cluster/faultLab.ts';
import { FaultNode, type NodeAnswer } from '../support/cluster/faultNode.ts';

const SKEW_MS = 5_000;
/** How well a node has to know the time of the database: an answer takes a moment, on a busy machine more. */
const PRECISION_MS = 500;
const LIMIT = 25;
const WINDOW_MS = 1_000;

let lab: FaultLab;
let ahead: FaultNode;
let behind: FaultNode;

beforeAll(async () => {
  lab = await FaultLab.start();
  ahead = await FaultNode.start({ url: lab.url, nowMs: () => Date.now() + SKEW_MS });
  behind = await FaultNode.start({ url: lab.url, nowMs: () => Date.now() - SKEW_MS });
});

afterAll(async () => {
  await ahead[Symbol.asyncDispose]();
  await behind[Symbol.asyncDispose]();
  await lab[Symbol.asyncDispose]();
});

/** The database runs on this machine. */
const databaseMs = (): number => Date.now();

const resetOf = ({ body }: NodeAnswer): number => (body['ratelimit'] as { reset: number }).reset;

describe('two nodes whose clocks are 5 s ahead and 5 s behind', () => {
  test.concurrent('follow the clock of the database', () => {
    for (const { storage } of [ahead, behind]) {
      expect(Math.abs(storage.ledger.nowMs() - databaseMs())).toBeLessThan(PRECISION_MS);
    }
    expect(Math.abs(ahead.storage.ledger.nowMs() - behind.storage.ledger.nowMs())).toBeLessThan(PRECISION_MS);
    expect(Math.abs(ahead.storage.clockOffsetMs + SKEW_MS)).toBeLessThan(PRECISION_MS);
    expect(Math.abs(behind.storage.clockOffsetMs - SKEW_MS)).toBeLessThan(PRECISION_MS);
  });

  test.concurrent('strict windows are placed by the database: the same for both, and never more than the limit together', async () => {
    const ratelimit = { async: false, limit: LIMIT, duration: WINDOW_MS };
    const { key } = await ahead.createKey({ ratelimit });
    const seen = new Map<number, { valid: number[]; asked: number }>();
    const misplaced: number[] = [];
    const endsAt = performance.now() + 3.5 * WINDOW_MS;
    const run = async (node: FaultNode, number: number): Promise<void> => {
      while (performance.now() < endsAt) {
        const askedAtMs = databaseMs();
        const answer = await node.verify(key);
        const reset = resetOf(answer);
        // The window that ran at the database between the question and the answer.
        if (reset < askedAtMs || reset > databaseMs() + WINDOW_MS) misplaced.push(reset - askedAtMs);
        const window = seen.get(reset) ?? { valid: [0, 0], asked: 0 };
        seen.set(reset, window);
        window.asked++;
        if (answer.valid) window.valid[number] = (window.valid[number] ?? 0) + 1;
      }
    };
    await Promise.all([ahead, behind, ahead, behind].map((node, i) => run(node, i % 2)));
    expect([...seen.keys()].filter((reset) => reset % WINDOW_MS !== 0)).toEqual([]);
    expect(misplaced).toEqual([]);
    const full = [...seen.values()].filter(({ asked }) => asked >= LIMIT);
    expect(full.length).toBeGreaterThanOrEqual(2);
    for (const { valid } of full) expect((valid[0] ?? 0) + (valid[1] ?? 0)).toBe(LIMIT);
    // Both have a share in the same windows.
    expect(full.filter(({ valid: [a = 0, b = 0] }) => a > 0 && b > 0).length).toBeGreaterThanOrEqual(1);
  });

  test.concurrent('count local windows by the same clock', async () => {
    const hour = 3_600_000;
    const { key } = await ahead.createKey({ ratelimit: { async: true, limit: LIMIT, duration: hour } });
    const resets = [resetOf(await ahead.verify(key)), resetOf(await behind.verify(key))];
    expect(resets).toEqual([resets[0] ?? 0, resets[0] ?? 0]);
    expect((resets[0] ?? 1) % hour).toBe(0);
  });

  test.concurrent('let a key expire at the same instant', async () => {
    const expires = databaseMs() + 1_500;
    const { key } = await behind.createKey({ expires });
    for (const node of [ahead, behind]) expect(await node.verify(key)).toMatchObject({ valid: true });
    const expiredAt = await Promise.all(
      [ahead, behind].map(async (node) => {
        await until('the key has expired', async () => (await node.verify(key)).code === 'EXPIRED');
        return databaseMs();
      }),
    );
    for (const at of expiredAt) expect(Math.abs(at - expires)).toBeLessThan(PRECISION_MS);
  });
});

test.concurrent('an answer that was long under way does not move the clock of a node', async () => {
  await using own = await FaultLab.start();
  const storage = await own.open({ staleMaxMs: 60_000 });
  const errors: number[] = [];
  for (let round = 0; round < 2; round++) {
    own.proxy.hang();
    await until('a poll has been under way for a while', () => storage.freshness.ageMs > 1_500);
    own.proxy.heal();
    const healedAt = performance.now();
    while (performance.now() - healedAt < 150) {
      errors.push(Math.abs(storage.ledger.nowMs() - databaseMs()));
      await Bun.sleep(1);
    }
    await storage.freshness.confirm();
  }
  expect(Math.max(...errors)).toBeLessThan(PRECISION_MS);
});
