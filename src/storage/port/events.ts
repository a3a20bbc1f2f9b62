import type { EventType } from '../../core/events.ts';

/** An event that a change writes in its own transaction. It never contains a secret or a digest. */
export interface NewEvent {
  /** `evt_...` */
  readonly id: string;
  readonly type: EventType;
  /** JSON of an object. */
  readonly data: string;
  /** Index of an account of the change. The ledger adds its balance to `before` and `after` of the data, as `remaining`. */
  readonly counter?: number;
}

export interface StoredEvent {
  /** Follows the order of commits: an event that becomes visible later has a higher number. Numbers may be left out. */
  readonly sequence: number;
  readonly id: string;
  /** A later version of the program may have written types that this one does not know. */
  readonly type: string;
  readonly atMs: number;
  readonly data: string;
}

export interface EventQuery {
  /** Only events after this one. */
  readonly after: number;
  /** null = all. */
  readonly types: readonly string[] | null;
  readonly limit: number;
}

/** The events of the last days, oldest first: what webhooks send and readers pull. */
export interface Events {
  list(query: EventQuery): Promise<readonly StoredEvent[]>;
  find(eventId: string): Promise<StoredEvent | null>;
  /** The sequence of the newest event; 0 = there was none yet. */
  last(): Promise<number>;
  /** Removes a bounded number of events that are older than `untilMs` and wait for no webhook. True when none is left. */
  prune(untilMs: number): Promise<boolean>;
}
