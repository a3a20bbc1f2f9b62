import type { IdempotencyKey } from '../../../core/spend.ts';
import type { AuditEntry } from '../../port/auditEntries.ts';
import type { CreditWrites } from '../../port/creditWrites.ts';
import type { NewEvent } from '../../port/events.ts';
import type { RecordWrite } from '../../port/writes.ts';
import type { WindowName } from '../../port/storage.ts';

/** Rows only this adapter writes: the names of ad-hoc windows. */
export type WindowWrite =
  | { readonly kind: 'insertWindow'; readonly window: WindowName; readonly account: number }
  | { readonly kind: 'removeWindow'; readonly account: number };

export interface AnswerRow extends IdempotencyKey {
  readonly outcome: string;
}

/** The writes of a change, and when the ledger decided it. */
export interface EntryRow extends AuditEntry {
  readonly atMs: number;
}

export interface EventRow extends NewEvent {
  readonly atMs: number;
}

/** One batch of the ledger. */
export interface Commit {
  readonly number: number;
  /** The accounts it changed, as they are after it: LoggedAccount after LoggedAccount. */
  readonly accounts: Float64Array;
  /**
   * CommitRows as JSON, the last part of them; null = it writes nothing else. A text reaches the writer thread in a tenth of the time that
   * the objects in it would take, and the answering thread pays for it.
   */
  readonly rows: string | null;
}

/** What a commit writes besides the accounts, or a part of it. */
export interface CommitRows {
  readonly writes?: readonly (RecordWrite | WindowWrite)[];
  readonly entries?: readonly EntryRow[];
  readonly events?: readonly EventRow[];
  /** null: nothing but the balances of accounts changes. */
  readonly credits?: CreditWrites | null;
  /** Null: the batch remembers no answers, and its partitions stay as they are. */
  readonly remembered?: RememberedAnswers | null;
}

/** Which partition of the remembered answers runs from now on. */
export interface Rotation {
  readonly running: { readonly partition: 0 | 1; readonly sinceMs: number };
  /** The partition that runs on holds older answers, which have to go. */
  readonly empties: boolean;
  /** The database does not know yet that this partition runs. */
  readonly isDue: boolean;
}

export interface RememberedAnswers {
  readonly rotation: Rotation;
  readonly answers: readonly AnswerRow[];
}

export interface WriterOptions {
  readonly path: string;
  /** For the benchmark: what a slower disk would add to every flush. */
  readonly addedFlushMs: number;
}
