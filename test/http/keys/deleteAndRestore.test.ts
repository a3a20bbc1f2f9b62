import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

const DAY_MS = 86_400_000;

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

const codeOf = async (key: string) => (await service.verify(key)).code as string;

const apisWithKeysLeftBehind = async (): Promise<string[]> =>
  (await service.storage.records.listApisWithKeysLeftBehind()).map(({ id }) => id);

describe('restoreKey', () => {
  test('a softly deleted key comes back as it was: secret, fields, counters and windows', async () => {
    const made = await service.createKey({
      name: 'back again',
      externalId: 'owner',
      remaining: 10,
      ratelimit: { async: false, limit: 5, duration: 3_600_000 },
    });
    await service.verify(made.key);
    const before = await service.ok('/v1/keys.getKey', { keyId: made.keyId });
    await service.ok('/v1/keys.deleteKey', { keyId: made.keyId });
    expect(await codeOf(made.key)).toBe('NOT_FOUND');
    await service.ok('/v1/keys.restoreKey', { keyId: made.keyId });
    const after = await service.ok('/v1/keys.getKey', { keyId: made.keyId });
    expect({ ...after, updatedAt: 0 }).toEqual({ ...before, updatedAt: 0 });
    expect(await service.verify(made.key)).toMatchObject({ remaining: 8, ratelimit: { remaining: 3 } });
    expect((await service.ok('/v1/apis.listKeys', { apiId: made.apiId })).total).toBe(1);
  });

  test('refills that came due while it was deleted are applied, and the sweep finds it again', async () => {
    const { key, keyId } = await service.createKey({ remaining: 10, refill: { interval: 'daily', amount: 10 } });
    await service.verify(key, { remaining: { cost: 7 } });
    await service.ok('/v1/keys.deleteKey', { keyId });
    service.clock.advance(2.5 * DAY_MS);
    const due = await service.storage.ledger.listDue(service.clock.nowMs(), 1_000, null);
    expect(due.map(({ owner }) => owner)).not.toContain(keyId);
    expect(await service.engine.dueCredits.sweep()).toBe(0);
    await service.ok('/v1/keys.restoreKey', { keyId });
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(10);
    // Before a verification, which would say again when the refill is due.
    service.clock.advance(DAY_MS);
    expect(await service.engine.dueCredits.sweep()).toBe(1);
    await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
  });

  test('one that is not deleted, removed for good or never was: 412, 404 and 404', async () => {
    const live = await service.createKey();
    const gone = await service.createKey();
    await service.ok('/v1/keys.deleteKey', { keyId: gone.keyId, permanent: true });
    const ask = async (keyId: string) => {
      const { status, body } = await service.call('/v1/keys.restoreKey', { keyId });
      return [status, body.error.code];
    };
    expect(await ask(live.keyId)).toEqual([412, 'PRECONDITION_FAILED']);
    expect(await ask(gone.keyId)).toEqual([404, 'NOT_FOUND']);
    expect(await ask('key_1Jm8ZtYh4mRr6GjK8uTx3S')).toEqual([404, 'NOT_FOUND']);
  });

  test('a softly deleted key can be removed for good, and not be deleted softly again', async () => {
    const { keyId } = await service.createKey({ remaining: 3 });
    await service.ok('/v1/keys.deleteKey', { keyId });
    expect((await service.call('/v1/keys.deleteKey', { keyId })).status).toBe(404);
    await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
    expect((await service.call('/v1/keys.restoreKey', { keyId })).status).toBe(404);
  });
});

