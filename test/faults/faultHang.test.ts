import { describe, expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { credits, spendOf } from '../postgres/conformance/samples.ts';
import { FaultLab, openCounters, untilBackend } from '../support/cluster/faultLab.ts';
import { FaultNode } from '../support/cluster/faultNode.ts';

const START = 100;
/** The longest that a request may wait: one batch, the search for its outcome, and the attempt that is under way then. */
const MAX_WAIT_MS = 20_000;

const spendOn = (storage: PostgresStorage, account: number) => storage.ledger.spend(spendOf(credits(account, 1)));

/** What is left after each of them, as it was answered. */
async function left(spends: readonly ReturnType<PostgresStorage['ledger']['spend']>[]): Promise<number[]> {
  return (await Promise.all(spends)).map((outcome) => ('charges' in outcome ? (outcome.charges[0]?.left ?? NaN) : NaN));
}

/** A lane of this storage is connected and was used. */
async function warm(storage: PostgresStorage): Promise<number> {
  const [account = 0] = await openCounters(storage, 1, START + 1);
  await spendOn(storage, account);
  return account;
}

const waitsForLock = (lab: FaultLab): string =>
  `application_name LIKE '${lab.database} %' AND wait_event_type = 'Lock'`;

/** Spends that are sent while another one holds their row: the database has them and waits. Answers how to let go. */
async function arrived(lab: FaultLab, account: number, ask: () => void): Promise<() => Promise<unknown>> {
  const holder = await lab.client();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [account]);
  ask();
  await untilBackend(lab, waitsForLock(lab));
  return () => holder.query('COMMIT');
}

describe('a database that falls silent in the middle of a batch', () => {
  test.concurrent('for 2 s, before the batch arrived: all of it is done, once', async () => {
    await using lab = await FaultLab.start();
    const storage = await lab.open();
    const account = await warm(storage);
    lab.proxy.hang();
    const spends = Array.from({ length: 5 }, () => spendOn(storage, account));
    await Bun.sleep(2_000);
    lab.proxy.heal();
    expect(await left(spends)).toEqual([99, 98, 97, 96, 95]);
    expect(await lab.values([account])).toEqual([95]);
  });

  test.concurrent('for 2 s, with the answer under way: all of it is done, once', async () => {
    await using lab = await FaultLab.start();
    const storage = await lab.open();
    const account = await warm(storage);
    let spends: ReturnType<typeof spendOn>[] = [];
    const letGo = await arrived(lab, account, () => {
      spends = Array.from({ length: 5 }, () => spendOn(storage, account));
    });
    lab.proxy.hang();
    await letGo();
    await until('the batch is committed', async () => (await lab.values([account]))[0] === 95);
    await Bun.sleep(2_000);
    lab.proxy.heal();
    expect(await left(spends)).toEqual([99, 98, 97, 96, 95]);
    expect(await lab.values([account])).toEqual([95]);
  });

  test.concurrent('and breaks off while the batch waits for a row: given up and sent again, it is done once', async () => {
    await using lab = await FaultLab.start();
    const storage = await lab.open();
    const account = await warm(storage);
    let spends: ReturnType<typeof spendOn>[] = [];
    const letGo = await arrived(lab, account, () => {
      spends = Array.from({ length: 5 }, () => spendOn(storage, account));
    });
    const first = await untilBackend(lab, waitsForLock(lab));
    lab.proxy.cut();
    lab.proxy.heal();
    // The server has not noticed: the first sending waits for the row until the node has it ended, then the second waits.
    await untilBackend(lab, `${waitsForLock(lab)} AND pid <> ${first}`);
    await letGo();
    expect(await left(spends)).toEqual([99, 98, 97, 96, 95]);
    expect(await lab.values([account])).toEqual([95]);
  });

  test.concurrent('for longer than a batch may take, with the answer lost in it: the lane tells that it was done', async () => {
    await using lab = await FaultLab.start('&connect_timeout=1');
    const storage = await lab.open();
    const account = await warm(storage);
    let spends: ReturnType<typeof spendOn>[] = [];
    const letGo = await arrived(lab, account, () => {
      spends = Array.from({ length: 5 }, () => spendOn(storage, account));
    });
    lab.proxy.hang();
    await letGo();
    await Bun.sleep(5_500);
    lab.proxy.heal();
    expect(await left(spends)).toEqual([99, 98, 97, 96, 95]);
    expect(await lab.values([account])).toEqual([95]);
  });

  test.concurrent('for longer than a batch may take: it is done once, although the first sending arrives after all', async () => {
    await using lab = await FaultLab.start('&connect_timeout=1');
    const storage = await lab.open();
    const account = await warm(storage);
    lab.proxy.hang();
    const spends = Array.from({ length: 5 }, () => spendOn(storage, account));
    await Bun.sleep(5_500);
    lab.proxy.heal();
    expect(await left(spends)).toEqual([99, 98, 97, 96, 95]);
    expect(await lab.values([account])).toEqual([95]);
  });

  test.concurrent('for too long: OUTCOME_UNKNOWN, later ones UNAVAILABLE, none valid; then the node works again', async () => {
    await using lab = await FaultLab.start('&connect_timeout=1');
    await using node = await FaultNode.start({ url: lab.url });
    const { key, keyId } = await node.createKey({ remaining: START + 1 });
    expect(await node.verify(key)).toMatchObject({ valid: true });
    lab.proxy.hang();
    const startedAt = performance.now();
    const first = await Promise.all(Array.from({ length: 5 }, () => node.verify(key)));
    expect(performance.now() - startedAt).toBeLessThan(MAX_WAIT_MS);
    expect(first.map(({ status, code }) => [status, code])).toEqual(first.map(() => [503, 'OUTCOME_UNKNOWN']));
    const laterAt = performance.now();
    const later = await Promise.all(Array.from({ length: 5 }, () => node.verify(key)));
    // Two seconds are for the question whether the key has changed.
    expect(performance.now() - laterAt).toBeLessThan(3_000);
    expect(later.map(({ status, code }) => [status, code])).toEqual(later.map(() => [503, 'UNAVAILABLE']));
    lab.proxy.heal();
    await until('the node answers again', async () => (await node.verify(key)).valid);
    const remaining = Number((await node.verify(key)).body['remaining']);
    // Of the five nobody knows; the later ones were not done.
    expect(remaining).toBeGreaterThanOrEqual(START - first.length - 2);
    expect(remaining).toBeLessThanOrEqual(START - 2);
    expect(await node.remaining(keyId)).toBe(remaining);
  });
});
