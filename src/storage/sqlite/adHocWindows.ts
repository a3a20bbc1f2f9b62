import type { Database } from 'bun:sqlite';

import type { AccountState } from '../../core/account.ts';
import { windowEnd } from '../../core/window.ts';
import type { WindowName } from '../port.ts';
import type { SqliteChange } from './batch.ts';

/** Windows that one step of pruning looks at, and steps of one turn. */
const PRUNE_STEP = 500;
const PRUNE_STEPS = 10;

/** What the names of windows need of the ledger. */
export interface WindowLedger {
  nowMs(): number;
  peek(account: number): AccountState | undefined;
  reserveAccounts(count: number): Promise<readonly number[]>;
  applyWindows(change: SqliteChange): Promise<unknown>;
}

/** The names of ad-hoc strict windows: which account counts for an owner, a name and a duration. */
export class AdHocWindows {
  readonly #db: Database;
  readonly #ledger: WindowLedger;
  readonly #opening = new Map<string, Promise<number | null>>();
  /** The account that pruning looked at last. */
  #prunedTo = -1;

  constructor(db: Database, ledger: WindowLedger) {
    this.#db = db;
    this.#ledger = ledger;
  }

  /**
   * One at a time for each owner: the next one sees what this one made, and the bound holds. Without a bound one at a time
   * for each name: a namespace has very many, which are made in one commit.
   */
  async open(window: WindowName, max: number | null): Promise<number | null> {
    const line = max === null ? JSON.stringify([window.owner, window.name, window.durationMs]) : window.owner;
    const before = this.#opening.get(line) ?? Promise.resolve(null);
    const opening = before.catch(() => null).then(() => this.#open(window, max));
    this.#opening.set(line, opening);
    try {
      return await opening;
    } finally {
      if (this.#opening.get(line) === opening) this.#opening.delete(line);
    }
  }

  count(owner: string, upTo: number): number {
    const { total } = this.#db
      .query('SELECT count(*) AS total FROM (SELECT 1 FROM adhoc_windows WHERE owner = ? LIMIT ?)')
      .get(owner, upTo) as { total: number };
    return total;
  }

  /** Removes those that ended by then. Looks at a bounded number, and goes on from there the next time: there may be a million. */
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
    const found = this.#db
      .query('SELECT account FROM adhoc_windows WHERE owner = ? AND name = ? AND duration_ms = ?')
      .get(window.owner, window.name, window.durationMs) as { account: number } | null;
    if (found !== null) return found.account;
    if (max === 0) return null;
    if (max !== null && this.#of(window.owner).length >= max) {
      await this.#closeEnded(this.#of(window.owner), this.#ledger.nowMs());
      if (this.#of(window.owner).length >= max) return null;
    }
    const [account = 0] = await this.#ledger.reserveAccounts(1);
    // It runs from now on: one that has never been used is not one that has ended.
    const mark = windowEnd(this.#ledger.nowMs(), window.durationMs);
    await this.#ledger.applyWindows({
      writes: [{ kind: 'insertWindow', window, account }],
      accounts: [{ account, expect: 0, open: 'window', refill: null, mark, revision: 0 }],
    });
    return account;
  }

  /** Few, and found by the primary key. */
  #of(owner: string): { account: number }[] {
    return this.#db.query('SELECT account FROM adhoc_windows WHERE owner = ?').all(owner) as { account: number }[];
  }

  async #closeEnded(windows: readonly { account: number }[], endedByMs: number): Promise<void> {
    const ended = windows.filter(({ account }) => (this.#ledger.peek(account)?.mark ?? 0) <= endedByMs);
    await Promise.all(
      ended.map(({ account }) =>
        this.#ledger.applyWindows({
          writes: [{ kind: 'removeWindow', account }],
          accounts: [{ account, expect: 0, close: true, endedByMs, refill: null, revision: 0 }],
        }),
      ),
    );
  }
}
