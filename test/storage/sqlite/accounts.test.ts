import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';

import type { AccountState } from '../../../src/core/account.ts';
import { Accounts, replayLog } from '../../../src/storage/sqlite/accounts.ts';
import { migrate } from '../../../src/storage/sqlite/file/migrate.ts';

/** Accounts of one page: numbers further apart than this lie on different ones. */
const PAGE = 2048;

function make(maxPages?: number): { accounts: Accounts; db: Database } {
  const db = new Database(':memory:');
  migrate(db);
  return { accounts: new Accounts(db, maxPages), db };
}

const credits = (value: number): AccountState => ({
  kind: 'credits',
  value,
  mark: 3,
  dueAtMs: 7,
  revision: 1,
  base: 20,
  segmentMs: 11,
});

/** What the writer does with a slice. */
function apply(accounts: Accounts, db: Database): void {
  const slice = accounts.slice(accounts.unappliedIds());
  write(db, slice);
  accounts.markApplied(slice);
}

function write(db: Database, slice: Float64Array): void {
  for (let i = 0; i < slice.length; i += 8) {
    const entry = [...slice.subarray(i, i + 8)];
    if (entry[1] === -1) db.query('DELETE FROM accounts WHERE id = ?').run(entry[0] ?? 0);
    else db.query('INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(...entry);
  }
}

test('an account that changed while it was being applied is applied again', () => {
  const { accounts, db } = make();
  accounts.adopt(
    new Map([
      [1, credits(10)],
      [2, credits(20)],
    ]),
  );
  const slice = accounts.slice(accounts.unappliedIds());
  accounts.adopt(new Map([[1, credits(9)]]));
  write(db, slice);
  accounts.markApplied(slice);
  expect([...accounts.unappliedIds()]).toEqual([1]);
  apply(accounts, db);
  expect(accounts.unappliedSize).toBe(0);
  expect(db.query('SELECT value FROM accounts ORDER BY id').all()).toEqual([{ value: 9 }, { value: 20 }]);
});

test('an account that was closed while it was being applied is removed by the next round', () => {
  const { accounts, db } = make();
  accounts.adopt(new Map([[1, credits(10)]]));
  const slice = accounts.slice(accounts.unappliedIds());
  accounts.adopt(new Map([[1, null]]));
  write(db, slice);
  accounts.markApplied(slice);
  expect(accounts.get(1)).toBeUndefined();
  apply(accounts, db);
  expect([accounts.get(1), accounts.unappliedSize]).toEqual([undefined, 0]);
});

test('what is unapplied is never dropped to make room; what is applied is read again', () => {
  const { accounts, db } = make(2);
  const states = new Map(Array.from({ length: 20 }, (_, i) => [i * PAGE, credits(i)] as const));
  accounts.adopt(states);
  for (let number = 100; number < 200; number++) expect(accounts.get(number * PAGE)).toBeUndefined();
  for (const [id, state] of states) expect(accounts.get(id)).toEqual(state);
  apply(accounts, db);
  for (let number = 100; number < 200; number++) accounts.get(number * PAGE);
  for (const [id, state] of states) expect(accounts.get(id)).toEqual(state);
});

test('numbers up to 2^53-1 come out as they went in', () => {
  const { accounts } = make();
  const state: AccountState = {
    kind: 'window',
    value: Number.MAX_SAFE_INTEGER,
    mark: Number.MAX_SAFE_INTEGER,
    dueAtMs: 0,
    revision: 2 ** 40,
    base: Number.MAX_SAFE_INTEGER - 1,
    segmentMs: 2 ** 41,
  };
  accounts.adopt(new Map([[2 ** 45 + 3, state]]));
  expect(accounts.get(2 ** 45 + 3)).toEqual(state);
});

test('a row of the log that cannot be read is named, and nothing is begun without it', () => {
  const { accounts, db } = make();
  db.query('INSERT INTO ledger_log VALUES (7, ?)').run(new Uint8Array([3, 0, 0]));
  expect(() => replayLog(db, accounts)).toThrow(
    "Row 7 of the ledger's log cannot be read (it holds impossible numbers).",
  );
});

test('pages that could not go for a while go when they can, all that are too many', () => {
  const { accounts, db } = make(4);
  for (let page = 1; page <= 10; page++) accounts.adopt(new Map([[page * PAGE, credits(page)]]));
  expect(accounts.pages).toBe(10);
  apply(accounts, db);
  expect(accounts.get(20 * PAGE)).toBeUndefined();
  expect(accounts.pages).toBe(4);
  expect(accounts.get(PAGE)?.value).toBe(1);
});

test('many neighbours are read in one go: those that exist as they are, and of the others it is known that they do not', () => {
  const { accounts, db } = make();
  const ids = Array.from({ length: 3_000 }, (_, i) => PAGE - 1_000 + i);
  accounts.adopt(new Map(ids.filter((id) => id % 3 === 0).map((id) => [id, credits(id)])));
  apply(accounts, db);
  const fresh = new Accounts(db);
  // One of them is newer than its row.
  fresh.adopt(new Map([[ids[3] ?? 0, credits(7)]]));
  fresh.readTogether(ids);
  // From now on nothing is read any more, neither what there was nor what was not.
  db.run('DELETE FROM accounts');
  const insert = db.query('INSERT INTO accounts VALUES (?, 0, 1, 0, 0, 1, 1, 0)');
  for (const id of ids) insert.run(id);
  for (const id of ids) {
    const kept = id === ids[3] ? credits(7) : id % 3 === 0 ? credits(id) : undefined;
    expect([id, fresh.get(id)]).toEqual([id, kept]);
  }
  expect([fresh.unappliedSize, [...fresh.unappliedIds()]]).toEqual([1, [ids[3] ?? 0]]);
});

test('an account that is opened after it was found absent is applied, and read again when it is closed', () => {
  const { accounts, db } = make();
  const ids = Array.from({ length: 100 }, (_, i) => i + 1);
  accounts.readTogether(ids);
  accounts.adopt(new Map([[5, credits(50)]]));
  apply(accounts, db);
  expect([accounts.get(5)?.value, accounts.get(6)]).toEqual([50, undefined]);
  accounts.adopt(new Map([[5, null]]));
  apply(accounts, db);
  expect([accounts.get(5), db.query('SELECT id FROM accounts').all()]).toEqual([undefined, []]);
});

test('accounts that lie far apart, or are few, are read when they are asked for', () => {
  const { accounts, db } = make();
  db.query('INSERT INTO accounts VALUES (1, 0, 10, 0, 0, 1, 10, 0)').run();
  const before = db.query('SELECT count(*) AS n FROM accounts');
  accounts.readTogether([1, 2, 3]);
  accounts.readTogether(Array.from({ length: 100 }, (_, i) => i * PAGE));
  expect([accounts.pages, before.get()]).toEqual([0, { n: 1 }]);
  expect(accounts.get(1)?.value).toBe(10);
});
