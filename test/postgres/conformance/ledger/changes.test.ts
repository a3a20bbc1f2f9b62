import { expect, test } from 'bun:test';

import type { Change, Storage } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import {
  api,
  balanceOf,
  change,
  credits,
  key,
  openCredits,
  openStrict,
  spendOf,
  stateOf,
  write,
  entry,
  identity,
} from '../samples.ts';

const insertApi = (id: string): RecordWrite => ({ kind: 'insertApi', api: api(id) });

describePort('changes', (setup) => {
  test('accounts are opened, set, added to, given a rule and closed, and each answer is what is stored', async () => {
    const { storage, clock } = setup();
    const nowMs = clock.nowMs();
    const [account = 0] = await storage.ledger.reserveAccounts(1);
    const touch = async (fields: Partial<Change['accounts'][number]>) => {
      const outcome = await storage.ledger.apply(change({ account, expect: 1, refill: null, revision: 1, ...fields }));
      const [state] = outcome.status === 'done' ? outcome.accounts : [];
      expect(await stateOf(storage, account)).toEqual(state ?? undefined);
      return outcome;
    };
    const numbers = { value: 7, mark: 0, dueAtMs: 0, revision: 1, base: 7, segmentMs: nowMs };
    const state = { kind: 'credits' as const, ...numbers };
    expect(await touch({ open: 'credits', expect: 0, set: 7 })).toEqual({ status: 'done', accounts: [state], nowMs });
    expect(await touch({ add: 5 })).toMatchObject({ accounts: [{ value: 12 }] });
    expect(await touch({ add: -100 })).toMatchObject({ accounts: [{ value: 0 }] });
    expect(await touch({ set: Number.MAX_SAFE_INTEGER })).toMatchObject({ status: 'done' });
    expect(await touch({ add: 10 })).toMatchObject({ accounts: [{ value: Number.MAX_SAFE_INTEGER }] });
    expect(await touch({ set: 3, add: 4, mark: 9, dueAtMs: 10, revision: 2 })).toMatchObject({
      accounts: [{ kind: 'credits', value: 7, mark: 9, dueAtMs: 10, revision: 2 }],
    });
    expect(await touch({ expect: 2, close: true })).toEqual({ status: 'done', accounts: [null], nowMs });
    expect(await stateOf(storage, account)).toBeUndefined();
  });

  test('what exists cannot be opened, what does not cannot be changed, another revision is refused', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 5);
    const [missing = 0] = await storage.ledger.reserveAccounts(1);
    const stale = { status: 'stale', nowMs: clock.nowMs() } as const;
    for (const wrong of [
      { account, expect: 1, open: 'credits' as const, refill: null, revision: 2 },
      { account, expect: 0, refill: null, set: 9, revision: 2 },
      { account, expect: 2, close: true as const, refill: null, revision: 2 },
      { account: missing, expect: 0, refill: null, set: 9, revision: 2 },
      { account: missing, expect: 0, close: true as const, refill: null, revision: 2 },
    ]) {
      expect(await storage.ledger.apply(change(wrong))).toEqual(stale);
    }
    expect(await stateOf(storage, account)).toMatchObject({ value: 5, revision: 1 });
    expect(await stateOf(storage, missing)).toBeUndefined();
  });

  test('several accounts of a change are changed together or not at all', async () => {
    const { storage } = setup();
    const [one, two] = [await openCredits(storage, 5), await openCredits(storage, 5)];
    const set = (account: number, expected: number) => ({
      account,
      expect: expected,
      refill: null,
      set: 9,
      revision: 2,
    });
    expect((await storage.ledger.apply(change(set(one, 1), set(two, 7)))).status).toBe('stale');
    expect([await balanceOf(storage, one), await balanceOf(storage, two)]).toEqual([5, 5]);
    expect((await storage.ledger.apply(change(set(one, 1), set(two, 1)))).status).toBe('done');
    expect([await balanceOf(storage, one), await balanceOf(storage, two)]).toEqual([9, 9]);
  });

  test('a refused record leaves the counters of its change as they were', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 5);
    const [fresh = 0] = await storage.ledger.reserveAccounts(1);
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const outcome = await storage.ledger.apply({
      writes: [insertApi('api_1'), { kind: 'updateKey', key: key('key_1', { revision: 3 }), expect: 2 }],
      accounts: [
        { account, expect: 1, refill: null, set: 99, revision: 2 },
        { account: fresh, expect: 0, open: 'credits', refill: null, set: 1, revision: 1 },
      ],
    });
    expect(outcome).toEqual({ status: 'stale', nowMs: clock.nowMs() });
    expect(await stateOf(storage, account)).toMatchObject({ value: 5, revision: 1 });
    expect(await stateOf(storage, fresh)).toBeUndefined();
    expect(await storage.records.findApi('api_1')).toBeNull();
    await setup().reopen();
    expect(await stateOf(setup().storage, account)).toMatchObject({ value: 5, revision: 1 });
    expect(await stateOf(setup().storage, fresh)).toBeUndefined();
  });

  test('a refused counter leaves the records of its change as they were', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 5);
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const outcome = await storage.ledger.apply({
      writes: [insertApi('api_1'), { kind: 'updateKey', key: key('key_1', { revision: 2 }), expect: 1 }],
      accounts: [{ account, expect: 9, refill: null, revision: 10 }],
    });
    expect(outcome.status).toBe('stale');
    expect(await storage.records.findApi('api_1')).toBeNull();
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { revision: 1 } });
  });

  test('in a batch with poisoned items only these are stale, wherever they stand; all others are done', async () => {
    for (const poisoned of [[0], [6], [3, 4], [1, 5, 6]]) {
      const { storage } = setup();
      const tag = poisoned.join('-');
      const account = await openCredits(storage, 100);
      await write(storage, insertApi(`taken ${tag}`));
      const outcomes = await Promise.all(
        Array.from({ length: 7 }, (_, i) => [
          storage.ledger.apply({
            writes: [insertApi(poisoned.includes(i) ? `taken ${tag}` : `api ${tag} ${i}`)],
            accounts: [{ account, expect: 1, refill: null, add: 10 ** i, revision: 1 }],
          }),
          storage.ledger.spend(spendOf(credits(account, 1))),
        ]).flat(),
      );
      const expected = Array.from({ length: 7 }, (_, i) => [poisoned.includes(i) ? 'stale' : 'done', 'taken']).flat();
      expect(outcomes.map(({ status }) => status)).toEqual(expected as never);
      const added = [0, 1, 2, 3, 4, 5, 6].filter((i) => !poisoned.includes(i)).map((i) => 10 ** i);
      expect(await balanceOf(storage, account)).toBe(100 - 7 + added.reduce((sum, each) => sum + each, 0));
      for (let i = 0; i < 7; i++) {
        expect((await storage.records.findApi(`api ${tag} ${i}`)) === null).toBe(poisoned.includes(i));
      }
    }
  });

  test('of two changes in one batch that claim the same name the first is done and the second is stale', async () => {
    const { storage } = setup();
    const [one, two] = [await openCredits(storage, 0), await openCredits(storage, 0)];
    const claim = (account: number) =>
      storage.ledger.apply({
        writes: [insertApi('api_1')],
        accounts: [{ account, expect: 1, refill: null, set: 1, revision: 1 }],
      });
    const outcomes = await Promise.all([claim(one), claim(two)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['done', 'stale']);
    expect([await balanceOf(storage, one), await balanceOf(storage, two)]).toEqual([1, 0]);
  });

  test('numbers of new accounts are never given twice, in parallel and after a reopen or an unclean end', async () => {
    const { storage } = setup();
    const given = (
      await Promise.all([1, 3, 2, 1500, 1, 40].map((count) => storage.ledger.reserveAccounts(count)))
    ).flat();
    expect(given.length).toBe(1547);
    const copy = await setup().afterCrash();
    await setup().reopen();
    const later = await setup().storage.ledger.reserveAccounts(2000);
    expect(new Set([...given, ...later]).size).toBe(3547);
    const afterCrash = await copy.ledger.reserveAccounts(2000);
    expect(new Set([...given, ...afterCrash]).size).toBe(3547);
    expect(await setup().storage.ledger.read([])).toEqual([]);
  });

  test('an account that is closed and opened again as the other kind is of that kind, also after a reopen', async () => {
    const account = await openStrict(setup().storage);
    await setup().reopen();
    const { ledger } = setup().storage;
    await ledger.apply(change({ account, expect: 1, close: true, refill: null, revision: 1 }));
    await ledger.apply(change({ account, expect: 0, open: 'credits', refill: null, set: 5, revision: 1 }));
    expect(await stateOf(setup().storage, account)).toMatchObject({ kind: 'credits', value: 5 });
    await setup().reopen();
    expect(await stateOf(setup().storage, account)).toMatchObject({ kind: 'credits', value: 5 });
  });
});

