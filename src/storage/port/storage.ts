import type { AccountMark, AccountState } from '../../core/account.ts';
import type { AccountChange } from '../../core/accountChange.ts';
import type { Pockets } from '../../core/expiringCredits.ts';
import type { EndOutcome, NewReservation, Reservation, ReserveOutcome, UserEnding } from '../../core/reservation.ts';
import type { IdempotencyKey, Spend, SpendOutcome } from '../../core/spend.ts';
import type { Freshness } from './freshness.ts';
import type { Imports } from './imports.ts';
import type { AuditEntries, AuditEntry } from './auditEntries.ts';
import type { Events, NewEvent, Told, Webhooks } from './events.ts';
import type { Records } from './records.ts';
import type { RecordWrite } from './writes.ts';
import type { Analytics } from './analytics.ts';
import type { Reservations, Statements } from './credits.ts';

/**
 * What the engine needs from a database. Arguments and answers are plain data, so that an adapter can use a worker thread, another process
 * or a remote node. Every adapter passes test/postgres/conformance with nothing skipped.
 */
export interface Storage {
  readonly records: Records;
  readonly ledger: Ledger;
  readonly localCounts: LocalCounts;
  readonly freshness: Freshness;
  readonly analytics: Analytics;
  readonly imports: Imports;
  readonly auditEntries: AuditEntries;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly reservations: Reservations;
  readonly statements: Statements;
  readonly told: Told;
  /** One id per installation, created with the database. */
  readonly workspaceId: string;
  /** Settings of the database that weaken a promise but may be intended. They are only shown; nothing is refused because of them. */
  readonly warnings: readonly string[];
  /** The damage of the database that was found so far; null = none. */
  readonly damage: DamageFound | null;
  /** Why nothing may be answered, not even from memory; null = requests may be answered. */
  readonly outage: string | null;
  /** Every answered request is durable when this returns. */
  close(): Promise<void>;
}

/** A management change. Records and counters change in one transaction, which waits in the same queue as the spends. */
export interface Change {
  readonly writes: readonly RecordWrite[];
  readonly accounts: readonly AccountChange[];
  readonly entries?: readonly AuditEntry[];
  readonly events?: readonly NewEvent[];
}

export type ChangeOutcome =
  /** The accounts after the change, in its order; null = closed. */
  | { readonly status: 'done'; readonly accounts: readonly (AccountState | null)[]; readonly nowMs: number }
  | UndoneChange;

/** Nothing was written: the change does not fit. */
export type UndoneChange =
  /** Made from an older record or for another refill epoch, or a record of the same name came first: read and try again. */
  | { readonly status: 'stale'; readonly nowMs: number }
  /** The refill of an account begins at another mark: make its schedule from this one. */
  | { readonly status: 'otherMark'; readonly nowMs: number; readonly mark: AccountMark }
  /** Reservations on these accounts have expired and have to be ended first. */
  | { readonly status: 'settleFirst'; readonly nowMs: number; readonly accounts: readonly number[] };

/** How long ended windows are kept. A clock that ran ahead and is set back must find its windows again. */
export const PRUNE_GRACE_MS = 2 * 24 * 60 * 60 * 1000;

export interface WindowName {
  /** Id of the key or identity that the window counts for. */
  readonly owner: string;
  readonly name: string;
  readonly durationMs: number;
}

/** A position among the windows of an owner, which are sorted by name and duration. */
export type WindowCursor = Omit<WindowName, 'owner'>;

export interface ClosedWindows {
  /** The number of windows that were checked. */
  readonly looked: number;
  readonly closed: number;
  /** Where the next call continues; null = the end was reached. */
  readonly last: WindowCursor | null;
}

/**
 * The exact and durable part. Spends and changes that arrive during a commit form the next batch. A batch has the same result as its
 * items carried out one by one in arrival order (core/spend.ts). It is answered after one durable commit.
 */
