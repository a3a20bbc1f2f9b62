import { expect, test } from 'bun:test';

import type { IdentityRecord } from '../../../../src/model/identities.ts';
import { ApplyChange, SendChange, EventMaker } from '../../../../src/engine/admin/change/applyChange.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { EVERY_KEY, found, identity, key, openCredits, write } from '../samples.ts';

const FULL: Partial<IdentityRecord> = {
  name: 'Acme Inc.',
  enabled: false,
  maxKeys: 3,
  meta: '{"plan":"pro","list":[1,null]}',
  credits: {
    account: 5,
    refill: {
      interval: 'monthly',
      refillDay: 31,
      refillWeekday: null,
      timezone: 'Europe/Berlin',
      amount: 7,
      mode: 'add',
      max: 9,
      sinceMs: 3,
    },
  },
  limits: [
    { name: 'local', limit: 3, durationMs: 1000, async: true, account: null },
    { name: 'strict', limit: 4, durationMs: 2000, async: false, account: 6, autoApply: false },
  ],
  updatedAtMs: 8,
  revision: 12,
};

/** An identity with a counter that is next refilled at `dueAtMs`. */
async function openDue(storage: Storage, id: string, dueAtMs: number): Promise<number> {
  const account = await openCredits(storage, 0, { mark: 1, dueAtMs });
  const owner = identity(id, `external ${id}`, { credits: { account, refill: null } });
  await write(storage, { kind: 'insertIdentity', identity: owner });
  return account;
}

