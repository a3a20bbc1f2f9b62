import { expect, test } from 'bun:test';

import { PRUNE_GRACE_MS, type Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { found, key, removal, rootKey, write } from '../samples.ts';

const UNTIL_MS = 50_000;

/** key_1 after its secret was replaced: the old one is valid until UNTIL_MS. */
const rotated = key('key_1', { secretDigest: 'new digest', revision: 2 });

async function rotate(storage: Storage): Promise<void> {
  await write(storage, { kind: 'insertKey', key: key('key_1') });
  const done = await write(
    storage,
    { kind: 'updateKey', key: rotated, expect: 1, formerDigests: ['digest of key_1'] },
    { kind: 'insertSecret', secret: { digest: 'digest of key_1', owner: 'key_1', untilMs: UNTIL_MS } },
  );
  expect(done.status).toBe('done');
}

const formerOf = async (storage: Storage, owner: string) =>
  (await storage.records.listFormerSecrets([owner])).map(({ digest }) => digest);

describePort('former secrets', (setup) => {
  test('a key is found by its present secret and by a replaced one, which says until when it is valid', async () => {
    await rotate(setup().storage);
    for (const reopens of [false, true]) {
      if (reopens) await setup().reopen();
      const { records } = setup().storage;
      const [former, present] = [found(rotated, { secretUntilMs: UNTIL_MS }), found(rotated)];
      expect(await records.findKeysByDigest(['digest of key_1'])).toEqual([former]);
      expect(await records.findKeysByDigest(['new digest', 'nothing', 'digest of key_1', 'new digest'])).toEqual([
        present,
        null,
        former,
        present,
      ]);
      expect(await records.findKey('key_1')).toEqual(present);
    }
  });

  test('the end of a former secret is for the caller to hold: it is told also when it has passed', async () => {
    await rotate(setup().storage);
    setup().clock.set(UNTIL_MS + 1);
    const [former] = await setup().storage.records.findKeysByDigest(['digest of key_1']);
    expect(former).toMatchObject({ secretUntilMs: UNTIL_MS });
  });

  test('a key can have several; they are listed by their end', async () => {
    const { storage } = setup();
    await rotate(storage);
    for (const [digest, untilMs] of [
      ['later', 70_000],
      ['sooner', 20_000],
    ] as const) {
      await write(storage, { kind: 'insertSecret', secret: { digest, owner: 'key_1', untilMs } });
    }
    expect(await storage.records.listFormerSecrets(['key_1'])).toEqual([
      { digest: 'sooner', owner: 'key_1', untilMs: 20_000 },
      { digest: 'digest of key_1', owner: 'key_1', untilMs: UNTIL_MS },
      { digest: 'later', owner: 'key_1', untilMs: 70_000 },
    ]);
    expect(await storage.records.listFormerSecrets(['key_2'])).toEqual([]);
    expect((await storage.records.findKeysByDigest(['sooner', 'later'])).map((each) => each !== null)).toEqual([
      true,
      true,
    ]);
  });

  test('digests are taken by keys, live and deleted, by root keys, also revoked ones, and by former secrets; others are free', async () => {
    const { storage } = setup();
    await rotate(storage);
    await write(storage, { kind: 'insertKey', key: key('key_2', { deletedAtMs: 5 }) });
    await write(storage, { kind: 'insertRootKey', rootKey: rootKey('rk_1') });
    await write(storage, { kind: 'insertRootKey', rootKey: rootKey('rk_2', { revokedAtMs: 5 }) });
    const taken = ['digest of key_1', 'new digest', 'digest of key_2', 'digest of rk_1', 'digest of rk_2'];
    const asked = [...taken, 'free', ...Array.from({ length: 1200 }, (_, i) => `free ${i}`)];
    expect((await storage.records.findTakenDigests(asked)).toSorted()).toEqual(taken.toSorted());
    expect(await storage.records.findTakenDigests([])).toEqual([]);
  });

  test('the same former secret cannot be noted twice: the second is stale and changes nothing', async () => {
    const { storage } = setup();
    await rotate(storage);
    const again = { digest: 'digest of key_1', owner: 'key_9', untilMs: 1 };
    expect((await write(storage, { kind: 'insertSecret', secret: again })).status).toBe('stale');
    expect(await formerOf(storage, 'key_1')).toEqual(['digest of key_1']);
    expect(await formerOf(storage, 'key_9')).toEqual([]);
  });

  test('a softly deleted key is not found by a former secret, and is again when it comes back', async () => {
    const { storage } = setup();
    await rotate(storage);
    const asked = ['digest of key_1'];
    await write(storage, { kind: 'updateKey', key: { ...rotated, deletedAtMs: 5, revision: 3 }, expect: 2 });
    expect(await storage.records.findKeysByDigest(asked)).toEqual([null]);
    expect(await formerOf(storage, 'key_1')).toEqual(asked);
    await write(storage, { kind: 'updateKey', key: { ...rotated, revision: 4 }, expect: 3 });
    expect(await storage.records.findKeysByDigest(asked)).toMatchObject([{ secretUntilMs: UNTIL_MS }]);
  });

  test('a removed key takes its former secrets with it, and no others', async () => {
    const { storage } = setup();
    await rotate(storage);
    await write(storage, { kind: 'insertSecret', secret: { digest: 'other', owner: 'key_2', untilMs: UNTIL_MS } });
    await write(storage, removal('key_1', 2));
    expect(await storage.records.findKeysByDigest(['digest of key_1', 'new digest'])).toEqual([null, null]);
    expect(await storage.records.findTakenDigests(['digest of key_1', 'new digest', 'other'])).toEqual(['other']);
    expect(await formerOf(storage, 'key_1')).toEqual([]);
    expect(await formerOf(storage, 'key_2')).toEqual(['other']);
  });

  test('pruning removes a former secret once its end lies PRUNE_GRACE_MS back, and not before', async () => {
    const { storage, clock } = setup();
    const endMs = clock.nowMs() + UNTIL_MS;
    await write(storage, { kind: 'insertSecret', secret: { digest: 'old', owner: 'key_1', untilMs: endMs } });
    clock.set(endMs + PRUNE_GRACE_MS - 1);
    await storage.ledger.prune();
    expect(await formerOf(storage, 'key_1')).toEqual(['old']);
    clock.advance(1);
    await storage.ledger.prune();
    expect(await formerOf(storage, 'key_1')).toEqual([]);
    expect(await storage.records.findTakenDigests(['old'])).toEqual([]);
  });
});

describePort('rotated root keys', (setup) => {
  const before = rootKey('rk_1', { rights: ['api.*.read_key'] });
  const after = { ...before, secretDigest: 'new digest', start: 'root_5678' };
  const rotation = {
    kind: 'rotateRootKey',
    rootKeyId: 'rk_1',
    secretDigest: 'new digest',
    start: 'root_5678',
  } as const;

  test('a root key is found by its replaced secret strictly before its end, and by the new one always', async () => {
    await write(setup().storage, { kind: 'insertRootKey', rootKey: before });
    await write(
      setup().storage,
      { ...rotation, expect: 'digest of rk_1' },
      { kind: 'insertSecret', secret: { digest: 'digest of rk_1', owner: 'rk_1', untilMs: UNTIL_MS } },
    );
    await setup().reopen();
    const { records } = setup().storage;
    expect(await records.findRootKeyByDigest('digest of rk_1', UNTIL_MS - 1)).toEqual({
      rootKey: after,
      secretUntilMs: UNTIL_MS,
    });
    expect(await records.findRootKeyByDigest('digest of rk_1', UNTIL_MS)).toBeNull();
    expect(await records.findRootKeyByDigest('new digest', UNTIL_MS)).toEqual({ rootKey: after, secretUntilMs: null });
    expect(await records.listRootKeys()).toEqual([after]);
    expect(await records.findKeysByDigest(['digest of rk_1', 'new digest'])).toEqual([null, null]);
  });

  test('a rotation from another secret than the present one is stale and changes nothing', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertRootKey', rootKey: before });
    expect((await write(storage, { ...rotation, expect: 'another' })).status).toBe('stale');
    expect(await storage.records.listRootKeys()).toEqual([before]);
    expect((await write(storage, { ...rotation, expect: 'digest of rk_1' })).status).toBe('done');
    expect((await write(storage, { ...rotation, expect: 'digest of rk_1' })).status).toBe('stale');
    expect(await storage.records.findRootKeyByDigest('digest of rk_1', 0)).toBeNull();
  });

  test('revoking a root key shows under its replaced secret, too', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertRootKey', rootKey: before });
    await write(
      storage,
      { ...rotation, expect: 'digest of rk_1' },
      { kind: 'insertSecret', secret: { digest: 'digest of rk_1', owner: 'rk_1', untilMs: UNTIL_MS } },
    );
    await write(storage, { kind: 'revokeRootKey', rootKeyId: 'rk_1', revokedAtMs: 9 });
    expect(await storage.records.findRootKeyByDigest('digest of rk_1', 0)).toEqual({
      rootKey: { ...after, revokedAtMs: 9 },
      secretUntilMs: UNTIL_MS,
    });
  });
});
