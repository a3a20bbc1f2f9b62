import type { Reservation } from '../../../core/reservation.ts';
import type { ChargeResult, IdempotencyKey, SpendOutcome } from '../../../core/spend.ts';
import { windowEnd } from '../../../core/calendar.ts';
import type {
  Change,
  ChangeOutcome,
  ClosedWindows,
  DueCursor,
  DueOwner,
  ReadAccount,
  WindowCursor,
  WindowName,
} from '../../port/storage.ts';
import { asUnavailable } from '../connection/databaseError.ts';
import type { LedgerClock } from '../connection/ledgerClock.ts';
import type { Pool } from '../connection/pool.ts';
import { type AccountRow, READ_ACCOUNTS, toNumbers, toReadAccount } from './accountRows.ts';
import { ChangeGroups } from './changeGroups.ts';
import { prune } from './prune.ts';
import { Reservations } from './reservations.ts';
import { RESERVATION_COLUMNS, type ReservationRow, toReservation } from '../../sql/reservations.ts';

/** Account numbers that are fetched at one time; more if callers wait for more. */
const NUMBERS_BLOCK = 64;

const FIND_WINDOW = 'SELECT account FROM adhoc_windows WHERE owner = $1 AND name = $2 AND duration_ms = $3';

/** Returns exactly what it removes, even if others remove windows of the same owner at the same time. */
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

interface ManagementOptions {
  readonly idempotencyRetentionMs: number;
  readonly random: () => number;
}

/** Everything of the ledger except spends: changes and reads. */
export class Management {
  readonly #pool: Pool;
  /** Connections for queries that a verification waits for. */
  readonly #lookups: Pool;
  readonly #clock: LedgerClock;
  readonly #options: ManagementOptions;
  readonly #groups: ChangeGroups;
  #numbers: number[] = [];
  /** Numbers that callers wait for. */
  #wanted = 0;
  #fetching: Promise<void> | null = null;
  /** The window that pruning looked at last. */
  #prunedTo = 0;
  readonly #windows = new KnownWindows();
  readonly reservations: Reservations;

  constructor(pool: Pool, lookups: Pool, clock: LedgerClock, options: ManagementOptions) {
    this.#pool = pool;
    this.#lookups = lookups;
    this.#clock = clock;
    this.#options = options;
    this.#groups = new ChangeGroups({ pool, clock, random: options.random });
    this.reservations = new Reservations({ pool, clock, random: options.random });
  }

  apply(change: Change): Promise<ChangeOutcome> {
    return this.#groups.apply(change);
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

  /** Reads with a lock, which is a write, so it waits for the standby that the spend itself may have missed. */
  async #lockRemembered(partition: 0 | 1, { scope, id }: IdempotencyKey): Promise<RememberedRow | null> {
    const text = `SELECT request_digest, outcome FROM idempotency_${partition} WHERE scope = $1 AND id = $2 FOR UPDATE`;
    const { rows } = await asUnavailable(this.#lookups.write<RememberedRow>({ text, values: [scope, id] }));
    return rows[0] ?? null;
  }

  async read(accounts: readonly number[]): Promise<readonly (ReadAccount | undefined)[]> {
    const { rows } = await this.#read<AccountRow & { pockets: string | null }>(READ_ACCOUNTS, [[...accounts]]);
    const states = new Map(rows.map((row) => [row.id, toReadAccount(row)]));
    return accounts.map((id) => states.get(id));
  }

  async findReservation(id: string): Promise<Reservation | null> {
    const text = `SELECT ${RESERVATION_COLUMNS} FROM reservations WHERE id = $1`;
    const { rows } = await asUnavailable(this.#lookups.query<ReservationRow>({ text, values: [id] }));
    return rows[0] === undefined ? null : toReservation(rows[0]);
  }

  /** Takes numbers in blocks, one block at a time for all waiting callers. Numbers that a process does not use stay unused. */
  async reserveAccounts(count: number): Promise<readonly number[]> {
    this.#wanted += count;
    try {
      while (this.#numbers.length < count) {
        this.#fetching ??= this.#fetchNumbers().finally(() => (this.#fetching = null));
        await this.#fetching;
      }
      return this.#numbers.splice(0, count);
    } finally {
      this.#wanted -= count;
    }
  }

  async #fetchNumbers(): Promise<void> {
    const text = "SELECT nextval('account_numbers') AS number FROM generate_series(1, $1)";
    const values = [Math.max(this.#wanted, NUMBERS_BLOCK)];
    const { rows } = await asUnavailable(this.#pool.write<{ number: number }>({ text, values }));
    this.#numbers = [...this.#numbers, ...rows.map(({ number }) => number)];
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
    const { rows } = await asUnavailable(this.#pool.write<ClosedRow>({ text: CLOSE_ENDED, values }));
    const [row] = rows;
    if (row === undefined) return { looked: 0, closed: 0, last: null };
    const { looked, closed, name, durationMs } = row;
    return { looked, closed, last: looked < count ? null : { name, durationMs } };
  }

  async #openWindow({ owner, name, durationMs }: WindowName, max: number | null): Promise<number | null> {
    const text = max === 0 ? FIND_WINDOW : 'SELECT ledger_open_window_v1($1, $2, $3, $4, $5) AS account';
    const values = [owner, name, durationMs, ...(max === 0 ? [] : [this.#clock.givenMs, max])];
    const { rows } = await asUnavailable(this.#lookups.write<{ account: number | null }>({ text, values }));
    return rows[0]?.account ?? null;
  }

  async listDue(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueOwner[]> {
    const { rows } = await this.#read<DueOwner & Record<string, unknown>>(
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

const MAX_KNOWN = 10_000;

interface Known {
  readonly account: number;
  /** The window runs until then. */
  readonly endsAtMs: number;
}

/** Accounts of ad-hoc windows. Nobody removes a running window, so its account needs no second lookup. */
export class KnownWindows {
  readonly #byName = new Map<string, Known>();
  readonly #names = new Map<number, string>();

  find(window: WindowName, nowMs: number): number | undefined {
    const known = this.#byName.get(nameOf(window));
    return known !== undefined && nowMs < known.endsAtMs ? known.account : undefined;
  }

  add(window: WindowName, account: number, nowMs: number): void {
    if (this.#byName.size >= MAX_KNOWN) {
      this.#byName.clear();
      this.#names.clear();
    }
    this.#byName.set(nameOf(window), { account, endsAtMs: windowEnd(nowMs, window.durationMs) });
    this.#names.set(account, nameOf(window));
  }

  drop(account: number): void {
    const name = this.#names.get(account);
    if (name === undefined) return;
    this.#names.delete(account);
    this.#byName.delete(name);
  }
}

function nameOf({ owner, name, durationMs }: WindowName): string {
  return JSON.stringify([owner, name, durationMs]);
}
