import { type AccountChange, type AccountState, changed } from '../../../core/account.ts';
import type { IdempotencyKey, ChargeResult, SpendOutcome } from '../../../core/spend.ts';
import {
  type Change,
  type ChangeOutcome,
  type ClosedWindows,
  type DueCursor,
  type DueRefill,
  StorageOutcomeUnknown,
  StorageUnavailable,
  type WindowName,
  type WindowCursor,
} from '../../port/storage.ts';
import { withBalances, withEventBalances } from '../../sql/balances.ts';
import { mergeInserts } from '../../sql/statement.ts';
import { writeStatements } from '../../sql/writes.ts';
import { type AccountRow, readStates, toNumbers, toState, writeAccounts } from './accountRows.ts';
import { pauseBeforeRetry } from '../connection/retryPause.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import { noteChange } from '../freshness/changeNotices.ts';
import { asUnavailable, kindOf, reasonOf } from '../connection/databaseError.ts';
import { KnownWindows } from './knownWindows.ts';
import type { Ask, Pool } from '../connection/pool.ts';
import { prune } from './prune.ts';

/** Account numbers that are fetched at one time. */
const NUMBERS_BLOCK = 64;
/** How often a change is retried that got in the way of another transaction. */
const MAX_TRIES = 3;

const FIND_WINDOW = 'SELECT account FROM adhoc_windows WHERE owner = $1 AND name = $2 AND duration_ms = $3';

/** Answers exactly what it removes, even when others remove windows of the same owner at the same time. */
const CLOSE_ENDED = `WITH step AS MATERIALIZED (
    SELECT name, duration_ms, account FROM adhoc_windows WHERE owner = $1 AND (name, duration_ms) > ($2, $3)
    ORDER BY name, duration_ms LIMIT $4
  ), ended AS MATERIALIZED (
    SELECT a.id FROM accounts a
    WHERE a.id = ANY (ARRAY(SELECT account FROM step)) AND a.mark <= (SELECT ledger_now_v1($5))
    ORDER BY a.id FOR UPDATE SKIP LOCKED
  ), unnamed AS (
    DELETE FROM adhoc_windows WHERE account = ANY (ARRAY(SELECT id FROM ended))
  ), removed AS (
    DELETE FROM accounts WHERE id = ANY (ARRAY(SELECT id FROM ended)) RETURNING id
  )
  SELECT name, duration_ms AS "durationMs", (SELECT count(*) FROM step) AS looked, (SELECT count(*) FROM removed) AS closed
  FROM step ORDER BY name DESC, duration_ms DESC LIMIT 1`;

/** The records or accounts are no longer those that the change was made for. */
class Stale extends Error {}

export interface ManagementOptions {
  readonly idempotencyRetentionMs: number;
  readonly random: () => number;
}

/** All of the ledger but the spends: changes and reads. Each runs in a transaction of its own. */
export class Management {
  readonly #pool: Pool;
  /** Connections for what a verification waits for. */
  readonly #lookups: Pool;
  readonly #clock: LedgerClock;
  readonly #options: ManagementOptions;
  #numbers: number[] = [];
  /** The window that pruning looked at last. */
  #prunedTo = 0;
  readonly #windows = new KnownWindows();

  constructor(pool: Pool, lookups: Pool, clock: LedgerClock, options: ManagementOptions) {
    this.#pool = pool;
    this.#lookups = lookups;
    this.#clock = clock;
    this.#options = options;
  }