describePort('a closed account', (setup) => {
  test('stays closed when the tables were brought up to the log: it is not read, and a spend on it is stale', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 5);
    expect((await storage.ledger.spend(spendOf(credits(account, 1)))).status).toBe('taken');
    await storage.ledger.listDue(0, 1, null);
    expect((await stateOf(storage, account))?.value).toBe(4);
    await storage.ledger.apply(change({ account, expect: 1, close: true, refill: null, revision: 1 }));
    await storage.ledger.listDue(0, 1, null);
    expect(await stateOf(storage, account)).toBeUndefined();
    expect(storage.ledger.peek(account)).toBeUndefined();
    expect((await storage.ledger.spend(spendOf(credits(account, 1)))).status).toBe('stale');
  });
});

const NO_ONE = { limit: 100, before: null, actor: null, action: null, target: null, fromMs: null, untilMs: null };

/** A change of records with an entry, which names what it is about. */
const of = (target: string, ...writes: RecordWrite[]): Change => ({
  writes,
  accounts: [],
  entries: [entry('key.change', { target })],
});

const insertKey = (id: string, fields: Partial<ReturnType<typeof key>> = {}): RecordWrite => ({
  kind: 'insertKey',
  key: key(id, fields),
  words: [id],
});
const updateKey = (id: string, expected: number, name: string): RecordWrite => ({
  kind: 'updateKey',
  key: key(id, { name, revision: 2 }),
  expect: expected,
});
const join = (identityId: string, expected: number, maxKeys: number | null = null): RecordWrite => ({
  kind: 'joinIdentity',
  identityId,
  expect: expected,
  maxKeys,
});