export interface Ledger {
  spend(spend: Spend): PromiseLike<SpendOutcome>;
  /** A spend whose credits are held until the reservation ends. Its own idempotency key is ignored: the reservation has one. */
  reserve(spend: Spend, wanted: NewReservation): Promise<ReserveOutcome>;
  endReservation(id: string, ending: UserEnding): Promise<EndOutcome>;
  /**
   * Ends expired reservations, each with its event, in one commit. Leaves out those that have already ended and those whose accounts have
   * other marks. Returns the reservations that it has ended.
   */
  expireReservations(expired: readonly ExpiredReservation[]): Promise<readonly Reservation[]>;
  /** The remembered answer under this idempotency key, after all spends that were queued before; null = none. */
  findAnswer(key: IdempotencyKey): Promise<SpendOutcome | null>;
  apply(change: Change): Promise<ChangeOutcome>;
  /** The account as it was last committed, if this node knows it without I/O; undefined otherwise. */
  peek(account: number): ReadAccount | undefined;
  /** The accounts as they were last committed; undefined = the account does not exist. No refill is applied. */
  read(accounts: readonly number[]): Promise<readonly (ReadAccount | undefined)[]>;
  /** Numbers for new accounts. No number is given twice. */
  reserveAccounts(count: number): Promise<readonly number[]>;
  /**
   * The account of an ad-hoc strict window, opened on first use. Returns null if the owner has `max` windows that have not ended. `max`
   * null = no bound; 0 = finds an existing window but opens none. An ended window may be removed at any time; a spend on it then answers
   * `stale`.
   */
  openWindow(window: WindowName, max: number | null): Promise<number | null>;
  /** Counts the windows of an owner, up to `upTo`. An ended window counts until it is removed. */
  countWindows(owner: string, upTo: number): Promise<number>;
  /** Checks at most `count` windows of an owner after a cursor, and removes ended ones. */
  closeEndedWindows(owner: string, count: number, after: WindowCursor | null): Promise<ClosedWindows>;
  /** Keys and identities with a due refill or expiry that is not written yet, sorted by due time, after a cursor, at most `limit`. */
  listDue(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueOwner[]>;
  /** Removes idempotency keys past their retention, and windows and local counts that ended PRUNE_GRACE_MS ago. */
  prune(): Promise<void>;
  /** Number of spends and changes that wait now. */
  readonly waiting: number;
  /** Why the last commit failed; null while commits succeed. */
  readonly commitFailure: string | null;
  /** Why the database refused that commit; null = another reason, which may go away. Absent: the database has no roles. */
  readonly commitRefusedFor?: RefusalCause | null;
  /** The ledger's clock. */
  nowMs(): number;
}

/** An account, with what else a reader of its balance needs. */
export interface ReadAccount extends AccountState {
  readonly pockets?: Pockets;
}

export interface ExpiredReservation {
  readonly reservation: Reservation;
  /** The expected marks of its accounts, if nothing else is to be applied before. An account that is not named must be closed. */
  readonly marks: readonly AccountMark[];
  /** The event to write; the ledger adds what was `charged` to its data. null = no event. */
  readonly event: NewEvent | null;
}

export interface DueCursor {
  readonly dueAtMs: number;
  readonly account: number;
}

export interface DueOwner extends DueCursor {
  /** Id of the key or identity. */
  readonly owner: string;
}

export interface LocalCount extends WindowName {
  readonly count: number;
  readonly resetAtMs: number;
}

/** A local window as it is loaded with its owner: the count that this node has saved, and the sum of the other nodes. */
export interface LoadedCount extends LocalCount {
  readonly others: number;
}

/** Saved counts of local limits. They are saved in the background, and loaded when their owner is first used. */
export interface LocalCounts {
  /** Other nodes may count on the same database. */
  readonly isShared: boolean;
  load(owner: string): Promise<readonly LoadedCount[]>;
  /**
   * Saves the counts that this node has admitted, as absolute numbers: saving twice changes nothing. Returns the sums of the other nodes
   * for windows in which one of them has admitted more since the last exchange. With `isLast` false, more counts of the same exchange
   * follow, and the answer is empty.
   */
  sync(counts: readonly LocalCount[], isLast: boolean): Promise<readonly LocalCount[]>;
  /** Registers a listener that is called when saved counts may be lost and everything must be saved again. */
  onForgotten(listener: () => void): void;
}

/** The database is not available. Nothing was done. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
  /** null = it may be available again later. */
  readonly refusedFor: RefusalCause | null;

  constructor(message: string, refusedFor: RefusalCause | null = null) {
    super(message);
    this.refusedFor = refusedFor;
  }
}

/** The request needs a damaged page. Nothing was done. Other pages can be read. */
export class StorageDamaged extends StorageUnavailable {}

/** Damage of the database that a read or a check has found. */
export interface DamageFound {
  /** What is damaged, and which page says what to do. */
  readonly text: string;
  /** Only counts of verifications are missing, no record or balance: every request can still be decided. */
  readonly ofCountsOnly: boolean;
}

/**
 * Why a database refuses every try: this role lacks a right, its tables are those of another program, or a pooler lends foreign sessions.
 */
export type RefusalCause = 'rights' | 'tables' | 'pooler';

/** The commit was sent, and its outcome is unknown. */
export class StorageOutcomeUnknown extends Error {
  override readonly name = 'StorageOutcomeUnknown';
}
