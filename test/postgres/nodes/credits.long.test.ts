import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { setTimeout } from 'node:timers/promises';

import { until } from '../../../tools/cluster/wait.ts';
import { hammer, type Reply, Wire } from '../../support/cluster/clients.ts';
import { Setup } from '../../support/cluster/clusterSetup.ts';

const CLIENTS = 64;
const CREDITS = 10_000;
/** Enough to be in the middle of spending when PostgreSQL goes away. */
const FEWER_CREDITS = 3_000;
/** When this part was valid something breaks, and the later part is not exceeded before it is whole again. */
const MIDDLE = 0.4;
const LATER = 0.8;
/** A client that was told to try again does so after this. */
const PATIENCE_MS = 5;

let setup: Setup;

beforeAll(async () => {
  setup = await Setup.start();
});

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
});

interface Counts {
  /** The connection ended before an answer: spent or not. */
  readonly lost: number;
  /** 503 OUTCOME_UNKNOWN: spent or not. */
  readonly unknown: number;
  /** 503 UNAVAILABLE: not spent. */
  readonly unavailable: number;
}

interface SpentKey {
  readonly key: string;
  readonly keyId: string;
  readonly credits: number;
}

async function makeKey(credits: number): Promise<SpentKey> {
  return { ...(await setup.createKey({ remaining: credits })), credits };
}

/** What 64 clients saw who spent a key until each of them was told that nothing is left. */
interface Seen extends Counts {
  /** What was left after each spend that was answered valid, highest first. */
  readonly left: readonly number[];
}

async function spendAll(
  { key, credits }: SpentKey,
  onMiddle: (counts: Counts) => Promise<void> = async () => {},
): Promise<Seen> {
  const left: number[] = [];
  const refused = new Set<number>();
  const counts = { lost: 0, unknown: 0, unavailable: 0 };
  const others: Reply[] = [];
  let middle = Promise.resolve();
  await hammer(
    setup,
    CLIENTS,
    (client) => (refused.has(client) || others.length > 0 ? null : { key }),
    async (reply, client) => {
      if (reply.kind === 'verdict' && reply.verdict.valid) {
        left.push(reply.verdict.remaining ?? NaN);
        if (left.length === MIDDLE * credits) middle = onMiddle(counts);
        if (left.length >= LATER * credits) await middle;
      } else if (reply.kind === 'verdict' && reply.verdict.code === 'USAGE_EXCEEDED') refused.add(client);
      else if (reply.kind === 'lost') counts.lost++;
      else if (reply.kind === 'error' && reply.status === 503 && reply.code === 'OUTCOME_UNKNOWN') counts.unknown++;
      else if (reply.kind === 'error' && reply.status === 503 && reply.code === 'UNAVAILABLE') {
        counts.unavailable++;
        await setTimeout(PATIENCE_MS);
      } else others.push(reply);
    },
  );
  await middle;
  expect(others).toEqual([]);
  return { left: left.sort((a, b) => b - a), ...counts };
}

/** What must hold whatever broke. */
async function expectExact({ keyId, credits }: SpentKey, { left, lost, unknown }: Seen): Promise<void> {
  await until('every node answers again', async () => {
    const answers = await Promise.all(setup.nodes.map((node) => node.call('/v1/keys.getKey', { keyId })));
    return answers.every(({ status }) => status === 200);
  });
  const spent = credits - (await setup.remaining(keyId));
  expect(new Set(left).size).toBe(left.length);
  for (const value of left) expect(value >= 0 && value < credits).toBe(true);
  expect(left.length).toBeLessThanOrEqual(spent);
  expect(spent).toBeLessThanOrEqual(left.length + lost + unknown);
  // Each of them had been told so.
  expect(spent).toBe(credits);
}

describe('one idempotency key sent through three nodes at once', () => {
  const NAMES = Array.from({ length: 50 }, (_, i) => `one-of-fifty-${i}`);

  /** The three answers to one of them. */
  async function sendThrice(key: string, idempotencyKey: string): Promise<Reply[]> {
    const wires = await Promise.all(setup.nodes.map(({ port }) => Wire.open(port)));
    const replies = await Promise.all(wires.map((wire) => wire.verify({ key, idempotencyKey })));
    for (const wire of wires) wire[Symbol.dispose]();
    return replies;
  }

  function expectOneCharge(replies: readonly Reply[][]): void {
    const left = replies.map((three) => {
      const verdicts = three.map((reply) => (reply.kind === 'verdict' && reply.verdict.valid ? reply.verdict : null));
      const [first, ...others] = verdicts.map((verdict) => verdict?.remaining ?? NaN);
      expect(others).toEqual([first ?? NaN, first ?? NaN]);
      return first ?? NaN;
    });
    expect(left.sort((a, b) => b - a)).toEqual(NAMES.map((_, i) => CREDITS - 1 - i));
  }

  test('50 one after another: one charge and one verdict each', async () => {
    const { key, keyId } = await setup.createKey({ remaining: CREDITS });
    const replies: Reply[][] = [];
    for (const name of NAMES) replies.push(await sendThrice(key, name));
    expectOneCharge(replies);
    expect(await setup.remaining(keyId)).toBe(CREDITS - NAMES.length);
  });

  test('50 all at once: one charge and one verdict each', async () => {
    const { key, keyId } = await setup.createKey({ remaining: CREDITS });
    expectOneCharge(await Promise.all(NAMES.map((name) => sendThrice(key, name))));
    expect(await setup.remaining(keyId)).toBe(CREDITS - NAMES.length);
  });
});

describe('credits, 64 clients at three nodes', () => {
  test('exactly 10,000 are valid, and every value of remaining is answered once', async () => {
    const spent = await makeKey(CREDITS);
    const seen = await spendAll(spent);
    const left = Array.from({ length: CREDITS }, (_, i) => CREDITS - 1 - i);
    expect(seen).toEqual({ left, lost: 0, unknown: 0, unavailable: 0 });
    expect(await setup.remaining(spent.keyId)).toBe(0);
  });

  test('a node is killed while 10,000 are spent and started again: only requests that it left unanswered are in doubt', async () => {
    const spent = await makeKey(CREDITS);
    const seen = await spendAll(spent, async () => {
      await setup.node(1).kill();
      await setup.startAgain(1);
    });
    await expectExact(spent, seen);
    expect(seen.lost).toBeGreaterThan(0);
    expect(seen).toMatchObject({ unknown: 0, unavailable: 0 });
  });

  test('PostgreSQL is restarted (immediate): no answer is lost', async () => {
    const spent = await makeKey(FEWER_CREDITS);
    const seen = await spendAll(spent, () => setup.postgres.restart('immediate'));
    await expectExact(spent, seen);
    expect(seen.lost).toBe(0);
  });

  test('PostgreSQL stays away until the nodes give up: a 503 UNAVAILABLE has spent nothing', async () => {
    const spent = await makeKey(FEWER_CREDITS);
    const seen = await spendAll(spent, async (counts) => {
      await setup.postgres.stop('immediate');
      await until('clients hear that nothing was spent', () => counts.unavailable >= CLIENTS);
      await setup.postgres.restart();
    });
    await expectExact(spent, seen);
    expect(seen.lost).toBe(0);
  });
});
