import { MAX_CONCURRENT_DELIVERIES, MAX_PENDING_DELIVERIES } from '../../core/bounds.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { WebhookRecord } from '../../core/records.ts';
import { auditEntry } from './audit.ts';
import { emptyDraft } from './change/applyChange.ts';
import { SYSTEM } from './change/requireRight.ts';
import { tellEvent } from './events.ts';
import type { SecretBox, SendOutcome } from './webhookPorts.ts';
import { auditedWebhook, mayGetEvent, wantsEvent, type WebhookContext } from './webhooks.ts';
import type { ClaimedDelivery, StoredEvent, TryOutcome, WebhookWork } from '../../storage/port/events.ts';
import type { TaskLog } from '../../storage/port/tasks.ts';

/** Deliveries that one lease covers. */
const STEP = 20;
/** Events that one step asks a webhook about. */
const QUEUE_STEP = 100;
/** Longer than STEP tries take, MAX_CONCURRENT_DELIVERIES at a time, each until its timeout. */
const LEASE_MS = 120_000;

const BOUND_ELSEWHERE = 'The webhook is bound to other apis now, so this event is not sent to it.';

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
  /** The running work of this node, by webhook. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(context: WebhookContext) {
    this.#context = context;
  }

  /** Starts all work that is due. Does not wait for targets. */
  async run(log: Pick<TaskLog, 'warn'>): Promise<void> {
    const { webhooks, events } = this.#context.storage;
    const work = await webhooks.findWork();
    if (work.length === 0) return;
    const last = await events.last();
    for (const each of work) {
      const hasNews = each.queuedTo < last;
      const isDue = each.dueAtMs !== null && each.dueAtMs <= this.#nowMs();
      if ((hasNews || isDue) && !this.#stop.signal.aborted) this.#start(each.webhook.id, log);
    }
  }

  /** Returns when nothing is under way on this node. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Cuts what is under way. It is sent again at the next start. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the service stops'));
    await this.idle();
  }

  #start(id: string, log: Pick<TaskLog, 'warn'>): void {
    if (this.#running.has(id)) return;
    const running = this.#work(id, log)
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        log.warn('a webhook could not be worked on; it will be tried again', { webhook: id, reason });
      })
      .finally(() => this.#running.delete(id));
    this.#running.set(id, running);
  }

  /** The webhook is read again before each step, so that an answered change takes effect at once. */
  async #work(webhookId: string, log: Pick<TaskLog, 'warn'>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const work = await this.#context.storage.webhooks.findWorkOf(webhookId);
      if (work === null) return;
      const isQueued = await this.#queue(work);
      const sent = await this.#send(webhookId, log);
      // A target that fails rests until the next run.
      if (sent === 'stopped' || (sent === 'nothing' && !isQueued)) return;
    }
  }

  /** Asks the webhook about the next events. False: it was asked about all of them, or there is no free slot. */
  async #queue({ webhook, queuedTo }: WebhookWork): Promise<boolean> {
    const { webhooks, events, records } = this.#context.storage;
    const { id: webhookId, revision } = webhook;
    const waiting = await webhooks.countWaiting(webhookId, MAX_PENDING_DELIVERIES);
    const freeSlots = Math.min(QUEUE_STEP, MAX_PENDING_DELIVERIES - waiting);
    if (freeSlots <= 0) return false;
    const next = await events.list({ after: queuedTo, types: null, limit: freeSlots });
    const to = next.at(-1)?.sequence;
    if (to === undefined) return false;
    const wanted: StoredEvent[] = [];
    for (const event of next) if (await wantsEvent(webhook, event, records)) wanted.push(event);
    // If another node or a change of the webhook came first, the next run continues from there.
    return webhooks.enqueue({ webhookId, revision, from: queuedTo, to, events: wanted, nowMs: this.#nowMs() });
  }

  /** Sends some of what is due. `stopped`: the target did not take all of it, or nothing more may be sent to it. */
  async #send(webhookId: string, log: Pick<TaskLog, 'warn'>): Promise<'nothing' | 'taken' | 'stopped'> {
    const { storage, system } = this.#context;
    const nowMs = this.#nowMs();
    const lease = makeId('req', nowMs, system.randomBytes(ID_RANDOM_BYTES));
    const claim = { webhookId, limit: STEP, lease, nowMs, leaseMs: LEASE_MS };
    const claimed = [...(await storage.webhooks.claim(claim))];
    if (claimed.length === 0) return 'nothing';
    let isAllTaken = true;
    const sendNext = async (): Promise<void> => {
      for (;;) {
        const webhook = await storage.webhooks.find(webhookId);
        if (webhook === null || !webhook.enabled || webhook.pausedAtMs !== null) return;
        const delivery = claimed.shift();
        if (delivery === undefined) return;
        isAllTaken = (await this.#try(webhook, delivery, { lease, log })) && isAllTaken;
      }
    };
    const senders = await Promise.allSettled(Array.from({ length: MAX_CONCURRENT_DELIVERIES }, sendNext));
    const isStopped = claimed.length > 0;
    if (isStopped) await storage.webhooks.release(webhookId, lease, this.#nowMs());
    for (const each of senders) if (each.status === 'rejected') throw each.reason;
    return isAllTaken && !isStopped ? 'taken' : 'stopped';
  }

  /** True when the target has taken the event, or is not to have it. */
  async #try(
    webhook: WebhookRecord,
    delivery: ClaimedDelivery,
    { lease, log }: { lease: string; log: Pick<TaskLog, 'warn'> },
  ): Promise<boolean> {
    const startedAtMs = this.#nowMs();
    const { webhooks, records } = this.#context.storage;
    // It was queued when the webhook was bound to more apis, or to none.
    if (!(await mayGetEvent(webhook, delivery.event, records))) {
      await webhooks.finish(delivery, lease, droppedAt(startedAtMs));
      return true;
    }
    const sent = this.#stop.signal.aborted ? null : await this.#sendOne(webhook, delivery, startedAtMs);
    const outcome = this.#outcome(delivery, sent, startedAtMs);
    // First the pause: a crash in between leaves a delivery that waits, never a webhook that goes on without one.
    if (outcome.state === 'failed') await pauseWebhook(this.#context, webhook.id, outcome.error ?? '', log);
    await webhooks.finish(delivery, lease, outcome);
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

/** It is given up without a try. The target is not to blame for it, so the webhook is not paused. */
function droppedAt(atMs: number): TryOutcome {
  return { state: 'failed', dueAtMs: 0, atMs, failingSinceMs: null, status: null, error: BOUND_ELSEWHERE };
}

/** Stops sending to a target that failed for days. Reports it in the audit log, to the other webhooks and in the log of the process. */
async function pauseWebhook(
  { changes, storage, events }: WebhookContext,
  webhookId: string,
  because: string,
  log: Pick<TaskLog, 'warn'>,
): Promise<void> {
  const isPaused = await changes.apply(async () => {
    const before = await storage.webhooks.find(webhookId);
    if (before === null || before.pausedAtMs !== null) return { change: emptyDraft(), answer: () => false };
    const nowMs = storage.ledger.nowMs();
    const revision = before.revision + 1;
    const webhook: WebhookRecord = {
      ...before,
      pausedAtMs: nowMs,
      pausedBecause: because,
      updatedAtMs: nowMs,
      revision,
    };
    const facts = { before: auditedWebhook(before), after: auditedWebhook(webhook) };
    return {
      change: {
        writes: [{ kind: 'updateWebhook', webhook, expect: before.revision, resumesAtMs: null }],
        accounts: [],
        entries: [auditEntry(SYSTEM, { action: 'webhook.pause', target: webhookId, ...facts })],
        events: [events.make('webhook.paused', { webhookId }, { because })],
      },
      answer: () => true,
    };
  });
  if (isPaused) {
    log.warn('a webhook is paused: its target failed for three days; enable it with webhooks.updateWebhook', {
      webhook: webhookId,
      reason: because,
    });
  }
}

/** The secrets that sign now, the newest first; null = the present one cannot be decrypted. */
function signingSecrets(box: SecretBox | null, webhook: WebhookRecord, nowMs: number): readonly string[] | null {
  const present = box?.open(webhook.secret, webhook.id) ?? null;
  if (present === null) return null;
  const isFormerValid = webhook.formerSecret !== null && nowMs < (webhook.formerUntilMs ?? 0);
  const former = isFormerValid ? box?.open(webhook.formerSecret ?? '', webhook.id) : null;
  return former == null ? [present] : [present, former];
}

const HOUR_MS = 3_600_000;

/** A delivery that has failed for as long is given up, and its webhook is paused. */
export const GIVE_UP_AFTER_MS = 72 * HOUR_MS;

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 6 * HOUR_MS;

/** How long to wait before the next try. The pause doubles; a random half of it keeps the tries of a target apart. */
export function retryPauseMs(failures: number, random: number): number {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 30));
  return Math.round(pauseMs * (0.5 + random / 2));
}
