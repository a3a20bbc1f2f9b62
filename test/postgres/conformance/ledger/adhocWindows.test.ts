import { PRUNE_GRACE_MS } from '../../../../src/storage/port/storage.ts';
import { expect, test } from 'bun:test';

import { MAX_ADHOC_LIMITS_PER_OWNER } from '../../../../src/core/bounds.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { spendOf, stateOf, strict } from '../samples.ts';

const MINUTE_MS = 60_000;

function open(storage: Storage, name: string, owner = 'key_1', durationMs = MINUTE_MS): Promise<number | null> {
  return storage.ledger.openWindow({ owner, name, durationMs }, MAX_ADHOC_LIMITS_PER_OWNER);
}

function take(storage: Storage, account: number | null, limit = 10) {
  return storage.ledger.spend(spendOf(strict(account ?? 0, 1, limit, MINUTE_MS, 0)));
}

/** As many live windows of key_1 as named: opened, and counted in. */
async function fill(storage: Storage, count: number): Promise<void> {
  const accounts = await Promise.all(Array.from({ length: count }, (_, i) => open(storage, `live ${i}`)));
  const outcomes = await Promise.all(accounts.map((account) => take(storage, account)));
  expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(count);
}

describePort('ad-hoc windows', (setup) => {
  test('the same name is the same account; another owner, name or duration is another', async () => {
    const { storage } = setup();
    const account = await open(storage, 'a');
    expect(await open(storage, 'a')).toBe(account);
    const others = [
      await open(storage, 'b'),
      await open(storage, 'a', 'key_2'),
      await open(storage, 'a', 'key_1', 2 * MINUTE_MS),
    ];
    expect(new Set([account, ...others]).size).toBe(4);
    await setup().reopen();
    expect(await open(setup().storage, 'a')).toBe(account);
  });

  test('many that open the same name at once share one account, and it holds one count', async () => {
    const { storage } = setup();
    const accounts = await Promise.all(Array.from({ length: 50 }, () => open(storage, 'a')));
    expect(new Set(accounts).size).toBe(1);
    const outcomes = await Promise.all(accounts.map((account) => take(storage, account, 7)));
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(7);
  });

  test('an owner has at most 100 live ones: the next is null, also after a reopen, and other owners are not affected', async () => {
    const { storage } = setup();
    await fill(storage, MAX_ADHOC_LIMITS_PER_OWNER);
    expect(await open(storage, 'one more')).toBeNull();
    expect(await open(storage, 'live 0')).not.toBeNull();
    expect(await open(storage, 'one more', 'key_2')).not.toBeNull();
    await setup().reopen();
    expect(await open(setup().storage, 'one more')).toBeNull();
  });

  test('the bound holds when the last ones are opened at the same time', async () => {
    const { storage } = setup();
    await fill(storage, MAX_ADHOC_LIMITS_PER_OWNER - 1);
    const accounts = await Promise.all(Array.from({ length: 20 }, (_, i) => open(storage, `race ${i}`)));
    const outcomes = await Promise.all(accounts.map((account) => take(storage, account)));
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBeLessThanOrEqual(1);
  });

  test('ended windows make room, and an ended one that is opened again begins at 0', async () => {
    const { storage, clock } = setup();
    await fill(storage, MAX_ADHOC_LIMITS_PER_OWNER);
    clock.advance(MINUTE_MS - 1);
    expect(await open(storage, 'one more')).toBeNull();
    clock.advance(1);
    const account = await open(storage, 'one more');
    expect(await take(storage, account)).toMatchObject({ status: 'taken', charges: [{ left: 9 }] });
    expect(await take(storage, await open(storage, 'live 7'))).toMatchObject({ charges: [{ left: 9 }] });
  });

  test('pruning removes the ended ones: a spend on one of them is stale, and its name opens a new one', async () => {
    const { storage, clock } = setup();
    const ended = await open(storage, 'ended');
    await take(storage, ended);
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    const live = await open(storage, 'live');
    await take(storage, live);
    await storage.ledger.prune();
    expect((await take(storage, ended)).status).toBe('stale');
    expect(await stateOf(storage, ended ?? 0)).toBeUndefined();
    expect(await take(storage, live)).toMatchObject({ status: 'taken', charges: [{ left: 8 }] });
    const again = await open(storage, 'ended');
    expect(again).not.toBe(ended);
    expect(await take(storage, again)).toMatchObject({ status: 'taken', charges: [{ left: 9 }] });
  });

  test('pruning goes through any number of them', async () => {
    const { storage, clock } = setup();
    const owners = Array.from({ length: 1200 }, (_, i) => `key_${i}`);
    const accounts: Awaited<ReturnType<typeof open>>[] = [];
    // In parts: an adapter refuses what has to wait for too long.
    for (let i = 0; i < owners.length; i += 100) {
      const opened = await Promise.all(owners.slice(i, i + 100).map((owner) => open(storage, 'a', owner)));
      await Promise.all(opened.map((account) => take(storage, account)));
      accounts.push(...opened);
    }
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    await storage.ledger.prune();
    const states = await storage.ledger.read(accounts.map((account) => account ?? 0));
    expect(states.filter((state) => state !== undefined)).toEqual([]);
  });

  test('a spend that arrives while ended windows are being pruned is stale, or counts', async () => {
    const { storage, clock } = setup();
    await storage.ledger.prune();
    const owners = Array.from({ length: 400 }, (_, i) => `key_${i}`);
    // In parts: an adapter refuses what has to wait for too long.
    const openAll = async (): Promise<Awaited<ReturnType<typeof open>>[]> => {
      const opened: Awaited<ReturnType<typeof open>>[] = [];
      for (let i = 0; i < owners.length; i += 50) {
        opened.push(...(await Promise.all(owners.slice(i, i + 50).map((owner) => open(storage, 'a', owner)))));
      }
      return opened;
    };
    const accounts = await openAll();
    await Promise.all(accounts.map((account) => take(storage, account, 1)));
    clock.advance(PRUNE_GRACE_MS + MINUTE_MS);
    const pruning = storage.ledger.prune();
    const first = [];
    for (const account of accounts) {
      first.push(take(storage, account, 1));
      // The next one arrives in another turn of the event loop: at another point of the pruning.
      if (first.length % 4 === 0) await new Promise((turn) => setImmediate(turn));
    }
    await pruning;
    const wereTaken = (await Promise.all(first)).map(({ status }) => (status === 'taken' ? 1 : 0));
    const reopened = await openAll();
    const second = await Promise.all(reopened.map((account) => take(storage, account, 1)));
    const takenTwice = owners.filter((_, i) => wereTaken[i] === 1 && second[i]?.status === 'taken');
    expect(takenTwice).toEqual([]);
    expect(owners.filter((_, i) => wereTaken[i] === 0 && second[i]?.status !== 'taken')).toEqual([]);
  });
});
