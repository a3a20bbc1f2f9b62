import { MAX_WEBHOOKS, MAX_CONCURRENT_DELIVERIES, MAX_PENDING_DELIVERIES } from '../../core/bounds.ts';
import { AppError, notFound } from '../../core/errors.ts';
import type { EventType } from '../../core/events.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { WebhookRecord } from '../../core/records.ts';
import type { Operation } from '../../core/rights.ts';
import { auditEntry } from './audit.ts';
import type { AdminContext } from './change/adminContext.ts';
import { emptyDraft } from './change/applyChange.ts';
import {
  type Actor,
  requireEventsOf,
  requireEverywhere,
  requireOn,
  requireSomewhere,
  SYSTEM,
} from './change/requireRight.ts';
import type { Outgoing, SecretBox, SendOutcome } from './webhookPorts.ts';
import type {
  Delivery,
  DeliveryQuery,
  StoredEvent,
  ClaimedDelivery,
  TryOutcome,
  WebhookWork,
} from '../../storage/port/events.ts';
import type { Records } from '../../storage/port/records.ts';
import { tellEvent } from './events.ts';
import type { TaskLog } from '../../storage/port/tasks.ts';

const SECRET_BYTES = 32;

/** null in `types` and `apiIds`: all events. On update, a field that is absent stays. */
interface WebhookPatch {
  readonly url?: string;
  readonly types?: readonly string[] | null;
  readonly apiIds?: readonly string[] | null;
  readonly enabled?: boolean;
}

export class WebhookAdmin {
  readonly #context: WebhookContext;

  constructor(context: WebhookContext) {
    this.#context = context;
  }

