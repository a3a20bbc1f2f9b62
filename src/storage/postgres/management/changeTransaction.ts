import type { QueryConfig } from 'pg';

import { type AccountState } from '../../../core/account.ts';
import { changed, type ChangedAccount } from '../../../core/accountChange.ts';
import { BatchCredits, exceedsGrants } from '../../port/credits.ts';
import { inLockOrder } from '../../port/lockOrder.ts';
import { type Change, type ChangeOutcome, StorageOutcomeUnknown, type UndoneChange } from '../../port/storage.ts';
import type { RecordWrite } from '../../port/writes.ts';
import { isStorageError, kindOf, reasonOf } from '../connection/databaseError.ts';
import { insertQuery, type RowsOfTable } from '../connection/binaryLists.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { IS_MOVED, refuseMoved, SHARE_MOVE_LOCK } from '../connection/movedFence.ts';
import type { Ask, AskAll } from '../connection/pool.ts';
import { changeQueries } from '../freshness/freshness.ts';
import {
  accountWrites,
  creditQueries,
  pocketsQuery,
  type PocketsRow,
  readStates,
  storedPockets,
  toNumbers,
} from './accountRows.ts';
import { withBalances, withEventBalances } from '../../sql/balances.ts';
import type { WriteStatement } from '../../sql/query/statement.ts';
import { writeStatements } from '../../sql/writes.ts';

/** How long a statement waits for a lock. */
export const LOCK_TIMEOUT_MS = 3_000;

/** A record is no longer the one for which a change of the transaction was made. */
export class Stale extends Error {}

/** A change of the transaction, and the new state of its accounts. */
interface Decided {
  readonly change: Change;
  readonly accounts: readonly ChangedAccount[];
}

/** What the transaction has locked and decided. */
interface Locked {
  readonly states: Map<number, AccountState | null>;
  readonly credits: BatchCredits;
  readonly nowMs: number;
}

interface Asks {
  readonly ask: Ask;
  readonly askAll: AskAll;
}

interface TransactionOptions {
  readonly clock: LedgerClock;
  /** How long it waits for a row or a name that another transaction holds; null = as long as a statement may. */
  readonly lockWaitMs: number | null;
}

/** Some changes, or all of them, do not fit their accounts; nothing was done. One entry for each change; null: it fits. */
export class SomeMisfit extends Error {
  readonly misfits: readonly (UndoneChange | null)[];

  constructor(misfits: readonly (UndoneChange | null)[]) {
    super();
    this.misfits = misfits;
  }
}

/**
 * Applies any number of changes in one transaction of two round trips. No two of them share an account.
 *
 *   - Accounts are locked in the order of their ids, as spends lock them. Then the records are written, in the order of their locks over
 *     all changes. Both are sent together: a change that does not fit undoes the transaction.
 *   - The accounts are written and the changes numbered last, together with the commit.
 */
export async function applyTogether(
  { ask, askAll }: Asks,
  changes: readonly Change[],
  options: TransactionOptions,
): Promise<ChangeOutcome[]> {
  let isCommitting = false;
  try {
    const writes = inLockOrder(changes.flatMap((change) => change.writes));
    const { nowMs, decided, states, credits } = await write(askAll, changes, { ...options, writes });
    const entries = decided.flatMap(({ change, accounts }) => withBalances(change.entries ?? [], accounts));
    const events = decided.flatMap(({ change, accounts }) => withEventBalances(change.events ?? [], accounts));
    const touched = changes.flatMap(({ accounts }) => accounts.map(({ account }) => account));
    const after = new Map(touched.map((account) => [account, states.get(account) ?? null]));
    const accounts = [...accountWrites(after), ...creditQueries(credits.writes)];
    // Waits for the number as long as it takes, because others hold it only while they commit.
    const waits = options.lockWaitMs === null ? [] : [{ text: `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}` }];
    const notes = changeQueries({ writes, accounts: [], entries, events }, nowMs);
    isCommitting = true;
    await askAll([...accounts, ...waits, ...notes, { text: 'COMMIT' }]);
    return decided.map((each) => ({ status: 'done', accounts: each.accounts.map(({ state }) => state), nowMs }));
  } catch (error) {
    if (isCommitting && kindOf(error) === 'lost') {
      throw new StorageOutcomeUnknown(`The database did not confirm whether this was done (${reasonOf(error)}).`);
    }
    if (error instanceof Stale || error instanceof SomeMisfit || isStorageError(error) || kindOf(error) !== 'lost') {
      await ask('ROLLBACK').catch(() => {});
    }
    throw error;
  }
}

