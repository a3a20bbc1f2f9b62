import type { WebhookRecord } from '../../core/records.ts';
import type { StoredEvent } from './events.ts';

/**
 * What became of an event for a webhook:
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
  /** When it is sent next; while it is leased, when another node may take it; of no meaning when it is finished. */
  readonly dueAtMs: number;
  /** A node sends it until then, or has died meanwhile. */
  readonly isLeased: boolean;
  readonly attempts: number;
  readonly queuedAtMs: number;
  /** When the present row of failed tries began; null = the last try did not fail. */
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

/** A webhook that is neither disabled nor paused, and what there is to do for it. */
export interface WebhookWork {
  readonly webhook: WebhookRecord;
  /** The last event that it was asked about. */
  readonly queuedTo: number;
  /** When its next delivery is due; null = none waits. */
  readonly dueAtMs: number | null;
}

export interface QueueStep {
  readonly webhookId: string;
  /** Of the webhook that the events were chosen for. */
  readonly revision: number;
  /** What `queuedTo` was, and what it becomes. */
  readonly from: number;
  readonly to: number;
  /** Those in between that the webhook gets. */
  readonly events: readonly StoredEvent[];
  readonly nowMs: number;
}

export interface Claim {
  readonly webhookId: string;
  readonly limit: number;
  /** A name that no other claim has. */
  readonly lease: string;
  /** Those that are due until then. */
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
  /** By id, since when the target of a webhook has refused what waits for it now. Others are left out. */
  listFailing(): Promise<ReadonlyMap<string, number>>;
  /** Newest event first. */
  listDeliveries(query: DeliveryQuery): Promise<readonly Delivery[]>;
  /** What there is to do. */
  findWork(): Promise<readonly WebhookWork[]>;
  /** The same for one webhook; null when it is disabled, paused or gone. */
  findWorkOf(webhookId: string): Promise<WebhookWork | null>;
  /**
   * Lets these events wait for the webhook, and moves `queuedTo` on. False: nothing was done, because another node moved it first or the
   * webhook was changed. Finished deliveries beyond the bound of the log are removed.
   */
  enqueue(step: QueueStep): Promise<boolean>;
  /** Takes deliveries that are due. No other node gets them until the lease ends. */
  claim(claim: Claim): Promise<readonly ClaimedDelivery[]>;
  /** Has no effect when the lease has ended and another node has taken the delivery. */
  finish(delivery: Delivery, lease: string, outcome: TryOutcome): Promise<void>;
  /** Gives back what was claimed and not finished: it is due at this time. */
  release(webhookId: string, lease: string, nowMs: number): Promise<void>;
}