  async apply(change: Change): Promise<ChangeOutcome> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#pool.use((ask) => this.#applyIn(ask, change));
      } catch (error) {
        if (error instanceof Stale) return { status: 'stale', nowMs: this.#clock.nowMs() };
        if (error instanceof StorageUnavailable || error instanceof StorageOutcomeUnknown) throw error;
        const kind = kindOf(error);
        if (kind === 'refused') return { status: 'stale', nowMs: this.#clock.nowMs() };
        if (kind === 'rolled back' && tries < MAX_TRIES) await pauseBeforeRetry(tries, this.#options.random);
        else throw new StorageUnavailable(`A database query failed (${reasonOf(error)}); nothing was changed.`);
      }
    }
  }

  async findRemembered(key: IdempotencyKey): Promise<SpendOutcome | null> {
    const stored = (await this.#lockRemembered(0, key)) ?? (await this.#lockRemembered(1, key));
    if (stored === null) return null;
    if (stored.request_digest !== key.requestDigest) return { status: 'conflict' };
    const [nowMs = 0, ...numbers] = toNumbers(stored.outcome);
    const charges: ChargeResult[] = [];
    for (let i = 0; i < numbers.length; i += 2) charges.push({ left: numbers[i] ?? 0, resetAtMs: numbers[i + 1] ?? 0 });
    return { status: 'taken', charges, nowMs, replayed: true };
  }

  /** Reads with a lock, which is a write: it waits for the standby that the spend itself may have missed. */
  async #lockRemembered(partition: 0 | 1, { scope, id }: IdempotencyKey): Promise<RememberedRow | null> {
    const text = `SELECT request_digest, outcome FROM idempotency_${partition} WHERE scope = $1 AND id = $2 FOR UPDATE`;
    const { rows } = await asUnavailable(this.#lookups.query<RememberedRow>({ text, values: [scope, id] }));
    return rows[0] ?? null;
  }

  async read(accounts: readonly number[]): Promise<readonly (AccountState | undefined)[]> {
    const { rows } = await this.#read<AccountRow>(
      'SELECT id, kind, value, mark, due_at_ms, revision FROM accounts WHERE id = ANY ($1::bigint[])',
      [[...accounts]],
    );
    const states = new Map(rows.map((row) => [row.id, toState(row)]));
    return accounts.map((id) => states.get(id));
  }

  /** Takes numbers in blocks. Numbers that a process does not use stay unused. */
  async reserveAccounts(count: number): Promise<readonly number[]> {
    while (this.#numbers.length < count) {
      const { rows } = await this.#read<{ number: number }>(
        "SELECT nextval('account_numbers') AS number FROM generate_series(1, $1)",
        [Math.max(count, NUMBERS_BLOCK)],
      );
      this.#numbers.push(...rows.map(({ number }) => number));
    }
    return this.#numbers.splice(0, count);
  }

  async openWindow(window: WindowName, max: number | null): Promise<number | null> {
    const nowMs = this.#clock.nowMs();
    const known = this.#windows.find(window, nowMs);
    if (known !== undefined) return known;
    const account = await this.#openWindow(window, max);
    if (account !== null) this.#windows.add(window, account, nowMs);
    return account;
  }

  /** A spend on this account was stale: if it is a window, it may have been removed. */
  forgetWindow(account: number): void {
    this.#windows.drop(account);
  }

  async countWindows(owner: string, upTo: number): Promise<number> {
    const text = 'SELECT count(*) AS total FROM (SELECT 1 FROM adhoc_windows WHERE owner = $1 LIMIT $2) counted';
    const { rows } = await asUnavailable(this.#lookups.query<{ total: number }>({ text, values: [owner, upTo] }));
    return rows[0]?.total ?? 0;
  }

  async closeEndedWindows(owner: string, count: number, after: WindowCursor | null): Promise<ClosedWindows> {
    const values = [owner, after?.name ?? '', after?.durationMs ?? 0, count, this.#clock.givenMs];
    const { rows } = await this.#read<ClosedRow>(CLOSE_ENDED, values);
    const [row] = rows;
    if (row === undefined) return { looked: 0, closed: 0, last: null };
    const { looked, closed, name, durationMs } = row;
    return { looked, closed, last: looked < count ? null : { name, durationMs } };
  }

  async #openWindow({ owner, name, durationMs }: WindowName, max: number | null): Promise<number | null> {
    const text = max === 0 ? FIND_WINDOW : 'SELECT ledger_open_window_v1($1, $2, $3, $4, $5) AS account';
    const values = [owner, name, durationMs, ...(max === 0 ? [] : [this.#clock.givenMs, max])];
    const { rows } = await asUnavailable(this.#lookups.query<{ account: number | null }>({ text, values }));
    return rows[0]?.account ?? null;
  }

  async listDueRefills(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueRefill[]> {
    const { rows } = await this.#read<DueRefill & Record<string, unknown>>(
      `SELECT a.id AS account, a.due_at_ms AS "dueAtMs", coalesce(k.id, i.id) AS owner
       FROM accounts a LEFT JOIN keys k ON k.credits_account = a.id LEFT JOIN identities i ON i.credits_account = a.id
       WHERE coalesce(k.id, i.id) IS NOT NULL AND a.due_at_ms > 0 AND a.due_at_ms <= $1 AND (a.due_at_ms, a.id) > ($2, $3)
       ORDER BY a.due_at_ms, a.id LIMIT $4`,
      [dueUntilMs, after?.dueAtMs ?? 0, after?.account ?? 0, limit],
    );
    return rows;
  }

  async prune(): Promise<void> {
    const options = { retentionMs: this.#options.idempotencyRetentionMs, windowsFrom: this.#prunedTo };
    const { windowsFrom, failures } = await prune(this.#pool, this.#clock, options);
    this.#prunedTo = windowsFrom;
    if (failures.length > 0) throw failures[0];
  }

  #read<R extends Record<string, unknown>>(text: string, values: readonly unknown[]) {
    return asUnavailable(this.#pool.query<R>({ text, values: [...values] }));
  }

  /** Accounts are locked in the order of their ids, as spends lock them; the change is numbered last. */
  async #applyIn(ask: Ask, change: Change): Promise<ChangeOutcome> {
    let isCommitting = false;
    try {
      const { nowMs, before, after } = await this.#begin(ask, change.accounts);
      for (const { sql, onPostgres, params, expects } of mergeInserts(change.writes.flatMap(writeStatements))) {
        const { rowCount } = await ask({ text: onPostgres ?? sql, values: params });
        if (expects !== null && rowCount !== expects) throw new Stale();
      }
      await writeAccounts(ask, change.accounts, after);
      isCommitting = true;
      const known = { changes: change.accounts, before, after };
      const entries = withBalances(change.entries ?? [], known);
      const events = withEventBalances(change.events ?? [], known);
      await ask(`${noteChange({ ...change, entries, events }, nowMs)} COMMIT`);
      return { status: 'done', accounts: after, nowMs };
    } catch (error) {
      if (isCommitting && kindOf(error) === 'lost') {
        throw new StorageOutcomeUnknown(`The database did not confirm whether this was done (${reasonOf(error)}).`);
      }
      if (error instanceof Stale || kindOf(error) !== 'lost') await ask('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  /** In one round trip: the transaction begins with its locks. */
  async #begin(
    ask: Ask,
    changes: readonly AccountChange[],
  ): Promise<{ nowMs: number; before: (AccountState | undefined)[]; after: (AccountState | null)[] }> {
    const ids = changes.map(({ account }) => account);
    const givenMs = this.#clock.givenMs === null ? 'NULL' : String(this.#clock.givenMs);
    const lock = `SELECT ledger_lock_v1('{${ids.join(',')}}'::bigint[], ${givenMs}::bigint)::text AS numbers`;
    const startedAtMs = this.#clock.startMs();
    // Two statements, two results; the type of the driver knows of one.
    const results = (await ask(`BEGIN; ${lock}`)) as unknown as readonly { rows: { numbers: string }[] }[];
    const [nowMs = 0, ...numbers] = toNumbers(results[1]?.rows[0]?.numbers ?? '{}');
    // The caller reads this clock when the change was made for another refill epoch, and makes it again at once.
    this.#clock.keepWithin(startedAtMs, nowMs);
    const states = readStates(numbers);
    const before = changes.map(({ account }) => states.get(account));
    const after: (AccountState | null)[] = [];
    for (const change of changes) {
      const state = changed(states.get(change.account), change, nowMs);
      if (state === 'stale') throw new Stale();
      after.push(state);
      if (state === null) states.delete(change.account);
      else states.set(change.account, state);
    }
    return { nowMs, before, after };
  }
}

interface ClosedRow extends Record<string, unknown> {
  name: string;
  durationMs: number;
  looked: number;
  closed: number;
}

interface RememberedRow extends Record<string, unknown> {
  request_digest: string;
  outcome: string;
}
