import { expect, test } from 'bun:test';

import type { FinishedBatch, ImportBatch } from '../../../../src/storage/port/imports.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { key, write } from '../samples.ts';

/** A call with so many keys; its place among the others is for the storage to say. */
function batch(id: string, count: number, fields: Partial<ImportBatch> = {}): ImportBatch {
  const blank = { migrationId: 'mig_1', apiId: 'api_1', first: 0, keys: `["keys of ${id}"]`, actor: '{"id":"rk_1"}' };
  return { id, count, ...blank, ...fields };
}

const enqueue = async (storage: Storage, each: ImportBatch) =>
  (await write(storage, { kind: 'enqueueImport', mostWaiting: 1_000, batch: each })).status;

const finish = async (storage: Storage, fields: Pick<FinishedBatch, 'id'> & Partial<FinishedBatch>) => {
  const finished: FinishedBatch = { migrationId: 'mig_1', done: 0, errors: [], ...fields };
  return (await write(storage, { kind: 'finishImport', batch: finished })).status;
};

describePort('imports', (setup) => {
  test('what is enqueued waits, each batch behind the one before it, also after a reopen', async () => {
    const { storage } = setup();
    for (const each of [
      batch('b_1', 100),
      batch('b_2', 7),
      batch('b_3', 1, { migrationId: 'mig_2', apiId: 'api_2' }),
    ]) {
      expect(await enqueue(storage, each)).toBe('done');
    }
    await setup().reopen();
    const { imports } = setup().storage;
    expect(await imports.listWaiting(10)).toEqual([
      batch('b_1', 100),
      batch('b_2', 7, { first: 100 }),
      batch('b_3', 1, { migrationId: 'mig_2', apiId: 'api_2' }),
    ]);
    expect((await imports.listWaiting(2)).map(({ id }) => id)).toEqual(['b_1', 'b_2']);
    expect(await imports.findProgress('mig_1')).toEqual({
      migrationId: 'mig_1',
      apiId: 'api_1',
      queued: 107,
      done: 0,
      failed: 0,
      errors: [],
    });
    expect(await imports.findProgress('mig_9')).toBeNull();
  });

  test('calls at the same time get places one after the other, none twice', async () => {
    const { storage } = setup();
    const sizes = Array.from({ length: 20 }, (_, i) => i + 1);
    const outcomes = await Promise.all(sizes.map((count) => enqueue(storage, batch(`b_${count}`, count))));
    expect(outcomes.every((status) => status === 'done')).toBe(true);
    const waiting = (await storage.imports.listWaiting(100)).toSorted((a, b) => a.first - b.first);
    let next = 0;
    for (const { first, count } of waiting) {
      expect(first).toBe(next);
      next += count;
    }
    expect([waiting.length, next, (await storage.imports.findProgress('mig_1'))?.queued]).toEqual([20, 210, 210]);
  });

  test('a migration belongs to one api: a batch for another is stale and changes nothing', async () => {
    const { storage } = setup();
    await enqueue(storage, batch('b_1', 3));
    expect(await enqueue(storage, batch('b_2', 3, { apiId: 'api_2' }))).toBe('stale');
    expect(await storage.imports.findProgress('mig_1')).toMatchObject({ apiId: 'api_1', queued: 3 });
    expect((await storage.imports.listWaiting(10)).map(({ id }) => id)).toEqual(['b_1']);
  });

  test('a batch is finished once; what came of it is added to the progress', async () => {
    const { storage } = setup();
    await enqueue(storage, batch('b_1', 3));
    await enqueue(storage, batch('b_2', 2));
    const errors = [{ index: 2, message: 'köy ✓ "it\'s"' }];
    expect(await finish(storage, { id: 'b_1', done: 2, errors })).toBe('done');
    expect(await finish(storage, { id: 'b_1', done: 2, errors })).toBe('stale');
    expect(await finish(storage, { id: 'b_9', done: 2 })).toBe('stale');
    expect(await storage.imports.findProgress('mig_1')).toMatchObject({ queued: 5, done: 2, failed: 1, errors });
    expect((await storage.imports.listWaiting(10)).map(({ id }) => id)).toEqual(['b_2']);
    const more = [{ index: 1, message: 'first' }];
    expect(await finish(storage, { id: 'b_2', done: 1, errors: more })).toBe('done');
    await setup().reopen();
    expect(await setup().storage.imports.findProgress('mig_1')).toEqual({
      migrationId: 'mig_1',
      apiId: 'api_1',
      queued: 5,
      done: 3,
      failed: 2,
      errors: [...more, ...errors],
    });
    expect(await setup().storage.imports.listWaiting(10)).toEqual([]);
  });

  test('many that finish the same batch at once: one of them has done it', async () => {
    const { storage } = setup();
    await enqueue(storage, batch('b_1', 3));
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => finish(storage, { id: 'b_1', done: 3 })));
    expect(outcomes.filter((status) => status === 'done').length).toBe(1);
    expect(await storage.imports.findProgress('mig_1')).toMatchObject({ done: 3 });
  });

  test('the keys of a batch and its end are one change: when a key is refused, the batch waits on', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    await enqueue(storage, batch('b_1', 1));
    const end = { id: 'b_1', migrationId: 'mig_1', done: 2, errors: [] };
    const outcome = await write(
      storage,
      { kind: 'insertKey', key: key('key_2') },
      { kind: 'insertKey', key: key('key_3', { secretDigest: 'digest of key_1' }) },
      { kind: 'finishImport', batch: end },
    );
    expect(outcome.status).toBe('stale');
    expect(await storage.records.findKey('key_2')).toBeNull();
    expect((await storage.imports.listWaiting(10)).map(({ id }) => id)).toEqual(['b_1']);
    expect(await storage.imports.findProgress('mig_1')).toMatchObject({ queued: 1, done: 0, failed: 0 });
  });

  test('of the problems of one import a thousand are kept, and all are counted', async () => {
    const { storage } = setup();
    const errors = Array.from({ length: 700 }, (_, index) => ({ index, message: `problem ${index}` }));
    for (const [i, id] of ['b_1', 'b_2'].entries()) {
      await enqueue(storage, batch(id, 700));
      await finish(storage, { id, errors: errors.map(({ index, message }) => ({ index: index + 700 * i, message })) });
    }
    await enqueue(storage, batch('b_3', 1, { migrationId: 'mig_2' }));
    await finish(storage, { id: 'b_3', migrationId: 'mig_2', errors: errors.slice(0, 1) });
    const progress = await storage.imports.findProgress('mig_1');
    expect([progress?.failed, progress?.errors.length]).toEqual([1400, 1000]);
    expect(progress?.errors.map(({ index }) => index)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    expect((await storage.imports.findProgress('mig_2'))?.errors.length).toBe(1);
  });
});
