import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { setTimeout } from 'node:timers/promises';

import { Client } from 'pg';

import { until } from '../../tools/cluster/wait.ts';
import { type Reply, untilValid, Wire } from '../support/cluster/clients.ts';
import { type Setup, sharedSetup } from '../support/cluster/clusterSetup.ts';

/** KEYSTILE_STALE_MAX as it comes: no request that arrives later is decided on the old state. */
const BOUND_MS = 1000;
/** What is usual: as soon as the notification is there. */
const USUAL_MS = 250;
const CUT_EVERY_MS = 20;

let setup: Setup;
/** To the nodes on which nothing is changed. */
let others: readonly Wire[];

beforeAll(async () => {
  setup = await sharedSetup();
  others = await Promise.all(setup.nodes.slice(1).map(({ port }) => Wire.open(port)));
});

afterAll(() => {
  for (const wire of others) wire[Symbol.dispose]();
});

/** The verdict in one word; an error is none. */
function codeOf(reply: Reply): string {
  return reply.kind === 'verdict' ? reply.verdict.code : JSON.stringify(reply);
}

/** Asks without pause until the answer is `after`, which it must stay; until then it must be `before`. Answers how long it took. */
async function changeSeen(wire: Wire, key: string, [before, after]: readonly [string, string]): Promise<number> {
  const sinceMs = performance.now();
  for (;;) {
    const code = codeOf(await wire.verify({ key }));
    const tookMs = performance.now() - sinceMs;
    if (code === after) {
      expect(codeOf(await wire.verify({ key }))).toBe(after);
      return tookMs;
    }
    expect(code).toBe(before);
    expect(tookMs).toBeLessThan(2 * BOUND_MS);
  }
}

/** How long it took at each of the other nodes after the change was answered. */
async function seenAfter(change: () => Promise<unknown>, key: string, codes: readonly [string, string]) {
  await change();
  return Promise.all(others.map((wire) => changeSeen(wire, key, codes)));
}

async function revokeOnce(): Promise<number[]> {
  const { key, keyId } = await setup.createKey();
  await Promise.all(others.map((wire) => untilValid(wire, key)));
  return seenAfter(() => setup.ok(0, '/v1/keys.deleteKey', { keyId }), key, ['VALID', 'NOT_FOUND']);
}

function expectUsual(times: readonly number[]): void {
  expect(Math.max(...times)).toBeLessThan(BOUND_MS);
  expect(times.filter((ms) => ms >= USUAL_MS).length).toBeLessThanOrEqual(1);
}

describe('what was changed on one node counts on the others', () => {
  test('a deleted key is refused, 40 times: all but one within 250 ms, each within 1 s', async () => {
    const times: number[] = [];
    for (let trial = 0; trial < 40; trial++) times.push(...(await revokeOnce()));
    expectUsual(times);
  });

  test('a key disabled and enabled again: all but one within 250 ms, each within 1 s', async () => {
    const times: number[] = [];
    const { key, keyId } = await setup.createKey();
    await Promise.all(others.map((wire) => untilValid(wire, key)));
    for (let trial = 0; trial < 10; trial++) {
      const set = (enabled: boolean) => () => setup.ok(0, '/v1/keys.updateKey', { keyId, enabled });
      times.push(...(await seenAfter(set(false), key, ['VALID', 'DISABLED'])));
      times.push(...(await seenAfter(set(true), key, ['DISABLED', 'VALID'])));
    }
    expectUsual(times);
  });

  test('a new key is valid on the others at once', async () => {
    for (let trial = 0; trial < 20; trial++) {
      const { key } = await setup.createKey();
      const codes = await Promise.all(others.map(async (wire) => codeOf(await wire.verify({ key }))));
      expect(codes).toEqual(['VALID', 'VALID']);
    }
  });

  test('a digest that a node remembers as unknown is asked for again when a key with it is written', async () => {
    const { key, keyId } = await setup.createKey();
    // Keys cannot be brought along yet: this one is hidden behind another digest until the nodes have asked for it.
    const [row] = await setup.postgres.query(`SELECT secret_digest AS digest FROM keys WHERE id = '${keyId}'`);
    const setDigest = (digest: string) =>
      setup.postgres.query(`UPDATE keys SET secret_digest = '${digest}' WHERE id = '${keyId}'`);
    await setDigest('elsewhere');
    const ask = () => Promise.all(others.map(async (wire) => codeOf(await wire.verify({ key }))));
    expect(await ask()).toEqual(['NOT_FOUND', 'NOT_FOUND']);
    await setDigest(String(row?.['digest']));
    expect(await ask()).toEqual(['NOT_FOUND', 'NOT_FOUND']);
    const write = () => setup.ok(0, '/v1/keys.updateKey', { keyId, name: 'found' });
    for (const ms of await seenAfter(write, key, ['NOT_FOUND', 'VALID'])) expect(ms).toBeLessThan(BOUND_MS);
  });
});

