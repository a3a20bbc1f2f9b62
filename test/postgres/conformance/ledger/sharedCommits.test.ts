import { expect, test } from 'bun:test';

import type { Change, Storage } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { api, balanceOf, entry, identity, key, openCredits, write } from '../samples.ts';

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
    const outcomes = await Promise.all(asked.map(([, change]) => storage.ledger.apply(change)));
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
