import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';

import { FolderError, writeDurably } from '../../../../src/storage/sqlite/file/dataFolder.ts';
import { claimFolder, readNote, refuseCopy } from '../../../../src/storage/sqlite/file/installation.ts';
import { TempFolder } from '../../../process/process.ts';

let folder: TempFolder;
let db: Database;

beforeEach(() => {
  folder = new TempFolder();
  db = new Database(':memory:');
  db.run('CREATE TABLE installation (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID');
});

afterEach(() => {
  db.close();
  folder[Symbol.dispose]();
});

const writeNote = (text: string): void => writeFileSync(folder.join('commit-number'), text);
const knows = (id: string): void => void db.query("INSERT INTO installation VALUES ('folder_id', ?)").run(id);
const known = (): unknown => db.query("SELECT value FROM installation WHERE name = 'folder_id'").values().flat()[0];
const claim = (): string => claimFolder(db, { folder: folder.path, newId: () => 'folder_new' });
const isRefused = (): boolean => {
  try {
    refuseCopy(db, folder.path);
    return false;
  } catch (error) {
    if (error instanceof FolderError) return true;
    throw error;
  }
};

describe('the file commit-number', () => {
  test.each([
    ['12 folder_a\n', { number: 12, id: 'folder_a' }],
    ['12', null],
    ['12 ', null],
    ['', null],
    ['what', null],
    ['-1 folder_a', null],
  ])('%j is read as %j', (text, note) => {
    writeNote(text);
    expect(readNote(folder.path)).toEqual(note);
  });

  test('is read as nothing where there is none', () => {
    expect(readNote(folder.path)).toBe(null);
  });
});

describe('a database and its folder', () => {
  /** [what the database knows, what the file says, is it refused as a copy, the id from then on, the file from then on] */
  test.each([
    ['a new database in a new folder', null, null, false, 'folder_new', '0 folder_new\n'],
    ['a crash before the database knew', null, '0 folder_a\n', false, 'folder_a', '0 folder_a\n'],
    ['the two belong together', 'folder_a', '12 folder_a\n', false, 'folder_a', '12 folder_a\n'],
    ['a copy in a new folder', 'folder_a', null, true, 'folder_new', '0 folder_new\n'],
    ['a copy in the folder of another', 'folder_a', '12 folder_b\n', true, 'folder_new', '12 folder_new\n'],
    ['a file that cannot be read', 'folder_a', 'what', true, 'folder_new', '0 folder_new\n'],
    ['a file without an id', 'folder_a', '12', true, 'folder_new', '0 folder_new\n'],
  ])('%s', (_what, inDatabase, inFile, refused, id, file) => {
    if (inDatabase !== null) knows(inDatabase);
    if (inFile !== null) writeNote(inFile);
    expect(isRefused()).toBe(refused);
    // As it goes on where nothing is refused, or the operator has accepted the copy.
    expect([claim(), known(), readFileSync(folder.join('commit-number'), 'utf8')]).toEqual([id, id, file]);
    expect(isRefused()).toBe(false);
  });

  test('a copy that is refused is left as it is', () => {
    knows('folder_a');
    writeNote('12 folder_b\n');
    expect([isRefused(), known(), readNote(folder.path)]).toEqual([true, 'folder_a', { number: 12, id: 'folder_b' }]);
  });

  test('the file is written before the database: a database that cannot be written leaves a file that it can take', () => {
    db.run('PRAGMA query_only = ON');
    expect(claim).toThrow('readonly');
    expect(readNote(folder.path)).toEqual({ number: 0, id: 'folder_new' });
  });
});

test('a small file that cannot be written leaves no descriptor open', () => {
  const free = openSync(folder.path, 'r');
  closeSync(free);
  expect(() => writeDurably(folder.join('file'), Symbol('nothing to write') as never)).toThrow(TypeError);
  const again = openSync(folder.path, 'r');
  closeSync(again);
  expect(again).toBe(free);
});