describe('apis.deleteKeys', () => {
  test('deletes all keys of the api and no others, and tells how many', async () => {
    const apiId = await service.createApi();
    const other = await service.createKey({ remaining: 5 });
    const keys: { keyId: string; key: string }[] = [];
    for (let i = 0; i < 203; i++)
      keys.push(await service.createKey({ apiId, ...(i % 2 === 0 ? { remaining: 5 } : {}) }));
    await service.ok('/v1/keys.deleteKey', { keyId: keys[0]?.keyId });
    const verify = () => Promise.all(keys.map(({ key }) => codeOf(key)));
    expect((await verify()).filter((code) => code === 'VALID')).toHaveLength(202);
    expect(await service.ok('/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 202 });
    expect(new Set(await verify())).toEqual(new Set(['NOT_FOUND']));
    expect(await service.ok('/v1/apis.listKeys', { apiId })).toEqual({ keys: [], total: 0 });
    expect(await codeOf(other.key)).toBe('VALID');
    expect(await service.ok('/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 0 });
  });

  test('ends when no key is left, also when another node has written down the same ones first', async () => {
    const apiId = await service.createApi();
    for (let i = 0; i < 201; i++) await service.createKey({ apiId });
    const { records, ledger } = service.storage;
    const list = records.listKeysLeftBehind.bind(records);
    let others = 0;
    records.listKeysLeftBehind = async (id, limit) => {
      const left = await list(id, limit);
      if (others > 0) return left;
      const keys = left.flatMap((each) =>
        'poisoned' in each ? [] : { id: each.key.id, expect: each.key.revision, digests: [], words: [] },
      );
      others = keys.length;
      await ledger.apply({ writes: [{ kind: 'retireKeys', keys, deletedAtMs: 1 }], accounts: [] });
      return left;
    };
    expect(await service.ok('/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 201 - others });
    records.listKeysLeftBehind = list;
    expect([others, await list(apiId, 1)]).toEqual([200, []]);
  });

  test('each can be restored, unless the deletion was permanent', async () => {
    const { apiId, key, keyId } = await service.createKey({ remaining: 5 });
    await service.ok('/v1/apis.deleteKeys', { apiId, permanent: false });
    await service.ok('/v1/keys.restoreKey', { keyId });
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4 });
    await service.ok('/v1/apis.deleteKeys', { apiId, permanent: true });
    expect((await service.call('/v1/keys.restoreKey', { keyId })).status).toBe(404);
    expect(await codeOf(key)).toBe('NOT_FOUND');
  });

  test('keys that are made afterwards live', async () => {
    const { apiId } = await service.createKey();
    await service.ok('/v1/apis.deleteKeys', { apiId });
    const made = await service.createKey({ apiId });
    expect(await codeOf(made.key)).toBe('VALID');
    expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(1);
  });

  test('one that was cut short is finished by the sweep: nothing of it is found before either', async () => {
    const { apiId, key, keyId } = await service.createKey({ remaining: 5 });
    const api = await service.engine.storage.records.findApi(apiId);
    if (api === null) throw new Error('no api');
    await service.engine.storage.ledger.apply({
      writes: [
        {
          kind: 'updateApi',
          api: { ...api, generation: api.generation + 1, revision: api.revision + 1 },
          expect: api.revision,
          endsKeys: true,
        },
      ],
      accounts: [],
    });
    await service.restart();
    expect(await codeOf(key)).toBe('NOT_FOUND');
    expect((await service.call('/v1/keys.getKey', { keyId })).status).toBe(404);
    expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(0);
    expect(await apisWithKeysLeftBehind()).toContain(apiId);
    await service.engine.deleteAllKeys.finish();
    expect(await apisWithKeysLeftBehind()).not.toContain(apiId);
    await service.ok('/v1/keys.restoreKey', { keyId });
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4 });
  });

  test('a key whose counters do not fit its record holds up no other key', async () => {
    const { apiId, key } = await service.createKey({ remaining: 5 });
    const odd = await service.createKey({ apiId, remaining: 5 });
    const found = await service.engine.storage.records.findKey(odd.keyId);
    const account = found !== null && 'key' in found ? (found.key.credits?.account ?? 0) : 0;
    await service.engine.storage.ledger.apply({
      writes: [],
      accounts: [{ account, expect: 1, refill: null, revision: 99 }],
    });
    expect(await service.ok('/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 1 });
    expect([await codeOf(key), await codeOf(odd.key)]).toEqual(['NOT_FOUND', 'NOT_FOUND']);
  });
});

describe('a permanent deletion of all keys', () => {
  test('ends keys that were deleted softly before, too: they cannot be restored', async () => {
    const { apiId, keyId } = await service.createKey();
    await service.ok('/v1/keys.deleteKey', { keyId });
    await service.ok('/v1/apis.deleteKeys', { apiId, permanent: true });
    expect((await service.call('/v1/keys.restoreKey', { keyId })).status).toBe(404);
  });

  test('leaves nothing of them: no key, word, former secret, use or counter', async () => {
    service = await TestService.start();
    const { apiId, keyId, key } = await service.createKey({
      name: 'some words',
      remaining: 5,
      meta: { a: 'more words' },
    });
    await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 60_000 });
    await service.verify(key);
    // What is counted behind the requests is written down.
    await service.engine.close();
    await service.engine.countWriting.fold();
    const found = await service.engine.storage.records.findKey(keyId);
    const account = found !== null && 'key' in found ? (found.key.credits?.account ?? 0) : 0;
    await service.ok('/v1/apis.deleteKeys', { apiId, permanent: true });
    await service.engine.countWriting.prune(service.clock.nowMs());
    await service.stop();
    const db = new Database(join(service.folder, 'keystile.db'), { readonly: true });
    db.query('ATTACH DATABASE ? AS analytics').run(join(service.folder, 'analytics.db'));
    for (const table of ['keys', 'search_words', 'former_secrets', 'key_uses', 'accounts']) {
      expect([table, db.query(`SELECT count(*) AS rows FROM ${table}`).get()]).toEqual([table, { rows: 0 }]);
    }
    db.close();
    await service.open();
    expect(await service.engine.storage.ledger.read([account])).toEqual([undefined]);
    await service.close();
  });

  test('a stored key that cannot be read is deleted softly with the others, and removed for good with them', async () => {
    const { apiId, keyId } = await service.createKey({ remaining: 5 });
    const damage = async () => {
      await service.stop();
      const db = new Database(join(service.folder, 'keystile.db'));
      db.query('UPDATE keys SET meta = ? WHERE id = ?').run('[]', keyId);
      db.close();
      await service.open();
    };
    await damage();
    expect(await service.ok('/v1/apis.deleteKeys', { apiId })).toEqual({ deletedKeys: 1 });
    const stored = await service.engine.storage.records.findAnyKey(keyId);
    expect(stored).toMatchObject({ poisoned: keyId });
    await service.ok('/v1/apis.deleteApi', { apiId });
    expect(await apisWithKeysLeftBehind()).not.toContain(apiId);
  });
});

describe('apis.deleteApi', () => {
  test('the api and its keys are gone from the answer on', async () => {
    const { apiId, key, keyId } = await service.createKey({ remaining: 5 });
    await service.verify(key);
    expect(await service.ok('/v1/apis.deleteApi', { apiId })).toEqual({});
    expect(await codeOf(key)).toBe('NOT_FOUND');
    for (const [path, body] of [
      ['/v1/apis.getApi', { apiId }],
      ['/v1/apis.listKeys', { apiId }],
      ['/v1/apis.updateApi', { apiId, name: 'other' }],
      ['/v1/apis.deleteKeys', { apiId }],
      ['/v1/apis.deleteApi', { apiId }],
      ['/v1/keys.createKey', { apiId }],
      ['/v1/keys.getKey', { keyId }],
      ['/v1/keys.updateKey', { keyId, name: 'x' }],
      ['/v1/keys.restoreKey', { keyId }],
      ['/v1/keys.rotateKey', { keyId, overlapMs: 0 }],
      ['/v1/keys.deleteKey', { keyId, permanent: true }],
    ] as const) {
      expect([path, (await service.call(path, body)).status]).toEqual([path, 404]);
    }
    const { apis } = await service.ok('/v1/apis.listApis', {});
    expect(apis.map(({ id }: { id: string }) => id)).not.toContain(apiId);
  });

  test('one that is protected is refused with 412 and nothing is lost', async () => {
    const { apiId, key } = await service.createKey();
    await service.ok('/v1/apis.updateApi', { apiId, deleteProtection: true });
    const refused = await service.call('/v1/apis.deleteApi', { apiId });
    expect([refused.status, refused.body.error.code]).toEqual([412, 'DELETE_PROTECTED']);
    expect(await codeOf(key)).toBe('VALID');
    await service.ok('/v1/apis.updateApi', { apiId, deleteProtection: false });
    await service.ok('/v1/apis.deleteApi', { apiId });
    expect(await codeOf(key)).toBe('NOT_FOUND');
  });
});
