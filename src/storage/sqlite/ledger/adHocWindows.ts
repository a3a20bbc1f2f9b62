import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../../core/account.ts';
import { windowEnd } from '../../../core/calendar.ts';
import {
  type ChangeOutcome,
  type ClosedWindows,
  StorageUnavailable,
  type WindowName,
  type WindowCursor,
} from '../../port/storage.ts';
import type { SqliteChange } from './batch.ts';

/** Windows that one step of pruning checks, and steps of one run. */
const PRUNE_STEP = 500;
const PRUNE_STEPS = 10;
/** How many callers may wait to open a window of one owner. */
const MAX_WAITING = 1000;

/** What the names of windows need from the ledger. */
interface WindowLedger {
  nowMs(): number;
  peek(account: number): AccountState | undefined;
  reserveAccounts(count: number): Promise<readonly number[]>;
  applyWindows(change: SqliteChange): Promise<ChangeOutcome>;
}

/** The names of ad-hoc strict windows: which account counts for an owner, a name and a duration. */
export class AdHocWindows {
  readonly #db: Database;
  readonly #ledger: WindowLedger;
  readonly #lines = new Map<string, Line>();
  /** The account that pruning looked at last. */
  #prunedTo = -1;

  constructor(db: Database, ledger: WindowLedger) {
    this.#db = db;
    this.#ledger = ledger;
  }

  /**
   * Opens one window at a time for each owner, so that the bound holds. Without a bound, it opens one at a time for each name: a namespace
   * has very many, which share a commit. An existing window is found without waiting.
   */
  async open(window: WindowName, max: number | null): Promise<number | null> {
    const found = this.#find(window);
    if (found !== null || max === 0) return found;
    const name = max === null ? JSON.stringify([window.owner, window.name, window.durationMs]) : window.owner;
    const line = this.#lines.get(name) ?? { last: Promise.resolve(), waiting: 0 };
    if (line.waiting >= MAX_WAITING) {
      throw new StorageUnavailable(
        'Too many ad-hoc limits of one key or customer are waiting to be created; nothing was spent. Try again.',
      );
    }
    this.#lines.set(name, line);
    line.waiting++;
    const work = (): Promise<number | null> => this.#open(window, max);
    const opening = line.last.then(work, work);
    line.last = opening;
    try {
      return await opening;
    } finally {
      line.waiting--;
      if (line.waiting === 0) this.#lines.delete(name);
    }
  }

  count(owner: string, upTo: number): number {
    const { total } = this.#db
      .query('SELECT count(*) AS total FROM (SELECT 1 FROM adhoc_windows WHERE owner = ? LIMIT ?)')
      .get(owner, upTo) as { total: number };
    return total;
  }

  /** Closes ended windows of one owner, in slices: each is an item in the queue of the ledger. */
  async closeOf(owner: string, count: number, after: WindowCursor | null): Promise<ClosedWindows> {
    const rows = this.#db
      .query(
        `SELECT name, duration_ms AS durationMs, account FROM adhoc_windows
         WHERE owner = ? AND (name, duration_ms) > (?, ?) ORDER BY name, duration_ms LIMIT ?`,
      )
      .all(owner, after?.name ?? '', after?.durationMs ?? 0, count) as (WindowCursor & { account: number })[];
    let closed = 0;
    for (let from = 0; from < rows.length; from += PRUNE_STEP) {
      closed += await this.#closeEnded(rows.slice(from, from + PRUNE_STEP), this.#ledger.nowMs());
    }
    const last = rows.length < count ? undefined : rows.at(-1);
    return {
      looked: rows.length,
      closed,
      last: last === undefined ? null : { name: last.name, durationMs: last.durationMs },
    };
  }

  /** Closes windows that ended by then. There may be a million, so it checks a bounded number and continues from there the next time. */
  async prune(endedByMs: number): Promise<void> {
    const select = this.#db.query('SELECT account FROM adhoc_windows WHERE account > ? ORDER BY account LIMIT ?');
    for (let step = 0; step < PRUNE_STEPS; step++) {
      const rows = select.all(this.#prunedTo, PRUNE_STEP) as { account: number }[];
      await this.#closeEnded(rows, endedByMs);
      const isEnd = rows.length < PRUNE_STEP;
      this.#prunedTo = isEnd ? -1 : (rows.at(-1)?.account ?? -1);
      if (isEnd) return;
    }
  }

  async #open(window: WindowName, max: number | null): Promise<number | null> {
    const found = this.#find(window);
    if (found !== null) return found;
    if (max !== null && this.#of(window.owner).length >= max) {
      await this.#closeEnded(this.#of(window.owner), this.#ledger.nowMs());
      if (this.#of(window.owner).length >= max) return null;
    }
    const [account = 0] = await this.#ledger.reserveAccounts(1);
    // The window runs from now on, because an unused window is not an ended one.
    const mark = windowEnd(this.#ledger.nowMs(), window.durationMs);
    await this.#ledger.applyWindows({
      writes: [{ kind: 'insertWindow', window, account }],
      accounts: [{ account, expect: 0, open: 'window', refill: null, mark, revision: 0 }],
    });
    return account;
  }

  #find({ owner, name, durationMs }: WindowName): number | null {
    const found = this.#db
      .query('SELECT account FROM adhoc_windows WHERE owner = ? AND name = ? AND duration_ms = ?')
      .get(owner, name, durationMs) as { account: number } | null;
    return found?.account ?? null;
  }

  /** There are few windows, and the primary key finds them. */
  #of(owner: string): { account: number }[] {
    return this.#db.query('SELECT account FROM adhoc_windows WHERE owner = ?').all(owner) as { account: number }[];
  }

  /** Returns how many were closed. A window that was used again meanwhile stays. */
  async #closeEnded(windows: readonly { account: number }[], endedByMs: number): Promise<number> {
    const ended = windows.filter(({ account }) => (this.#ledger.peek(account)?.mark ?? 0) <= endedByMs);
    const outcomes = await Promise.all(
      ended.map(({ account }) =>
        this.#ledger.applyWindows({
          writes: [{ kind: 'removeWindow', account }],
          accounts: [{ account, expect: 0, close: true, endedByMs, refill: null, revision: 0 }],
        }),
      ),
    );
    return outcomes.filter(({ status }) => status === 'done').length;
  }
}

/** Callers that open a window, one after the other. */
interface Line {
  last: Promise<unknown>;
  waiting: number;
}