describePort('identities', (setup) => {
  test('the neighbours of a name are those right before and after it, by code point', async () => {
    const names = ['a', 'acme', 'acme-1', 'acmz', 'B', 'zeta', 'é'];
    const writes = names.map((name, i) => ({ kind: 'insertIdentity' as const, identity: identity(`id_${i}`, name) }));
    await write(setup().storage, ...writes);
    const near = async (name: string, count: number): Promise<string[]> => {
      const both = await setup().storage.records.listNeighbours(name, count);
      return both.map(({ externalId }) => externalId).toSorted();
    };
    expect(await near('acme-0', 1)).toEqual(['acme', 'acme-1']);
    expect(await near('acme', 2)).toEqual(['B', 'a', 'acme-1', 'acmz']);
    expect(await near('zz', 9)).toEqual(names.toSorted());
    expect(await near('A', 1)).toEqual(['B']);
  });

  test('an identity is found by both of its ids, and with its keys, exactly as it was written', async () => {
    const owner = identity('id_1', 'user-7', FULL);
    const written = key('key_1', { identityId: 'id_1' });
    await write(setup().storage, { kind: 'insertIdentity', identity: owner }, { kind: 'insertKey', key: written });
    await setup().reopen();
    const { records } = setup().storage;
    expect(await records.findIdentity('user-7')).toEqual(owner);
    expect(await records.findIdentityById('id_1')).toEqual(owner);
    expect(await records.findIdentity('id_1')).toBeNull();
    expect(await records.findIdentityById('user-7')).toBeNull();
    const whole = found(written, { identity: owner });
    expect(await records.findKey('key_1')).toEqual(whole);
    expect(await records.findKeysByDigest(['digest of key_1'])).toEqual([whole]);
    expect((await records.listKeys(EVERY_KEY)).items).toEqual([whole]);
  });

  test('an update is seen by the next read; one from another revision is stale and changes nothing', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7', FULL) },
      { kind: 'insertKey', key: key('key_1', { identityId: 'id_1' }) },
    );
    const plain = identity('id_1', 'user-7', { revision: 13 });
    const update = (expect_: number) => write(storage, { kind: 'updateIdentity', identity: plain, expect: expect_ });
    for (const wrong of [11, 13]) expect((await update(wrong)).status).toBe('stale');
    expect(await storage.records.findIdentityById('id_1')).toEqual(identity('id_1', 'user-7', FULL));
    expect((await update(12)).status).toBe('done');
    expect(await storage.records.findIdentityById('id_1')).toEqual(plain);
    expect(await storage.records.findKey('key_1')).toMatchObject({ identity: plain });
  });

  test('one that has keys is not removed; of one that was removed the external id is free, deleted keys stay', async () => {
    const { storage } = setup();
    const joined = key('key_1', { identityId: 'id_1' });
    await write(
      storage,
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7', { revision: 2 }) },
      { kind: 'insertKey', key: joined },
    );
    const remove = (expect_: number) => write(storage, { kind: 'removeIdentity', identityId: 'id_1', expect: expect_ });
    expect((await remove(2)).status).toBe('stale');
    expect(await storage.records.countKeysOfIdentities(['id_1', 'id_2'])).toEqual([1, 0]);
    expect(await storage.records.listKeysOfIdentity('id_1', { limit: 5, after: null })).toMatchObject([
      { key: joined },
    ]);
    expect(await storage.records.listKeysOfIdentity('id_1', { limit: 5, after: 'key_1' })).toEqual([]);
    const gone = key('key_1', { identityId: 'id_1', deletedAtMs: 5, revision: joined.revision + 1 });
    await write(storage, { kind: 'updateKey', key: gone, expect: joined.revision });
    expect(await storage.records.countKeysOfIdentities(['id_1'])).toEqual([0]);
    expect((await remove(1)).status).toBe('stale');
    expect((await remove(2)).status).toBe('done');
    expect((await remove(2)).status).toBe('stale');
    expect(await storage.records.findKey('key_1')).toBeNull();
    expect(await storage.records.findIdentity('user-7')).toBeNull();
    const again = identity('id_2', 'user-7');
    expect((await write(storage, { kind: 'insertIdentity', identity: again })).status).toBe('done');
    expect((await storage.records.listKeys({ ...EVERY_KEY, externalId: 'user-7' })).total).toBe(0);
  });

  test('keys that join at the same time are never more than the identity may have', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertIdentity', identity: identity('id_1', 'user-7', { maxKeys: 4 }) });
    const join = (i: number) =>
      write(
        storage,
        { kind: 'insertKey', key: key(`key_${i}`, { identityId: 'id_1' }) },
        { kind: 'joinIdentity', identityId: 'id_1', expect: 0, maxKeys: 4 },
      );
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_, i) => join(i)));
    expect(outcomes.filter(({ status }) => status === 'done').length).toBe(4);
    expect(await storage.records.countKeysOfIdentities(['id_1'])).toEqual([4]);
  });

  test('a key joins an identity, or the identity is removed, never both', async () => {
    const { storage } = setup();
    const ids = Array.from({ length: 20 }, (_, i) => i);
    await write(
      storage,
      ...ids.map((i) => ({ kind: 'insertIdentity' as const, identity: identity(`id_${i}`, `user-${i}`) })),
    );
    const outcomes = await Promise.all(
      ids.map(async (i) => {
        const identityId = `id_${i}`;
        const joining = () =>
          write(
            storage,
            { kind: 'insertKey', key: key(`key_${i}`, { identityId }) },
            { kind: 'joinIdentity', identityId, expect: 0, maxKeys: null },
          );
        const removing = () => write(storage, { kind: 'removeIdentity', identityId, expect: 0 });
        // Each comes first in half of the cases.
        const both = i % 2 === 0 ? [joining(), removing()] : [removing(), joining()];
        return (await Promise.all(both)).map(({ status }) => status).toSorted();
      }),
    );
    expect(outcomes).toEqual(ids.map(() => ['done', 'stale']));
  });

  test('many keys join two identities at the same time, in both orders, and none is refused', async () => {
    const { storage } = setup();
    const owners = ['id_1', 'id_2'];
    const twelve = { maxKeys: 12 };
    await write(
      storage,
      ...owners.map((id) => ({ kind: 'insertIdentity' as const, identity: identity(id, `of ${id}`, twelve) })),
    );
    const { system } = engineOn(storage);
    const sender = new SendChange({
      ledger: storage.ledger,
      events: new EventMaker(system),
      sha256: system.sha256,
      memory: { forget: () => {}, refills: { learn: () => {} } },
    });
    const changes = new ApplyChange(sender, { settle: async () => false });
    const joining = Array.from({ length: 12 }, (_, i) => {
      const order = i % 2 === 0 ? owners : owners.toReversed();
      const writes = order.flatMap((identityId) => [
        { kind: 'insertKey' as const, key: key(`key_${i}_${identityId}`, { identityId }) },
        { kind: 'joinIdentity' as const, identityId, expect: 0, maxKeys: i % 3 === 0 ? 12 : null },
      ]);
      return changes.tryOnce({ writes, accounts: [] });
    });
    expect(await Promise.all(joining)).toEqual(joining.map(() => true));
    expect(await storage.records.countKeysOfIdentities(owners)).toEqual([12, 12]);
  });

  test('a key joins only the revision of the identity that it was drafted for', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertIdentity', identity: identity('id_1', 'user-7', { revision: 3 }) });
    const join = (expect_: number) =>
      write(
        storage,
        { kind: 'insertKey', key: key('key_1', { identityId: 'id_1' }) },
        { kind: 'joinIdentity', identityId: 'id_1', expect: expect_, maxKeys: null },
      );
    expect([(await join(2)).status, (await join(3)).status]).toEqual(['stale', 'done']);
  });

  test('pages follow each other by id with nothing twice and nothing left out, and the total on each', async () => {
    const { storage } = setup();
    const ids = ['id_3', 'id_1', 'id_5', 'id_2', 'id_4'];
    await write(
      storage,
      ...ids.map((id) => ({ kind: 'insertIdentity' as const, identity: identity(id, `of ${id}`, FULL) })),
    );
    for (const limit of [1, 2, 3, 5, 6]) {
      const seen: IdentityRecord[] = [];
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<Storage['records']['listIdentities']>> = await storage.records.listIdentities({
          limit,
          after,
          search: null,
        });
        expect([page.total, page.items.length <= limit]).toEqual([5, true]);
        seen.push(...page.items);
        after = page.cursor;
      } while (after !== null);
      expect(seen).toEqual(ids.toSorted().map((id) => identity(id, `of ${id}`, FULL)));
    }
  });

  test('an identity that cannot be read makes its keys fail alone, by their names', async () => {
    const { storage } = setup();
    await write(
      storage,
      { kind: 'insertIdentity', identity: identity('id_1', 'user-7', { meta: '[]' }) },
      { kind: 'insertKey', key: key('key_1', { identityId: 'id_1' }) },
      { kind: 'insertKey', key: key('key_2') },
    );
    expect(await storage.records.findKeysByDigest(['digest of key_1', 'digest of key_2'])).toMatchObject([
      { poisoned: 'key_1' },
      found(key('key_2')),
    ]);
  });

  test('refills of identities come due among those of keys, by the id of their owner', async () => {
    const { storage } = setup();
    const ofIdentity = await openDue(storage, 'id_1', 200);
    await openDue(storage, 'id_2', 400);
    const ofKey = await openCredits(storage, 0, { mark: 1, dueAtMs: 100 });
    const counted = key('key_1', { credits: { account: ofKey, refill: null } });
    await write(storage, { kind: 'insertKey', key: counted });
    await openCredits(storage, 0, { mark: 1, dueAtMs: 150 });
    const due = [
      { account: ofKey, dueAtMs: 100, owner: 'key_1' },
      { account: ofIdentity, dueAtMs: 200, owner: 'id_1' },
    ];
    expect(await storage.ledger.listDue(300, 10, null)).toEqual(due);
    expect(await storage.ledger.listDue(300, 10, due[0] ?? null)).toEqual(due.slice(1));
    await setup().reopen();
    expect(await setup().storage.ledger.listDue(300, 10, null)).toEqual(due);
  });
});
