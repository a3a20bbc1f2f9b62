import type { AccountChange, AccountState } from '../../core/account.ts';
import type { IdempotencyKey, Spend, SpendOutcome } from '../../core/spend.ts';
import type { Freshness } from './freshness.ts';
import type { Imports } from './imports.ts';
import type { AuditEvent } from './events.ts';
import type { RecordWrite, Records } from './records.ts';
import type { Analytics } from './analytics.ts';

/**
 * What the engine needs of a database. Arguments and answers are plain data, so that a worker thread, another process or
 * a remote node can stand behind it. Every adapter passes test/postgres/conformance with nothing skipped.
 */
export interface Storage {
  readonly records: Records;
  readonly ledger: Ledger;
  readonly localCounts: LocalCounts;
  readonly freshness: Freshness;
  readonly analytics: Analytics;
  readonly imports: Imports;
  /** One per installation, made with the database. */
  readonly workspaceId: string;
  /** What makes answers less safe than they could be, and may be meant: shown, and nothing is refused for it. */
  readonly warnings: readonly string[];
  /** Every request that was answered is durable by then. */
  close(): Promise<void>;
}

/** A management change: records and counters in one transaction, in the same queue as the spends. */
export interface Change {
  readonly writes: readonly RecordWrite[];
  readonly accounts: readonly AccountChange[];
  readonly events?: readonly AuditEvent[];
}

export type ChangeOutcome =
  /** The accounts after the change, in its order; null = closed. */
  | { readonly status: 'done'; readonly accounts: readonly (AccountState | null)[]; readonly nowMs: number }
  /** Made from an older record, for another refill epoch, or something of the same name came first: read and try again. */
  | { readonly status: 'stale'; readonly nowMs: number };

/** What has ended is kept for so long: a clock that ran ahead and is set back must find its windows again. */
export const PRUNE_GRACE_MS = 2 * 24 * 60 * 60 * 1000;

export interface WindowName {
  /** The key or identity that it counts for. */
  readonly owner: string;
  readonly name: string;
  readonly durationMs: number;
}

/** A window among those of its owner, which are looked at in the order of name and duration. */
export type WindowPlace = Omit<WindowName, 'owner'>;

export interface ClosedWindows {
  readonly looked: number;
  readonly closed: number;
  /** Where to go on; null = the end was reached. */
  readonly last: WindowPlace | null;
}

/**
 * The exact part. Spends and changes that arrive while a commit is under way form the next batch; a batch means its
 * items done one by one in arrival order (core/spend.ts) and one durable commit before any of its answers.
 */
export interface Ledger {
  spend(spend: Spend): PromiseLike<SpendOutcome>;
  /** What a spend under this idempotency key was answered, in the order of the queue; null when there was none. */
  findReplay(key: IdempotencyKey): Promise<SpendOutcome | null>;
  apply(change: Change): Promise<ChangeOutcome>;
  /** The account as it was last committed, when that is known here without asking anyone; undefined otherwise. */
  peek(account: number): AccountState | undefined;
  /** The accounts as they were last committed; undefined = there is none. No refill is applied. */
  read(accounts: readonly number[]): Promise<readonly (AccountState | undefined)[]>;
  /** Numbers for new accounts, never given twice. */
  reserveAccounts(count: number): Promise<readonly number[]>;
  /**
   * The account of an ad-hoc strict window, made on first use. `null` when its owner has as many live ones as allowed;
   * `max` null: not looked at; 0: one that is there is found, and none is made. An ended window may be removed at any
   * time: a spend on it then answers `stale`.
   */
  openWindow(window: WindowName, max: number | null): Promise<number | null>;
  /** Windows of an owner, counted no further than to `upTo`; ended ones are counted until they are removed. */
  countWindows(owner: string, upTo: number): Promise<number>;
  /** Looks at no more than `count` windows of an owner, after a place, and removes those that have ended. */
  closeEndedWindows(owner: string, count: number, after: WindowPlace | null): Promise<ClosedWindows>;
  /** Keys and identities whose refill is due and not yet written down, at most `limit`, in the order of their due time, after a cursor. */
  listDueRefills(dueUntilMs: number, limit: number, after: DueCursor | null): Promise<readonly DueRefill[]>;
  /** Removes idempotency keys past their retention, and windows and local counts that ended PRUNE_GRACE_MS ago. */
  prune(): Promise<void>;
  /** Spends and changes that wait now. */
  readonly waiting: number;
  /** Why the last commit was not possible; null while commits are. */
  readonly trouble: string | null;
  /** The ledger's clock. */
  nowMs(): number;
}

export interface DueCursor {
  readonly dueAtMs: number;
  readonly account: number;
}

export interface DueRefill extends DueCursor {
  /** The key or identity. */
  readonly owner: string;
}

export interface LocalCount extends WindowName {
  readonly count: number;
  readonly resetAtMs: number;
}

/** A local window as its owner is first seen: what this node has saved of it, and what the others have. */
export interface LoadedCount extends LocalCount {
  readonly others: number;
}

/** Local counts: saved behind the request, read when their owner is first seen. */
export interface LocalCounts {
  /** Other nodes may count on the same database. */
  readonly isShared: boolean;
  /** At the last exchange there was no other. */
  readonly isAlone: boolean;
  load(owner: string): Promise<readonly LoadedCount[]>;
  /**
   * Saves what this node has admitted, as absolute numbers: saying it twice changes nothing. Answers the sums of the other
   * nodes, of windows in which one of them has admitted more since the last time; with `isLast` false more of the same
   * exchange follows, and nothing is answered.
   */
  sync(counts: readonly LocalCount[], isLast: boolean): Promise<readonly LocalCount[]>;
  /** Hears that what was saved may be gone, or that not all nodes have heard of it: everything has to be saved again. */
  onForgotten(listener: () => void): void;
}

/** The database cannot be asked, and nothing was done. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}

/** The commit was sent and its fate is not known. */
export class StorageOutcomeUnknown extends Error {
  override readonly name = 'StorageOutcomeUnknown';
}
