import { describe, expect, test } from 'bun:test';

import {
  auditPlain,
  line,
  metadata,
  onUnlessSaid,
  parsePlain,
  part,
  plainOf,
  showPlain,
} from '../../src/model/plainFields.ts';
import { key, recordTable, rowReader, toRow } from '../../src/model/columns.ts';

const FIELDS = {
  label: line('label', { words: 'A label', min: 0, max: 8, more: 'It is shown.', example: 'blue' }),
  title: line('title', { words: 'A title', min: 1, max: 9, example: 'Sir' }),
  meta: metadata({ words: 'Metadata', example: { a: 1 } }),
  enabled: onUnlessSaid('enabled', { off: 'it is off' }),
};
const TABLE = recordTable('things', { id: key('id'), ...part(FIELDS, 'stored') });
const THING = { id: 'a', label: null, title: 'Sir', meta: '{"a":1}', enabled: false };

const words = (place: 'created' | 'changed' | 'shown'): unknown =>
  Object.values<object>(part(FIELDS, place)).map((schema) => ('description' in schema ? schema.description : null));

describe('a plain field', () => {
  test('says in each place what it means there', () => {
    expect(words('created')).toEqual([
      'A label, at most 8 characters. It is shown. An empty text counts as absent.',
      'A title, 1 to 9 characters.',
      'Metadata. At most 16 KiB of JSON, 256 members at all depths together, and 32 levels.',
      'false: it is off. true when absent.',
    ]);
    expect(words('changed')).toEqual([
      'A label, at most 8 characters. It is shown. null or an empty text removes it. It stays when absent.',
      'A title, 1 to 9 characters. null removes it. It stays when absent.',
      'Metadata. It replaces the old metadata as a whole. null removes it. It stays when absent.',
      'false: it is off. It stays when absent.',
    ]);
    expect(words('shown')).toEqual([
      'A label. Absent when none is set.',
      'A title. Absent when none is set.',
      'Metadata. `{}` when none is set.',
      'false: it is off.',
    ]);
  });

  test('goes from a request to the record, to its row and back, to an answer and to the audit log', () => {
    const problems: string[] = [];
    const add = (name: string, problem: string): void => void problems.push(`${name} ${problem}`);
    const patch = parsePlain<typeof THING>(
      FIELDS,
      { label: '', title: 'Sir', meta: { a: 1 }, enabled: false, other: 1 },
      add,
    );
    expect([patch, problems]).toEqual([{ label: null, title: 'Sir', meta: '{"a":1}', enabled: false }, []]);
    const row = { id: 'a', label: null, title: 'Sir', meta: '{"a":1}', enabled: 0 };
    expect(toRow(TABLE, THING)).toEqual(row);
    expect(rowReader(TABLE)(row)).toEqual(THING);
    expect(showPlain(FIELDS, THING)).toEqual({ title: 'Sir', meta: { a: 1 }, enabled: false });
    expect(auditPlain(FIELDS, THING)).toEqual({ label: null, title: 'Sir', meta: { a: 1 }, enabled: false });
  });

  test('that a request leaves out is left out of the patch; null clears it', () => {
    const add = (): void => {};
    expect(parsePlain(FIELDS, { enabled: true }, add)).toEqual({ enabled: true });
    expect(parsePlain(FIELDS, { label: null, meta: null }, add)).toEqual({ label: null, meta: null });
    const patch: Partial<typeof THING> & { other: number } = { label: null, other: 1 };
    expect(plainOf(FIELDS, patch) as object).toEqual({ label: null });
  });

  test('tells what a schema cannot see, under its name', () => {
    const problems: string[] = [];
    parsePlain(FIELDS, { meta: { big: 2 ** 60, half: '\ud800' } }, (name, problem) =>
      problems.push(`${name}: ${problem}`),
    );
    expect(problems).toEqual([
      'meta: contains a number that cannot be stored exactly; send it as a string',
      'meta: contains text that is not valid Unicode (a lone surrogate)',
    ]);
  });

  test('that holds what cannot be read makes its row unreadable', () => {
    const row = { id: 'a', label: null, title: null, enabled: 1 };
    expect(() => rowReader(TABLE)({ ...row, meta: '[1]' })).toThrow('meta cannot be read');
  });
});