  /** Creates a webhook. Its secret is shown this once. Whoever chooses a target reads the events that it gets. */
  async create(
    actor: Actor,
    { url, types = null, apiIds = null, enabled = true }: WebhookPatch & { url: string },
  ): Promise<{ webhookId: string; secret: string }> {
    requireEverywhere(actor, 'webhook.create_webhook');
    await this.#requireApis(actor, apiIds);
    const { changes, storage } = this.#context;
    const box = this.#box();
    await this.#checkTarget(url);
    return changes.apply(async () => {
      if ((await storage.webhooks.list()).length >= MAX_WEBHOOKS) {
        throw new AppError('PRECONDITION_FAILED', `There can be at most ${MAX_WEBHOOKS} webhooks. Delete one first.`);
      }
      const nowMs = storage.ledger.nowMs();
      const id = makeId('wh', nowMs, this.#context.system.randomBytes(ID_RANDOM_BYTES));
      const secret = this.#newSecret();
      const webhook: WebhookRecord = {
        id,
        url,
        types,
        apiIds,
        enabled,
        pausedAtMs: null,
        pausedBecause: null,
        secret: box.seal(secret, id),
        formerSecret: null,
        formerUntilMs: null,
        createdAtMs: nowMs,
        updatedAtMs: null,
        revision: 0,
      };
      const after = auditedWebhook(webhook);
      const draft = emptyDraft();
      draft.writes.push({ kind: 'insertWebhook', webhook });
      draft.writes.push({ kind: 'requireAtMost', what: 'webhooks', of: null, most: MAX_WEBHOOKS });
      draft.entries.push(auditEntry(actor, { action: 'webhook.create', target: id, before: null, after }));
      return { change: draft, answer: () => ({ webhookId: id, secret }) };
    });
  }

  get(actor: Actor, webhookId: string): Promise<WebhookRecord> {
    return this.load(actor, 'webhook.read_webhook', webhookId);
  }

  async list(actor: Actor): Promise<readonly WebhookRecord[]> {
    requireEverywhere(actor, 'webhook.read_webhook');
    return this.#context.storage.webhooks.list();
  }

  /** `enabled: true` and another url also end a pause: what waits is tried again from now on. */
  async update(actor: Actor, webhookId: string, patch: WebhookPatch): Promise<void> {
    const { url } = patch;
    requireSomewhere(actor, 'webhook.update_webhook');
    if (patch.apiIds !== undefined) await this.#requireApis(actor, patch.apiIds);
    const before = await this.load(actor, 'webhook.update_webhook', webhookId);
    patched(actor, before, patch);
    if (url !== undefined) await this.#checkTarget(url);
    await this.#change(actor, webhookId, 'webhook.update', (latest) => patched(actor, latest, patch));
  }

  async delete(actor: Actor, webhookId: string): Promise<void> {
    await this.#context.changes.apply(async () => {
      const before = await this.load(actor, 'webhook.delete_webhook', webhookId);
      const facts = { before: auditedWebhook(before), after: null };
      const draft = emptyDraft();
      draft.writes.push({ kind: 'removeWebhook', webhookId, expect: before.revision });
      draft.entries.push(auditEntry(actor, { action: 'webhook.delete', target: webhookId, ...facts }));
      return { change: draft, answer: () => undefined };
    });
  }

  /** Gives the webhook another secret, and shows it. Both sign for `overlapMs`; 0 = the old one ends at once. */
  async rotateSecret(actor: Actor, webhookId: string, overlapMs: number): Promise<string> {
    await this.loadReadable(actor, webhookId);
    const box = this.#box();
    const secret = this.#newSecret();
    await this.#change(actor, webhookId, 'webhook.rotateSecret', (before, nowMs) => {
      requireEventsOf(actor, before.apiIds);
      return {
        webhook: {
          ...before,
          secret: box.seal(secret, webhookId),
          formerSecret: overlapMs > 0 ? before.secret : null,
          formerUntilMs: overlapMs > 0 ? nowMs + overlapMs : null,
        },
        isResumed: false,
        facts: { before: {}, after: { overlapMs } },
      };
    });
    return secret;
  }

  /** For a change that shows what the webhook gets. */
  async loadReadable(actor: Actor, webhookId: string): Promise<WebhookRecord> {
    requireSomewhere(actor, 'event.read_event');
    const found = await this.load(actor, 'webhook.update_webhook', webhookId);
    requireEventsOf(actor, found.apiIds);
    return found;
  }

  async load(actor: Actor, operation: Operation, webhookId: string): Promise<WebhookRecord> {
    const found = await this.#context.storage.webhooks.find(webhookId);
    requireOn(actor, operation, found?.id ?? '', 'webhook', webhookId);
    if (found === null) throw notFound('webhook', webhookId);
    return found;
  }

  async #change(
    actor: Actor,
    webhookId: string,
    action: string,
    change: (before: WebhookRecord, nowMs: number) => ChangedWebhook,
  ): Promise<void> {
    const { changes, storage } = this.#context;
    await changes.apply(async () => {
      const before = await this.load(actor, 'webhook.update_webhook', webhookId);
      const nowMs = storage.ledger.nowMs();
      const changed = change(before, nowMs);
      const webhook = { ...changed.webhook, updatedAtMs: nowMs, revision: before.revision + 1 };
      const resumesAtMs = changed.isResumed ? nowMs : null;
      const facts = changed.facts ?? { before: auditedWebhook(before), after: auditedWebhook(webhook) };
      const draft = emptyDraft();
      draft.writes.push({ kind: 'updateWebhook', webhook, expect: before.revision, resumesAtMs });
      draft.entries.push(auditEntry(actor, { action, target: webhookId, ...facts }));
      return { change: draft, answer: () => undefined };
    });
  }

  /** The apis that a webhook is to be bound to exist, and the caller may read their events; null = all events. */
  async #requireApis(actor: Actor, apiIds: readonly string[] | null): Promise<void> {
    if (apiIds === null) return requireEventsOf(actor, null);
    requireSomewhere(actor, 'event.read_event');
    const found = new Set((await this.#context.storage.records.findApis(apiIds)).map(({ id }) => id));
    for (const apiId of apiIds) {
      requireOn(actor, 'event.read_event', apiId, 'api', apiId);
      if (!found.has(apiId)) throw notFound('api', apiId);
    }
  }

  async #checkTarget(url: string): Promise<void> {
    const refusal = await this.#context.outgoing.refusal(url);
    if (refusal === null) return;
    throw new AppError('BAD_REQUEST', `url ${refusal}`, [{ path: 'url', message: `url ${refusal}` }]);
  }

  #box(): SecretBox {
    const { secretBox } = this.#context;
    if (secretBox !== null) return secretBox;
    throw new AppError(
      'PRECONDITION_FAILED',
      'The signing secrets of webhooks are stored encrypted, and there is no key for that: set KEYSTILE_ENCRYPTION_KEY to 32 random bytes in base64, the same on every node.',
    );
  }

  #newSecret(): string {
    return `whsec_${base64(this.#context.system.randomBytes(SECRET_BYTES))}`;
  }
}

/**
 * Whoever says where a webhook sends events, which ones, or that it sends them again, reads them: they need the right to read what the
 * webhook gets after the change.
 */
function patched(actor: Actor, before: WebhookRecord, { url, types, apiIds, enabled }: WebhookPatch): ChangedWebhook {
  const isResumed =
    (enabled === true && (before.pausedAtMs !== null || !before.enabled)) || (url ?? before.url) !== before.url;
  const webhook = {
    ...before,
    ...(url === undefined ? {} : { url }),
    ...(types === undefined ? {} : { types }),
    ...(apiIds === undefined ? {} : { apiIds }),
    enabled: enabled ?? before.enabled,
    ...(isResumed ? { pausedAtMs: null, pausedBecause: null } : {}),
  };
  const isShown = url !== undefined || types !== undefined || apiIds !== undefined || enabled === true;
  if (isShown) requireEventsOf(actor, webhook.apiIds);
  return { webhook, isResumed };
}

