import type { EventType } from '../../core/events.ts';
import type { WebhookRecord } from '../../core/records.ts';
import type { AccountLine } from './credits.ts';

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
  /** Follows the order of commits: an event that becomes visible later has a higher number. There may be gaps. */
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

export interface ToldCredits {
  readonly account: number;
  readonly type: string;
  readonly below: number;
}

/** A refill that no event has told of, and the holder of the credits; null = there is none any more. */
export interface UntoldRefill extends AccountLine {
  readonly owner: string | null;
  /** Of a key: its api, and the external id of its identity. Of an identity: its own external id. */
  readonly apiId: string | null;
  readonly externalId: string | null;
  readonly planId: string | null;
}

export interface RecheckedCredits {
  /** Keys and identities with credits of which an event may have to tell. */
  readonly owners: readonly string[];
  /** The last account that was checked; null = the end was reached. */
  readonly last: number | null;
}

/** What events have told of credits. The ledger writes it together with the events. */
export interface Told {
  credits(accounts: readonly number[]): Promise<readonly ToldCredits[]>;
  /**
   * Checks the next accounts after a number, at most `count`. Finds balances below a threshold or at 0 that no event has told of.
   * `credits.exhausted` is only for balances that were spent to 0, not set to 0.
   */
  recheck(after: number, count: number): Promise<RecheckedCredits>;
  untoldRefills(limit: number): Promise<readonly UntoldRefill[]>;
  /** Forgets a bounded number of limits whose window ended before then. True when none is left. */
  pruneLimits(endedBeforeMs: number): Promise<boolean>;
}

/** Tells an operator about a step of the start that may take long: a constant text and its values. */
export type Tell = (message: string, fields: Readonly<Record<string, string | number>>) => void;

/**
 * The states of the delivery of an event to a webhook:
 *
 *   waiting    it is sent when it is due. The node that sends it moves the due time to the end of a lease; if it dies, another takes over.
 *   delivered  the target has taken it
 *   failed     given up after days of tries
 */
export type DeliveryState = 'waiting' | 'delivered' | 'failed';

export const DELIVERY_STATES: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

export interface Delivery {
  readonly webhookId: string;
  readonly sequence: number;
  readonly eventId: string;
  readonly type: string;
  readonly state: DeliveryState;
  /** When it is sent next; while it is leased, when another node may take it. Without meaning when it is finished. */
  readonly dueAtMs: number;
  /** A node is sending it until then, unless the node has died. */
  readonly isLeased: boolean;
  readonly attempts: number;
  readonly queuedAtMs: number;
  /** When the present series of failed tries began; null = the last try did not fail. */
  readonly failingSinceMs: number | null;
  readonly lastAtMs: number | null;
  /** The HTTP status of the last answer; null = there was none. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** A delivery that the caller sends now, with its event. */
export interface ClaimedDelivery extends Delivery {
  readonly event: StoredEvent;
}

/** A webhook that is neither disabled nor paused, and its pending work. */
export interface WebhookWork {
  readonly webhook: WebhookRecord;
  /** The last event that it was asked about. */
  readonly queuedTo: number;
  /** When its next delivery is due; null = none waits. */
  readonly dueAtMs: number | null;
}

export interface QueueStep {
  readonly webhookId: string;
  /** The revision of the webhook that the events were chosen for. */
  readonly revision: number;
  /** The former and the new value of `queuedTo`. */
  readonly from: number;
  readonly to: number;
  /** The events in between that the webhook gets. */
  readonly events: readonly StoredEvent[];
  readonly nowMs: number;
}

export interface Claim {
  readonly webhookId: string;
  readonly limit: number;
  /** A name that no other claim has. */
  readonly lease: string;
  /** Deliveries that are due by then. */
  readonly nowMs: number;
  readonly leaseMs: number;
}

/** How a try ended. */
export interface TryOutcome {
  readonly state: DeliveryState;
  readonly dueAtMs: number;
  readonly atMs: number;
  readonly failingSinceMs: number | null;
  readonly status: number | null;
  readonly error: string | null;
}

export interface DeliveryQuery {
  readonly webhookId: string;
  /** null = all. */
  readonly state: DeliveryState | null;
  readonly limit: number;
  /** The sequence of the last delivery of the previous page. */
  readonly before: number | null;
}

/** Webhooks, and what is sent to each. Changes write the webhooks themselves. */
export interface Webhooks {
  find(webhookId: string): Promise<WebhookRecord | null>;
  /** Sorted by id. */
  list(): Promise<readonly WebhookRecord[]>;
  countWaiting(webhookId: string, upTo: number): Promise<number>;
  /** By id of the webhook: since when its target has refused the deliveries that wait now. Other webhooks are left out. */
  listFailing(): Promise<ReadonlyMap<string, number>>;
  /** Newest event first. */
  listDeliveries(query: DeliveryQuery): Promise<readonly Delivery[]>;
  /** The pending work of all webhooks. */
  findWork(): Promise<readonly WebhookWork[]>;
  /** The same for one webhook; null when it is disabled, paused or gone. */
  findWorkOf(webhookId: string): Promise<WebhookWork | null>;
  /**
   * Makes deliveries of these events, and moves `queuedTo` on. False: nothing was done, because another node moved it first or the webhook
   * was changed. Finished deliveries beyond the bound of the log are removed.
   */
  enqueue(step: QueueStep): Promise<boolean>;
  /** Takes deliveries that are due. No other node gets them until the lease ends. */
  claim(claim: Claim): Promise<readonly ClaimedDelivery[]>;
  /** Has no effect when the lease has ended and another node has taken the delivery. */
  finish(delivery: Delivery, lease: string, outcome: TryOutcome): Promise<void>;
  /** Gives back claimed deliveries that were not finished: they are due at this time. */
  release(webhookId: string, lease: string, nowMs: number): Promise<void>;
}
