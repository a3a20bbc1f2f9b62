import { describe, expect, test } from 'bun:test';

import type { Client } from 'pg';

import type { SpendOutcome } from '../../src/core/spend.ts';
import { StorageUnavailable } from '../../src/storage/port/storage.ts';
import { credits, spendOf } from '../postgres/conformance/samples.ts';
import { FaultLab, openCounters, untilBackend } from '../support/cluster/faultLab.ts';

const START = 100;

/** The name of each spend, in the order in which they were answered, and the answers by name. */
class Finishing {
  readonly order: string[] = [];
  readonly answers = new Map<string, SpendOutcome | Error>();
  readonly #running: Promise<void>[] = [];

  /** Settles when it is answered. */
  add(name: string, spend: Promise<SpendOutcome>): Promise<void> {
    const run = async (): Promise<void> => {
      const answer = await spend.catch((error: unknown) => error as Error);
      this.order.push(name);
      this.answers.set(name, answer);
    };
    const running = run();
    this.#running.push(running);
    return running;
  }

  async all(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** False = UNAVAILABLE. */
  isTaken(name: string): boolean | Error {
    const answer = this.answers.get(name);
    if (answer instanceof StorageUnavailable) return false;
    return answer instanceof Error || answer === undefined ? (answer ?? new Error('none')) : answer.status === 'taken';
  }
}

async function start(accounts: number) {
  const lab = await FaultLab.start();
  const storage = await lab.open();
  return { lab, storage, accounts: await openCounters(storage, accounts, START) };
}

/** A foreign transaction that holds the row of an account. */
async function hold(lab: FaultLab, account: number): Promise<Client> {
  const holder = await lab.client();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [account]);
  return holder;
}

const untilLocked = (lab: FaultLab): Promise<number> =>
  untilBackend(lab, `application_name LIKE '${lab.database} %' AND wait_event_type = 'Lock'`);

describe('an account whose row someone else holds', () => {
  test.concurrent('for a second: its own spends wait for it, those of other accounts do not', async () => {
    const { lab, storage, accounts } = await start(40);
    await using _ = lab;
    const [held = 0, ...others] = accounts;
    const holder = await hold(lab, held);
    const done = new Finishing();
    for (let i = 0; i < 5; i++)
      void done.add(`held ${i}`, Promise.resolve(storage.ledger.spend(spendOf(credits(held, 1)))));
    for (const account of others)
      void done.add(`other ${account}`, Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1)))));
    await untilLocked(lab);
    // One after another, so that each is a batch of its own beside the one that waits.
    for (const account of others) {
      await done.add(`later ${account}`, Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1)))));
    }
    expect(done.order.filter((name) => name.startsWith('held'))).toEqual([]);
    expect(done.order.length).toBe(2 * others.length);
    void done.add('held 5', Promise.resolve(storage.ledger.spend(spendOf(credits(held, 1)))));
    await Bun.sleep(1_000);
    expect(done.order.length).toBe(2 * others.length);
    await holder.query('COMMIT');
    await done.all();
    expect(done.order.slice(2 * others.length)).toEqual(Array.from({ length: 6 }, (__, i) => `held ${i}`));
    expect(await lab.values(accounts)).toEqual([START - 6, ...others.map(() => START - 2)]);
  });

  test.concurrent('for longer than is waited: UNAVAILABLE, nothing spent, also not of the other charges', async () => {
    const { lab, storage, accounts } = await start(3);
    await using _ = lab;
    const [held = 0, besides = 0, other = 0] = accounts;
    const holder = await hold(lab, held);
    const done = new Finishing();
    void done.add('held', Promise.resolve(storage.ledger.spend(spendOf(credits(held, 1)))));
    void done.add(
      'with another charge',
      Promise.resolve(storage.ledger.spend(spendOf(credits(besides, 1), credits(held, 1)))),
    );
    void done.add('other', Promise.resolve(storage.ledger.spend(spendOf(credits(other, 1)))));
    await done.all();
    expect(done.order[0]).toBe('other');
    expect(['held', 'with another charge', 'other'].map((name) => done.isTaken(name))).toEqual([false, false, true]);
    expect(await lab.values(accounts)).toEqual([START, START, START - 1]);
    await holder.query('ROLLBACK');
    expect(await Promise.resolve(storage.ledger.spend(spendOf(credits(held, 1))))).toMatchObject({
      charges: [{ left: START - 1 }],
    });
  });

  test.concurrent('harms only itself: one that was held for a moment only is served, although both waited together', async () => {
    const { lab, storage, accounts } = await start(3);
    await using _ = lab;
    const [long = 0, short = 0] = accounts;
    const [longHolder, shortHolder] = [await hold(lab, long), await hold(lab, short)];
    const done = new Finishing();
    void done.add('long', Promise.resolve(storage.ledger.spend(spendOf(credits(long, 1)))));
    void done.add('short', Promise.resolve(storage.ledger.spend(spendOf(credits(short, 1)))));
    await untilLocked(lab);
    await shortHolder.query('COMMIT');
    await done.all();
    expect(['long', 'short'].map((name) => done.isTaken(name))).toEqual([false, true]);
    await longHolder.query('COMMIT');
    expect(await lab.values([long, short])).toEqual([START, START - 1]);
  });

  test.concurrent('for longer than a change waits: UNAVAILABLE, nothing changed', async () => {
    const { lab, storage, accounts } = await start(1);
    await using _ = lab;
    const [held = 0] = accounts;
    const holder = await hold(lab, held);
    const set = { account: held, expect: 1, refill: null, set: 5, revision: 2 };
    const change = await storage.ledger.apply({ writes: [], accounts: [set] }).catch((error: unknown) => error);
    expect(change).toBeInstanceOf(StorageUnavailable);
    await holder.query('COMMIT');
    expect(await lab.values([held])).toEqual([START]);
    expect(await storage.ledger.apply({ writes: [], accounts: [set] })).toMatchObject({ status: 'done' });
  });
});