interface ChangedWebhook {
  readonly webhook: WebhookRecord;
  readonly isResumed: boolean;
  /** For the audit log, where it shows other facts than the fields. */
  readonly facts?: Readonly<Record<'before' | 'after', Record<string, unknown>>>;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The log of what was sent to webhooks, and sending by hand. */
export class WebhookDeliveries {
  readonly #context: WebhookContext;
  readonly #webhooks: WebhookAdmin;

  constructor(context: WebhookContext, webhooks: WebhookAdmin) {
    this.#context = context;
    this.#webhooks = webhooks;
  }

  async list(actor: Actor, query: DeliveryQuery): Promise<readonly Delivery[]> {
    await this.#webhooks.load(actor, 'webhook.read_webhook', query.webhookId);
    return this.#context.storage.webhooks.listDeliveries(query);
  }

  /** Sends an event again, or for the first time. Whoever asks for it must be allowed to read what the webhook gets. */
  async redeliver(actor: Actor, webhookId: string, eventId: string): Promise<void> {
    const { changes, storage } = this.#context;
    await changes.apply(async () => {
      const webhook = await this.#webhooks.loadReadable(actor, webhookId);
      const event = await storage.events.find(eventId);
      if (event === null || !(await mayGetEvent(webhook, event, storage.records))) throw notFound('event', eventId);
      const draft = emptyDraft();
      draft.writes.push({ kind: 'redeliver', webhookId, eventId, atMs: storage.ledger.nowMs() });
      const facts = { before: null, after: { eventId } };
      draft.entries.push(auditEntry(actor, { action: 'webhook.redeliver', target: webhookId, ...facts }));
      return { change: draft, answer: () => undefined };
    });
  }

  /** Writes an event that this webhook alone gets. Answers its id. */
  async sendTest(actor: Actor, webhookId: string): Promise<string> {
    const { changes, events } = this.#context;
    return changes.apply(async () => {
      await this.#webhooks.load(actor, 'webhook.update_webhook', webhookId);
      const event = events.make('webhook.test', { webhookId }, { actor: actor.id });
      const facts = { before: null, after: { eventId: event.id } };
      const entry = auditEntry(actor, { action: 'webhook.sendTest', target: webhookId, ...facts });
      return {
        change: { writes: [], accounts: [], entries: [entry], events: [event] },
        answer: () => event.id,
      };
    });
  }
}

/** What webhooks need beside the rest of management. */
interface WebhookContext extends AdminContext {
  readonly outgoing: Outgoing;
  /** null = there is no key that encrypts signing secrets. */
  readonly secretBox: SecretBox | null;
}

/** A webhook as the audit log shows it: without its secrets, and without the query of its URL, which may hold a token. */
function auditedWebhook({ url, types, apiIds, enabled, pausedAtMs }: WebhookRecord): Record<string, unknown> {
  return { url: url.split(/[?#]/)[0], events: types, apis: apiIds, enabled, paused: pausedAtMs !== null };
}

const TEST: EventType = 'webhook.test';

type KeyReader = Pick<Records, 'findAnyKey'>;

/** What an event says of the records that it is about. */
interface EventIds {
  readonly webhookId?: string;
  readonly apiId?: string;
  readonly keyId?: string;
}

const idsOf = ({ data }: StoredEvent): EventIds => JSON.parse(data) as EventIds;

/** Whether a webhook gets this event. A test is for the one webhook that it names, whichever events that one gets. */
async function wantsEvent(webhook: WebhookRecord, event: StoredEvent, records: KeyReader): Promise<boolean> {
  if (event.type === TEST) return idsOf(event).webhookId === webhook.id;
  if (webhook.types !== null && !webhook.types.includes(event.type)) return false;
  return mayGetEvent(webhook, event, records);
}

/** Whether an event may be sent to a webhook at all, also by hand: one that is bound to apis gets events of these, and tests. */
async function mayGetEvent({ id, apiIds }: WebhookRecord, event: StoredEvent, records: KeyReader): Promise<boolean> {
  if (apiIds === null) return true;
  const ids = idsOf(event);
  if (event.type === TEST) return ids.webhookId === id;
  const apiId = ids.apiId ?? (ids.keyId === undefined ? null : await apiOfKey(ids.keyId, records));
  return apiId !== null && apiIds.includes(apiId);
}

/** `reservation.expired` names the key, and not its api. */
async function apiOfKey(keyId: string, records: KeyReader): Promise<string | null> {
  const found = await records.findAnyKey(keyId);
  if (found === null) return null;
  return 'poisoned' in found ? found.apiId : found.key.apiId;
}

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
