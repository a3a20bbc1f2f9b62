import { describe, expect, test } from 'bun:test';

import { BLANK_IDENTITY } from '../../../src/core/blankRecords.ts';
import { IdentityEntry, IdentitySlot } from '../../../src/engine/cache/identityEntry.ts';
import { KeptTexts } from '../../../src/engine/cache/keptTexts.ts';
import { textReader } from '../../../src/system.ts';

const texts = new KeptTexts(textReader);

function entryOf(id: string): IdentityEntry {
  return new IdentityEntry({ ...BLANK_IDENTITY, id, externalId: id }, null, new IdentitySlot(id, texts));
}

describe('what answers say of an identity', () => {
  test('is kept for each, however many there are and however long the texts are', () => {
    const entries = Array.from({ length: 3000 }, (_, i) => {
      const entry = entryOf(`id_${i}`);
      const isAscii = i % 7 !== 0;
      const text = `${i} ${(isAscii ? 'x' : 'ü').repeat((i * 13) % 1500)} ${i}`;
      expect(entry.usualEnd).toBeNull();
      entry.isAscii = isAscii;
      entry.keepUsualEnd(text);
      return [entry, text] as const;
    });
    for (const [entry, text] of entries) expect(entry.usualEnd).toBe(text);
  });

  test('an entry that was replaced keeps its own text: an answer under way must not show that of another', () => {
    const slot = new IdentitySlot('id_1', texts);
    const make = (text: string) => {
      const entry = new IdentityEntry({ ...BLANK_IDENTITY, id: 'id_1', externalId: text }, null, slot);
      slot.replace(entry);
      entry.isAscii = true;
      entry.keepUsualEnd(text);
      return entry;
    };
    const before = make('before');
    const after = make('after, and longer');
    for (let i = 0; i < 5000; i++) make(`later ${i}`.repeat(40));
    expect([before.usualEnd, after.usualEnd]).toEqual(['before', 'after, and longer']);
    expect([before.isPresent, after.isPresent, slot.entry?.isPresent]).toEqual([false, false, true]);
  });
});
