import { describe, expect, test } from 'bun:test';

import type { KeyEntry } from '../../../src/engine/cache/entries.ts';
import { RowNotes } from '../../../src/engine/cache/keyRows.ts';

const revisions = (identity: number, plan: number) =>
  ({ identity: { revision: identity, plan: { revision: plan } }, plan: null }) as unknown as KeyEntry;

describe('what is noted about the records of a packed key', () => {
  test('is kept for its row and these revisions, and a new row has no note', () => {
    const notes = new RowNotes(4);
    notes.put(2, revisions(7, 1), 5);
    expect([1, 2, 3].map((row) => notes.at(row, revisions(7, 1)))).toEqual([0, 5, 0]);
  });

  test('says nothing about another revision of the identity or the plan', () => {
    const notes = new RowNotes(1);
    notes.put(0, revisions(7, 1), 5);
    expect([notes.at(0, revisions(8, 1)), notes.at(0, revisions(7, 2))]).toEqual([0, 0]);
    notes.put(0, revisions(8, 1), 6);
    expect([notes.at(0, revisions(7, 1)), notes.at(0, revisions(8, 1))]).toEqual([0, 6]);
  });

  test('stays when there are more rows', () => {
    const notes = new RowNotes(1);
    notes.put(0, revisions(7, 1), 5);
    notes.grow();
    notes.put(1, revisions(7, 1), 6);
    expect([notes.at(0, revisions(7, 1)), notes.at(1, revisions(7, 1))]).toEqual([5, 6]);
  });
});
