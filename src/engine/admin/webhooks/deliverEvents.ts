import { MAX_CONCURRENT_DELIVERIES, MAX_PENDING_DELIVERIES } from '../../../core/bounds.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { WebhookRecord } from '../../../core/records.ts';
import { GIVE_UP_AFTER_MS, retryPauseMs } from '../../../core/webhookRetry.ts';
import type { TaskLog } from '../../../storage/port/tasks.ts';
import type { ClaimedDelivery, TryOutcome, WebhookWork } from '../../../storage/port/webhooks.ts';
import { tellEvent } from '../events/tellEvent.ts';
import type { SendOutcome } from './outgoing.ts';
import { pauseWebhook } from './pauseWebhook.ts';
import { signingSecrets } from './signingSecrets.ts';
import type { WebhookContext } from './webhookContext.ts';
import { wantsEvent } from './wantsEvent.ts';

/** Deliveries that one lease covers. */
const STEP = 20;
/** Events that one step asks a webhook about. */
const QUEUE_STEP = 100;
/** Longer than STEP tries take, MAX_CONCURRENT_DELIVERIES at a time, each until its timeout. */
const LEASE_MS = 120_000;

const LOST_KEY =
  'The signing secret cannot be decrypted: its encryption key is missing. Set it again, or rotate the secret.';

/**
 * Brings events to webhooks. Each event goes through two steps, which any node can do and a crash can cut anywhere:
 *
 *   outbox --queue--> waiting delivery    the webhook's mark and its new deliveries move in one transaction
 *   waiting delivery --send--> finished   a lease lets one node send it; a node that dies leaves it due again
 *
 * So every event is sent at least once. Each webhook is worked on by itself: one that hangs holds up no other.
 */