/** Begins the transaction, locks its accounts and writes its records. */
async function write(
  askAll: AskAll,
  changes: readonly Change[],
  { clock, lockWaitMs, writes }: TransactionOptions & { readonly writes: readonly RecordWrite[] },
): Promise<Locked & { decided: Decided[] }> {
  const ids = changes.flatMap(({ accounts }) => accounts.map(({ account }) => account));
  const givenMs = clock.givenMs === null ? 'NULL' : String(clock.givenMs);
  const wait = lockWaitMs === null ? '' : `SET LOCAL lock_timeout = ${lockWaitMs};`;
  const lock = `SELECT ledger_lock_v1('{${ids.join(',')}}'::bigint[], ${givenMs}::bigint)::text AS numbers, ${IS_MOVED} AS moved`;
  const queries = writeQueries(writes);
  const startedAtMs = clock.startMs();
  const begin = { text: `BEGIN; ${wait} ${SHARE_MOVE_LOCK}; ${lock}` };
  const pockets = pocketsQuery(ids);
  const [begun, found, ...results] = await askAll([begin, pockets, ...queries.map(({ query }) => query)]);
  // Several statements, several results; the type of the driver knows of one.
  const ofLock = (begun as unknown as readonly { rows: { numbers: string; moved: boolean }[] }[]).at(-1);
  refuseMoved(ofLock?.rows[0]?.moved);
  const [nowMs = 0, ...numbers] = toNumbers(ofLock?.rows[0]?.numbers ?? '{}');
  // If the change was made for another refill epoch, the caller reads this clock and makes the change again at once.
  clock.keepWithin(startedAtMs, nowMs);
  const credits = new BatchCredits(storedPockets((found?.rows ?? []) as PocketsRow[]));
  const locked: Locked = { states: readStates(numbers), credits, nowMs };
  const decided = changes.map((change) => decide(change, locked));
  if (decided.some(isMisfit)) throw new SomeMisfit(decided.map((each) => (isMisfit(each) ? each : null)));
  const isRefused = queries.some(({ expects }, i) => expects !== null && results[i]?.rowCount !== expects);
  if (isRefused) throw new Stale();
  return { ...locked, decided: decided.flatMap((each) => (isMisfit(each) ? [] : each)) };
}

function isMisfit(decided: Decided | UndoneChange): decided is UndoneChange {
  return 'status' in decided;
}

function decide(change: Change, { states, credits, nowMs }: Locked): Decided | UndoneChange {
  const accounts: ChangedAccount[] = [];
  const unsettled: number[] = [];
  for (const each of change.accounts) {
    const { account } = each;
    const before = states.get(account) ?? undefined;
    const after = changed(before, credits.pockets(account), each, nowMs);
    if (after === 'otherMark') return { status: after, nowMs, mark: { account, markMs: before?.mark ?? 0 } };
    if (after === 'settleFirst') {
      unsettled.push(account);
      continue;
    }
    if (after === 'stale' || exceedsGrants(each, after)) return { status: 'stale', nowMs };
    accounts.push(after);
    states.set(account, after.state);
    credits.adopt(each, before, after);
  }
  return unsettled.length > 0 ? { status: 'settleFirst', nowMs, accounts: unsettled } : { change, accounts };
}

/** A query, and the number of rows that it must change; null = any number is right. */
interface WriteQuery {
  readonly query: QueryConfig;
  readonly expects: number | null;
}

/** The queries of writes. The inserts of each table are one query, in the place of the first of them. */
function writeQueries(writes: readonly RecordWrite[]): WriteQuery[] {
  const merged: (WriteStatement | RowsOfTable)[] = [];
  const byTable = new Map<string, RowsOfTable>();
  for (const statement of writes.flatMap(writeStatements)) {
    const { insertInto: into, params } = statement;
    if (into === undefined) {
      merged.push(statement);
      continue;
    }
    const known = byTable.get(into.table);
    if (known !== undefined) known.rows.push(params);
    else {
      const rows: RowsOfTable = { into, rows: [params] };
      byTable.set(into.table, rows);
      merged.push(rows);
    }
  }
  return merged.map((each) => ('into' in each ? { query: insertQuery(each), expects: null } : writeQuery(each)));
}

function writeQuery({ sql, onPostgres, params, expects }: WriteStatement): WriteQuery {
  return { query: { text: onPostgres ?? sql, values: params }, expects };
}