async function withClient<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: setup.postgres.url() });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Ends every connection that listens for notifications, again and again. Answers how many there were. */
function whileCutting(work: () => Promise<void>): Promise<number> {
  return withClient(async (admin) => {
    const end = new AbortController();
    let cuts = 0;
    const cutting = (async () => {
      while (!end.signal.aborted) {
        const listening = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`;
        cuts += (await admin.query(listening)).rowCount ?? 0;
        await setTimeout(CUT_EVERY_MS);
      }
    })();
    try {
      await work();
    } finally {
      end.abort();
      await cutting;
    }
    return cuts;
  });
}

/** Notifications reach nobody meanwhile, although all connections are there. */
async function whileUnheard(work: () => Promise<void>): Promise<void> {
  // Who connects from now on finds another function by that name, which does nothing.
  await setup.postgres.query(`CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT'`);
  await reconnectWith('ALTER DATABASE postgres SET search_path = public, pg_catalog');
  try {
    await work();
  } finally {
    await setup.postgres.query('DROP FUNCTION public.pg_notify(text, text)');
    await reconnectWith('ALTER DATABASE postgres RESET search_path');
  }
}

/** Changes a setting of the database, and has all nodes connect anew. */
async function reconnectWith(setting: string): Promise<void> {
  await setup.postgres.query(setting);
  const ofNodes = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'keystile %'`;
  await setup.postgres.query(ofNodes);
  await until('the node is connected again', () => {
    return setup.createKey().then(
      () => true,
      () => false,
    );
  });
}

describe('what was changed counts in time, whatever is broken', () => {
  test('a node was paused while a key was deleted: no request sent after that is answered valid', async () => {
    // Longer than it may use what it has in memory.
    const PAUSE_MS = 1.5 * BOUND_MS;
    const paused = setup.node(1);
    const { key, keyId } = await setup.createKey();
    const wires = await Promise.all(Array.from({ length: 8 }, () => Wire.open(paused.port)));
    for (const wire of wires) await untilValid(wire, key);
    paused.pause();
    const pausedAtMs = performance.now();
    await setup.ok(0, '/v1/keys.deleteKey', { keyId });
    // Some wait in the node's sockets when it goes on, the others come in that moment.
    const early = wires.slice(0, 4).map((wire) => wire.verify({ key }));
    await setTimeout(PAUSE_MS - (performance.now() - pausedAtMs));
    paused.resume();
    const late = wires.slice(4).map((wire) => wire.verify({ key }));
    const codes = (await Promise.all([...early, ...late])).map(codeOf);
    for (const wire of wires) wire[Symbol.dispose]();
    expect(codes).toEqual(wires.map(() => 'NOT_FOUND'));
  });

  test('the notification channel is cut again and again: a deleted key is refused within 1 s, 12 times', async () => {
    const times: number[] = [];
    const cuts = await whileCutting(async () => {
      for (let trial = 0; trial < 12; trial++) times.push(...(await revokeOnce()));
    });
    expect(cuts).toBeGreaterThan(setup.nodes.length);
    expect(Math.max(...times)).toBeLessThan(BOUND_MS);
  });

  test('notifications are lost without a word: a deleted key is refused within 1 s, 12 times', async () => {
    const times: number[] = [];
    let heard = 0;
    await whileUnheard(() =>
      withClient(async (listener) => {
        listener.on('notification', () => heard++);
        await listener.query('LISTEN keystile_changes');
        for (let trial = 0; trial < 12; trial++) times.push(...(await revokeOnce()));
        // Whatever was said has arrived before this is answered.
        await listener.query('SELECT');
      }),
    );
    expect(heard).toBe(0);
    expect(Math.max(...times)).toBeLessThan(BOUND_MS);
  });
});
