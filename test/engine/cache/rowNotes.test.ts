import { describe, expect, test } from 'bun:test';

import { RowNotes } from '../../../src/engine/cache/rowNotes.ts';

describe('what is noted about the records of a packed key', () => {
  test('is kept for its row and these revisions, and a new row has no note', () => {
    const notes = new RowNotes(4);
    notes.of(2, 7, 1).checkedAt = 5;
    expect(notes.of(2, 7, 1).checkedAt).toBe(5);
    expect([notes.of(1, 7, 1), notes.of(3, 7, 1)].map(({ checkedAt }) => checkedAt)).toEqual([0, 0]);
  });

  test('says nothing about another revision of the identity or the plan', () => {
    const notes = new RowNotes(1);
    notes.of(0, 7, 1).checkedAt = 5;
    expect([notes.of(0, 8, 1), notes.of(0, 7, 2)].map(({ checkedAt }) => checkedAt)).toEqual([0, 0]);
    notes.of(0, 8, 1).checkedAt = 6;
    expect([notes.of(0, 7, 1), notes.of(0, 8, 1)].map(({ checkedAt }) => checkedAt)).toEqual([0, 6]);
  });

  test('stays when there are more rows', () => {
    const notes = new RowNotes(1);
    const before = notes.of(0, 7, 1);
    before.checkedAt = 5;
    notes.grow();
    notes.of(1, 7, 1).checkedAt = 6;
    expect([notes.of(0, 7, 1), notes.of(1, 7, 1)].map(({ checkedAt }) => checkedAt)).toEqual([5, 6]);
    // What was taken out before is out of date: it changes nothing.
    before.checkedAt = 9;
    expect(notes.of(0, 7, 1).checkedAt).toBe(5);
  });
});
