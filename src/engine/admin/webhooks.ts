import { MAX_WEBHOOKS } from '../../core/bounds.ts';
import { AppError, notFound } from '../../core/errors.ts';
import type { EventType } from '../../core/events.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { WebhookRecord } from '../../core/records.ts';
import type { Operation } from '../../core/rights.ts';
import { auditEntry } from './audit.ts';
import type { AdminContext } from './change/adminContext.ts';
import { emptyDraft } from './change/applyChange.ts';
import { type Actor, requireEventsOf, requireEverywhere, requireOn, requireSomewhere } from './change/requireRight.ts';
import type { Outgoing, SecretBox } from './webhookPorts.ts';
import type { Delivery, DeliveryQuery, StoredEvent } from '../../storage/port/events.ts';
import type { Records } from '../../storage/port/records.ts';

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
export interface WebhookContext extends AdminContext {
  readonly outgoing: Outgoing;
  /** null = there is no key that encrypts signing secrets. */
  readonly secretBox: SecretBox | null;
}

/** A webhook as the audit log shows it: without its secrets, and without the query of its URL, which may hold a token. */
export function auditedWebhook({ url, types, apiIds, enabled, pausedAtMs }: WebhookRecord): Record<string, unknown> {
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
export async function wantsEvent(webhook: WebhookRecord, event: StoredEvent, records: KeyReader): Promise<boolean> {
  if (event.type === TEST) return idsOf(event).webhookId === webhook.id;
  if (webhook.types !== null && !webhook.types.includes(event.type)) return false;
  return mayGetEvent(webhook, event, records);
}

/** Whether an event may be sent to a webhook at all, also by hand: one that is bound to apis gets events of these, and tests. */
export async function mayGetEvent(
  { id, apiIds }: WebhookRecord,
  event: StoredEvent,
  records: KeyReader,
): Promise<boolean> {
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
