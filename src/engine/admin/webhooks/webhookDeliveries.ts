import { notFound } from '../../../core/errors.ts';
import type { Delivery, DeliveryQuery } from '../../../storage/port/webhooks.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { Actor } from '../change/actor.ts';
import { emptyDraft } from '../change/draft.ts';
import type { WebhookAdmin } from './webhookAdmin.ts';
import { mayGetEvent } from './wantsEvent.ts';
import type { WebhookContext } from './webhookContext.ts';

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
