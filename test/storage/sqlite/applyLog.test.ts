import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';

import { Accounts, LogApplier, replayLog } from '../../../src/storage/sqlite/accounts.ts';
import { toLoggedAccounts } from '../../../src/storage/sqlite/loggedBytes.ts';
import { configure } from '../../../src/storage/sqlite/file/openDatabase.ts';
import { WriteFailure } from '../../../src/storage/sqlite/file/writeFailure.ts';
import type { SqliteThread } from '../../../src/storage/sqlite/thread/threadClient.ts';
import { Writer } from '../../../src/storage/sqlite/writer/writer.ts';
import { plainCommit } from './plainCommit.ts';
import { TempFolder } from '../../process/process.ts';
import { credits } from '../../core/ledgerView.ts';

const ACCOUNTS = 7;

let folder: TempFolder;
let db: Database;
let writer: Writer;
let accounts: Accounts;
let number: number;
/** The balance of each account, as it was answered. */
let balances: number[];
let calls: string[];
let failures: string[];
let isFull: boolean;

beforeEach(() => {
  folder = new TempFolder();
  const path = folder.join('keystile.db');
  db = new Database(path, { create: true });
  configure(db);
  db.run('CREATE TABLE ledger_log (number INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT');
  db.run('CREATE TABLE accounts (id INTEGER PRIMARY KEY, kind, value, mark, due_at_ms, revision, base, segment_ms)');
  db.run('CREATE TABLE installation (name TEXT PRIMARY KEY, value TEXT)');
  writer = new Writer({ path, addedFlushMs: 0 });
  accounts = new Accounts(db);
  [number, balances, calls, failures, isFull] = [0, [], [], [], false];
  for (let id = 1; id <= ACCOUNTS; id++) spend(id, 10);
});

afterEach(() => {
  writer.close();
  db.close();
  folder[Symbol.dispose]();
});

/** A commit after which this account has this balance. */
function spend(id: number, balance: number): void {
  const states = new Map([[id, credits(balance)]]);
  writer.commit(plainCommit(++number, toLoggedAccounts(states)));
  accounts.adopt(states);
  balances[id - 1] = balance;
}

/** Stands in for the writer thread, and answers as that does. */
const thread = {
  call: async (method: 'applyAccounts' | 'trimLog', ...args: [never, never]): Promise<unknown> => {
    calls.push(method);
    if (isFull) throw new WriteFailure('full', 'the disk is full');
    return writer[method](...args);
  },
} as unknown as Pick<SqliteThread, 'call'>;

function applier(rest: () => Promise<void>): LogApplier {
  const ledger = { number: () => number, failed: (reason: string) => failures.push(reason) };
  return new LogApplier(accounts, thread, ledger, { slice: 2, trimSlice: 3, rest });
}

/** What a start would find now. */
function afterCrash(): unknown[] {
  const found = new Accounts(db);
  replayLog(db, found);
  return Array.from({ length: ACCOUNTS }, (_, i) => found.get(i + 1)?.value);
}

const logged = (): unknown[] => db.query('SELECT number FROM ledger_log ORDER BY number').values().flat();

test('a process that is killed anywhere in a round finds every balance as it was answered', async () => {
  for (let id = 1; id <= ACCOUNTS; id++) spend(id, 9);
  let rests = 0;
  await applier(async () => {
    expect(afterCrash()).toEqual(balances);
    // Accounts that were applied already, and some that will be.
    spend((rests % ACCOUNTS) + 1, 8 - Math.floor(rests / ACCOUNTS));
    expect(afterCrash()).toEqual(balances);
    rests++;
  }).catchUp();
  expect(calls).toEqual([...Array<string>(4).fill('applyAccounts'), ...Array<string>(5).fill('trimLog')]);
  expect(rests).toBe(8);
  expect(afterCrash()).toEqual(balances);
  // All that was there when it began, and nothing else.
  expect(logged()).toEqual([15, 16, 17, 18, 19, 20, 21, 22]);
  expect(failures).toEqual([]);
});

test('the oldest rows of the log go first: what is left of it is the newest', async () => {
  const seen: unknown[] = [];
  await applier(async () => void seen.push(logged().length > 0 ? logged()[0] : null)).catchUp();
  expect(seen).toEqual([1, 1, 1, 1, 4, 7]);
});

test('the last round does not rest, nor does what is left of the one that is under way', async () => {
  let rests = 0;
  const applies: LogApplier = applier(async () => {
    rests++;
    void applies.finish();
  });
  await applies.catchUp();
  await applies.finish();
  expect(rests).toBe(1);
  expect(logged()).toEqual([]);
  expect(afterCrash()).toEqual(balances);
});

test('a round that failed is not tried again with every commit, but with the next one that is asked for', async () => {
  const applies = applier(async () => {});
  isFull = true;
  number = 50_000;
  applies.consider();
  await applies.catchUp();
  // The second one was asked for.
  expect(failures).toEqual(['the disk is full', 'the disk is full']);
  for (let commit = 0; commit < 10; commit++) applies.consider();
  await Promise.resolve();
  expect(calls).toEqual(['applyAccounts', 'applyAccounts']);
  isFull = false;
  await applies.catchUp();
  expect(logged()).toEqual([]);
  expect(afterCrash()).toEqual(balances);
});
