import type { Config } from '../config/variables.ts';
import type { OtherReason } from '../engine/analytics/tagLists.ts';
import type { NodeStatus } from '../engine/admin/status/serviceStatus.ts';

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** A webhook, as far as it can have trouble. */
export interface WebhookFact {
  /** The host of its target: the rest of the address can contain a secret. */
  readonly host: string;
  /** Why the service has paused it; null = it is not paused. */
  readonly pausedBecause: string | null;
  /** When its target began to fail; null = it does not. */
  readonly failingSinceMs: number | null;
}

/** How scheduled backups are doing. */
export interface BackupFact {
  readonly folder: string;
  readonly everyMs: number;
  /** null = there is none. */
  readonly newestAtMs: number | null;
  /** Why the last one failed; null = it did not. */
  readonly failure: string | null;
}

/** Everything that the checks look at, read at one moment. */
export interface Facts {
  readonly nowMs: number;
  readonly config: Config;
  /** Why the node answers no verifications; null = it does. */
  readonly stoppedBecause: string | null;
  /** Why the last commit failed; null = it did not. */
  readonly commitFailure: string | null;
  /** Settings of the database that weaken a promise. */
  readonly databaseWarnings: readonly string[];
  readonly nodes: readonly NodeStatus[];
  /** Spends and changes that wait for the ledger. */
  readonly waiting: number;
  readonly webhooks: readonly WebhookFact[];
  /** Verifications whose tags were counted under `other`, since the start. */
  readonly otherTags: Readonly<Record<OtherReason, number>>;
  /** The disk of the data folder; null where the database is elsewhere. */
  readonly disk: DiskSpace | null;
  /** The longer write-ahead log; null where the database is elsewhere. */
  readonly walBytes: number | null;
  /** null where the service makes no backups by itself. */
  readonly backups: BackupFact | null;
  /** How long the oldest transaction on a shared database has been open. */
  readonly oldestTransactionMs: number;
  /** When the certificate of this node expires; null = it speaks plain HTTP. */
  readonly certificateExpiresAtMs: number | null;
}
