import { expect, test } from 'bun:test';

import { type Storage, StorageUnavailable } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import {
  balanceOf,
  change,
  credits,
  identity,
  key,
  openCredits,
  openStrict,
  rootKey,
  spendOf,
  stateOf,
  strict,
  write,
  spendAll,
} from '../samples.ts';

/** Some of everything, all of it answered. */
async function live(storage: Storage): Promise<readonly number[]> {
  const accounts = [await openCredits(storage, 100), await openCredits(storage, 5), await openStrict(storage)];
  const [plain = 0, closed = 0, window = 0] = accounts;
  await write(
    storage,
    { kind: 'insertIdentity', identity: identity('id_1', 'user-7') },
    { kind: 'insertKey', key: key('key_1', { identityId: 'id_1', credits: { account: plain, refill: null } }) },
    { kind: 'insertRootKey', rootKey: rootKey('rk_1') },
  );
  await Promise.all(
    Array.from({ length: 30 }, () => Promise.resolve(storage.ledger.spend(spendOf(credits(plain, 1))))),
  );
  await Promise.resolve(storage.ledger.spend(spendOf(strict(window, 4, 10), credits(plain, 10))));
  await storage.ledger.apply(change({ account: closed, expect: 1, close: true, refill: null, revision: 1 }));
  await storage.ledger.apply({
    writes: [{ kind: 'updateKey', key: key('key_1', { identityId: 'id_1', revision: 2 }), expect: 1 }],
    accounts: [{ account: plain, expect: 1, refill: null, revision: 2 }],
  });
  return accounts;
}

async function everything(storage: Storage, accounts: readonly number[]): Promise<unknown> {
  return {
    workspaceId: storage.workspaceId,
    states: await storage.ledger.read(accounts),
    peeked: accounts.map((account) => storage.ledger.peek(account)),
    key: await storage.records.findKey('key_1'),
    rootKeys: await storage.records.listRootKeys(),
  };
}

describePort('durability', (setup) => {
  test('after a clean reopen everything is as it was answered', async () => {
    const accounts = await live(setup().storage);
    const before = await everything(setup().storage, accounts);
    await setup().reopen();
    expect(await everything(setup().storage, accounts)).toEqual(before);
    await setup().reopen();
    expect(await everything(setup().storage, accounts)).toEqual(before);
    expect(await balanceOf(setup().storage, accounts[0] ?? 0)).toBe(60);
  });

  test('after an unclean end everything that was answered is there, and the ledger goes on from it', async () => {
    const accounts = await live(setup().storage);
    const before = await everything(setup().storage, accounts);
    const copy = await setup().afterCrash();
    expect(await everything(copy, accounts)).toEqual(before);
    const next = await Promise.resolve(copy.ledger.spend(spendOf(credits(accounts[0] ?? 0, 60, null, 2))));
    expect(next).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
    expect((await Promise.resolve(copy.ledger.spend(spendOf(credits(accounts[1] ?? 0, 0))))).status).toBe('stale');
  });

  test('an end in the middle of a stream of spends: what had been answered by then is there, to the unit', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 1000);
    for (let round = 1; round <= 10; round++) {
      await Promise.all(
        Array.from({ length: 10 }, () => Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))))),
      );
      const copy = await setup().afterCrash();
      expect(await balanceOf(copy, account)).toBe(1000 - round * 10);
    }
  });

  test('what was reopened after an unclean end and changed again survives the next end too', async () => {
    const account = await openCredits(setup().storage, 10);
    await setup().reopen();
    await setup().storage.ledger.spend(spendOf(credits(account, 1)));
    await setup().reopen();
    await setup().storage.ledger.spend(spendOf(credits(account, 1)));
    const copy = await setup().afterCrash();
    expect(await stateOf(copy, account)).toMatchObject({ value: 8, mark: 0, dueAtMs: 0, revision: 1, base: 10 });
  });

  test('reading and peeking give what was committed and apply nothing', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    const before = await stateOf(storage, account);
    const spending = Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1))));
    // Whoever does not know without asking says nothing.
    expect([undefined, before]).toContainEqual(storage.ledger.peek(account));
    await spending;
    const after = await stateOf(storage, account);
    expect(after).toMatchObject({ value: 9 });
    expect([undefined, after]).toContainEqual(storage.ledger.peek(account));
  });

  test('what is under way at the close is answered, and nothing is accepted after it', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    const pending = spendAll(
      storage.ledger,
      Array.from({ length: 50 }, () => spendOf(credits(account, 1))),
    );
    await setup().reopen();
    expect((await pending).filter(({ status }) => status === 'taken').length).toBe(50);
    const refused = await Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1)))).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(StorageUnavailable);
    expect(await balanceOf(setup().storage, account)).toBe(50);
  });

  test('what is spent while the tables are brought up to the log is there after an unclean end', async () => {
    const { storage } = setup();
    const accounts: number[] = [];
    // In parts: an adapter refuses changes that have to wait for too long.
    for (let i = 0; i < 12; i++)
      accounts.push(...(await Promise.all(Array.from({ length: 100 }, () => openCredits(storage, 10)))));
    // Whatever an adapter does to find what is due goes on while these are spent, each once, until it is done.
    let isDone = false;
    const finding = storage.ledger.listDue(0, 1, null).then(() => (isDone = true));
    const spent: Promise<unknown>[] = [];
    for (const account of accounts) {
      if (isDone) break;
      spent.push(Promise.resolve(storage.ledger.spend(spendOf(credits(account, 1)))));
      await new Promise((turn) => setImmediate(turn));
    }
    await Promise.all([finding, ...spent]);
    const copy = await setup().afterCrash();
    const balances = (await copy.ledger.read(accounts)).map((state) => state?.value);
    expect(balances).toEqual(accounts.map((_, i) => (i < spent.length ? 9 : 10)));
  });
});
