import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';

import { type Fence, recordFence } from '../../../../src/core/fence.ts';
import { BatchRevisions, RecordRevisions } from '../../../../src/storage/sqlite/ledger/batch.ts';

const db = new Database(':memory:');
db.run('CREATE TABLE keys (id TEXT PRIMARY KEY, revision INTEGER NOT NULL)');
db.run(`INSERT INTO keys VALUES ('key_1', 1)`);
afterAll(() => db.close());

const [before, after] = [recordFence('key', 'key_1', 1), recordFence('key', 'key_1', 2)];

describe('the number of the last change', () => {
  test('grows with each commit that changed a record which existed before, and with no other', () => {
    const revisions = new RecordRevisions(db);
    const first = revisions.lastChange;
    const commit = (endsChecks: boolean, ...fences: readonly Fence[]) => {
      const batch = new BatchRevisions(revisions);
      if (fences.length > 0) batch.revise(fences, endsChecks);
      revisions.adopt(batch);
      return revisions.lastChange - first;
    };
    expect(commit(false)).toBe(0);
    expect(commit(false, recordFence('key', 'key_2', 1))).toBe(0);
    expect(commit(true, after, recordFence('key', 'key_2', 2))).toBe(1);
  });

  test('does not count in a batch that has changed records itself: spends after the change see it', () => {
    const revisions = new RecordRevisions(db);
    const batch = new BatchRevisions(revisions);
    expect([batch.lastChange, batch.isCurrent(before)]).toEqual([revisions.lastChange, true]);
    batch.revise([after], true);
    expect([batch.lastChange, batch.isCurrent(before), batch.isCurrent(after)]).toEqual([0, false, true]);
  });
});