/** The changes that are asked for at the same time, and what becomes of each alone. */
async function mixed(storage: Storage): Promise<readonly (readonly ['done' | 'stale', Change])[]> {
  const [account, other] = [await openCredits(storage, 5), await openCredits(storage, 5)];
  await write(
    storage,
    { kind: 'insertApi', api: api('api_1') },
    { kind: 'insertIdentity', identity: identity('id_1', 'user-1', { revision: 1 }) },
    { kind: 'insertIdentity', identity: identity('id_2', 'user-2', { revision: 1, maxKeys: 1 }) },
    ...['a', 'b', 'c', 'd'].map((id) => insertKey(id)),
  );
  const add = (number: number, expected: number) => ({
    account: number,
    expect: expected,
    refill: null,
    add: 1,
    revision: 1,
  });
  return [
    ['done', of('new-1', insertKey('new-1'))],
    ['stale', of('taken', insertKey('new-2', { secretDigest: 'digest of a' }))],
    ['done', of('a', updateKey('a', 1, 'renamed'))],
    ['stale', of('b', updateKey('b', 7, 'never'))],
    ['done', { ...of('account'), accounts: [add(account, 1)] }],
    ['stale', { ...of('c', updateKey('c', 1, 'never')), accounts: [add(other, 9)] }],
    ['done', of('new-3', insertKey('new-3', { identityId: 'id_1' }), join('id_1', 1))],
    ['stale', of('new-4', insertKey('new-4', { identityId: 'id_1' }), join('id_1', 5))],
    ['done', of('new-5', insertKey('new-5', { identityId: 'id_2' }), join('id_2', 1, 1))],
    ['stale', of('new-6', insertKey('new-6', { identityId: 'id_2' }), join('id_2', 1, 1))],
    ['done', of('d', updateKey('d', 1, 'renamed'))],
    ['done', of('new-7', insertKey('new-7'))],
  ];
}

describePort('changes at the same time', (setup) => {
  test('each has the outcome that it has alone, in the order in which they were asked for', async () => {
    const { storage } = setup();
    const asked = await mixed(storage);
    const outcomes = await Promise.all(asked.map(([, asking]) => storage.ledger.apply(asking)));
    expect(outcomes.map(({ status }) => status)).toEqual(asked.map(([status]) => status));
    const done = asked.flatMap(([status, { entries = [] }]) => (status === 'done' ? entries : []));
    const { entries } = await storage.records.listEntries(NO_ONE);
    expect(entries.map(({ target }) => target).toReversed()).toEqual(done.map(({ target }) => target));
    const nameOf = async (id: string) => {
      const found = await storage.records.findKey(id);
      return found === null || 'poisoned' in found ? undefined : found.key.name;
    };
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(nameOf))).toEqual(['renamed', null, null, 'renamed']);
    const made = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((i) => nameOf(`new-${i}`)));
    expect(made).toEqual([null, undefined, null, undefined, null, undefined, null]);
    const [account = 0] = asked.flatMap(([, { accounts }]) => accounts.map((each) => each.account));
    expect(await balanceOf(storage, account)).toBe(6);
  });

  test('more of them than share a commit are all done', async () => {
    const { storage } = setup();
    const ids = Array.from({ length: 200 }, (_, i) => `key ${i}`);
    const outcomes = await Promise.all(ids.map((id) => storage.ledger.apply(of(id, insertKey(id)))));
    expect(outcomes.every(({ status }) => status === 'done')).toBe(true);
    expect(await storage.records.countKeys(1000)).toBe(200);
  });
});