export class DeliverEvents {
  readonly #context: WebhookContext;
  readonly #stop = new AbortController();
  /** What this node does now, by webhook. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(context: WebhookContext) {
    this.#context = context;
  }

  /** Starts what there is to do, and does not wait for targets. */
  async run(log: Pick<TaskLog, 'warn'>): Promise<void> {
    const { webhooks, events } = this.#context.storage;
    const work = await webhooks.findWork();
    if (work.length === 0) return;
    const last = await events.last();
    for (const each of work) {
      const hasNews = each.queuedTo < last;
      const isDue = each.dueAtMs !== null && each.dueAtMs <= this.#nowMs();
      if ((hasNews || isDue) && !this.#stop.signal.aborted) this.#start(each, log);
    }
  }

  /** Nothing is under way on this node. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Cuts what is under way. It is sent again at the next start. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the service stops'));
    await this.idle();
  }

  #start(work: WebhookWork, log: Pick<TaskLog, 'warn'>): void {
    const { id } = work.webhook;
    if (this.#running.has(id)) return;
    const running = this.#work(work, log)
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        log.warn('a webhook could not be worked on; it will be tried again', { webhook: id, reason });
      })
      .finally(() => this.#running.delete(id));
    this.#running.set(id, running);
  }

  async #work(work: WebhookWork, log: Pick<TaskLog, 'warn'>): Promise<void> {
    let queuedTo: number | null = work.queuedTo;
    while (!this.#stop.signal.aborted) {
      if (queuedTo !== null) queuedTo = await this.#queue(work.webhook, queuedTo);
      const sent = await this.#send(work.webhook, log);
      // A target that fails rests until the next run.
      if (sent === 'failed' || (sent === 'nothing' && queuedTo === null)) return;
    }
  }

  /** Asks the webhook about the next events. Answers how far it was asked; null = all were, or there is no room. */
  async #queue(webhook: WebhookRecord, from: number): Promise<number | null> {
    const { webhooks, events } = this.#context.storage;
    const waiting = await webhooks.countWaiting(webhook.id, MAX_PENDING_DELIVERIES);
    const room = Math.min(QUEUE_STEP, MAX_PENDING_DELIVERIES - waiting);
    if (room <= 0) return null;
    const next = await events.list({ after: from, types: null, limit: room });
    const to = next.at(-1)?.sequence;
    if (to === undefined) return null;
    const wanted = next.filter((event) => wantsEvent(webhook, event));
    const step = { webhookId: webhook.id, from, to, events: wanted, nowMs: this.#nowMs() };
    // Where another node came first, the next run goes on from there.
    return (await webhooks.enqueue(step)) ? to : null;
  }

  /** Sends some of what is due. `failed`: the target did not take all of it. */
  async #send(webhook: WebhookRecord, log: Pick<TaskLog, 'warn'>): Promise<'nothing' | 'taken' | 'failed'> {
    const { storage, system } = this.#context;
    const nowMs = this.#nowMs();
    const lease = makeId('req', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const claim = { webhookId: webhook.id, limit: STEP, lease, nowMs, leaseMs: LEASE_MS };
    const claimed = [...(await storage.webhooks.claim(claim))];
    if (claimed.length === 0) return 'nothing';
    let isAllTaken = true;
    const lane = async (): Promise<void> => {
      for (let delivery = claimed.shift(); delivery !== undefined; delivery = claimed.shift()) {
        isAllTaken = (await this.#try(webhook, delivery, { lease, log })) && isAllTaken;
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_DELIVERIES }, lane));
    return isAllTaken ? 'taken' : 'failed';
  }

  /** True when the target has taken the event. */
  async #try(
    webhook: WebhookRecord,
    delivery: ClaimedDelivery,
    { lease, log }: { lease: string; log: Pick<TaskLog, 'warn'> },
  ): Promise<boolean> {
    const startedAtMs = this.#nowMs();
    const sent = this.#stop.signal.aborted ? null : await this.#sendOne(webhook, delivery, startedAtMs);
    const outcome = this.#outcome(delivery, sent, startedAtMs);
    await this.#context.storage.webhooks.finish(delivery, lease, outcome);
    if (outcome.state === 'failed') await pauseWebhook(this.#context, webhook.id, outcome.error ?? '', log);
    return outcome.state === 'delivered';
  }

  async #sendOne(webhook: WebhookRecord, { event }: ClaimedDelivery, nowMs: number): Promise<SendOutcome> {
    const { outgoing, secretBox } = this.#context;
    const secrets = signingSecrets(secretBox, webhook, nowMs);
    if (secrets === null) return { failure: LOST_KEY };
    const body = JSON.stringify(tellEvent(event));
    return outgoing.send({ url: webhook.url, id: event.id, timestampMs: nowMs, body, secrets }, this.#stop.signal);
  }

  #outcome({ attempts, failingSinceMs }: ClaimedDelivery, sent: SendOutcome | null, startedAtMs: number): TryOutcome {
    const status = sent !== null && 'status' in sent ? sent.status : null;
    const at = { atMs: startedAtMs, status };
    if (status !== null && status >= 200 && status < 300) {
      return { ...at, state: 'delivered', dueAtMs: 0, failingSinceMs: null, error: null };
    }
    // A process that stops says nothing about the target.
    if (this.#stop.signal.aborted) {
      return { ...at, state: 'waiting', dueAtMs: startedAtMs, failingSinceMs, error: 'The service was stopped.' };
    }
    const sinceMs = failingSinceMs ?? startedAtMs;
    const error = sent !== null && 'failure' in sent ? sent.failure : `The target answered ${status}.`;
    const nowMs = this.#nowMs();
    const dueAtMs = nowMs + retryPauseMs(attempts + 1, this.#random());
    const state = nowMs - sinceMs >= GIVE_UP_AFTER_MS ? 'failed' : 'waiting';
    return { ...at, state, dueAtMs, failingSinceMs: sinceMs, error };
  }

  #nowMs(): number {
    return this.#context.storage.ledger.nowMs();
  }

  #random(): number {
    return (this.#context.system.randomBytes(1)[0] ?? 0) / 256;
  }
}
