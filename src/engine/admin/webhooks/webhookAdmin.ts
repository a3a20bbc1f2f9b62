import { MAX_WEBHOOKS } from '../../../core/bounds.ts';
import { AppError, notFound } from '../../../core/errors.ts';
import { ID_RANDOM_BYTES, makeId } from '../../../core/ids.ts';
import type { WebhookRecord } from '../../../core/records.ts';
import type { Operation } from '../../../core/rights.ts';
import { auditEntry } from '../audit/auditEntry.ts';
import type { Actor } from '../change/actor.ts';
import { emptyDraft } from '../change/draft.ts';
import { requireEverywhere, requireOn } from '../change/requireRight.ts';
import { auditedWebhook } from './auditedWebhook.ts';
import type { SecretBox } from './outgoing.ts';
import type { WebhookContext } from './webhookContext.ts';

const SECRET_BYTES = 32;

/** null in `types`: all events. On update, a field that is absent stays. */
export interface WebhookPatch {
  readonly url?: string;
  readonly types?: readonly string[] | null;
  readonly enabled?: boolean;
}

export class WebhookAdmin {
  readonly #context: WebhookContext;

  constructor(context: WebhookContext) {
    this.#context = context;
  }

  /** Creates a webhook. Its secret is shown this once. Whoever chooses a target reads events of all apis. */
  async create(
    actor: Actor,
    { url, types = null, enabled = true }: WebhookPatch & { url: string },
  ): Promise<{ webhookId: string; secret: string }> {
    requireEverywhere(actor, 'webhook.create_webhook');
    requireEverywhere(actor, 'event.read_event');
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
    await this.load(actor, 'webhook.update_webhook', webhookId);
    if (url !== undefined) requireEverywhere(actor, 'event.read_event');
    if (url !== undefined) await this.#checkTarget(url);
    await this.#change(actor, webhookId, 'webhook.update', (before) => {
      const isEnabled = patch.enabled === true && (before.pausedAtMs !== null || !before.enabled);
      const isResumed = isEnabled || (url !== undefined && url !== before.url);
      return {
        webhook: {
          ...before,
          ...(url === undefined ? {} : { url }),
          ...(patch.types === undefined ? {} : { types: patch.types }),
          enabled: patch.enabled ?? before.enabled,
          ...(isResumed ? { pausedAtMs: null, pausedBecause: null } : {}),
        },
        isResumed,
      };
    });
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

  /** Gives the webhook another secret. Both sign for `overlapMs`; 0 = the old one ends at once. */
  async rotateSecret(actor: Actor, webhookId: string, overlapMs: number): Promise<string> {
    await this.load(actor, 'webhook.update_webhook', webhookId);
    const box = this.#box();
    const secret = this.#newSecret();
    await this.#change(actor, webhookId, 'webhook.rotateSecret', (before, nowMs) => ({
      webhook: {
        ...before,
        secret: box.seal(secret, webhookId),
        formerSecret: overlapMs > 0 ? before.secret : null,
        formerUntilMs: overlapMs > 0 ? nowMs + overlapMs : null,
      },
      isResumed: false,
      facts: { before: {}, after: { overlapMs } },
    }));
    return secret;
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

interface ChangedWebhook {
  readonly webhook: WebhookRecord;
  readonly isResumed: boolean;
  /** For the audit log, where it shows other facts than the fields. */
  readonly facts?: Readonly<Record<'before' | 'after', Record<string, unknown>>>;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
