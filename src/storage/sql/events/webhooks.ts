import { MAX_DELIVERY_LOG } from '../../../core/bounds.ts';
import type { WebhookRecord } from '../../../core/records.ts';
import type {
  Claim,
  ClaimedDelivery,
  Delivery,
  DeliveryQuery,
  QueueStep,
  TryOutcome,
  Webhooks,
  WebhookWork,
} from '../../port/webhooks.ts';
import { insertRows, type Params, type SqlReader, type SqlWriter, type WriteStatement } from '../query/statement.ts';
import {
  type ClaimedRow,
  DELIVERY_COLUMNS,
  type DeliveryRow,
  stateNumber,
  toClaimedEvent,
  toDelivery,
  toWebhook,
  type WebhookRow,
} from './webhookRows.ts';

type WorkRow = WebhookRow & { readonly queued_to: number; readonly next_due_ms: number | null };

/** The webhooks and deliveries of both engines. */
export class SqlWebhooks implements Webhooks {
  readonly #reader: SqlReader;
  readonly #writer: SqlWriter;

  constructor(reader: SqlReader, writer: SqlWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  async find(webhookId: string): Promise<WebhookRecord | null> {
    const rows = await this.#find<WebhookRow>('SELECT * FROM webhooks WHERE id = $1', [webhookId]);
    return rows.map(toWebhook)[0] ?? null;
  }

  async list(): Promise<readonly WebhookRecord[]> {
    return (await this.#find<WebhookRow>('SELECT * FROM webhooks ORDER BY id', [])).map(toWebhook);
  }

  async countWaiting(webhookId: string, upTo: number): Promise<number> {
    const sql = `SELECT count(*) AS total FROM (
      SELECT 1 FROM deliveries WHERE webhook_id = $1 AND state = 0 LIMIT $2) counted`;
    return (await this.#find<{ total: number }>(sql, [webhookId, upTo]))[0]?.total ?? 0;
  }

  async listFailing(): Promise<ReadonlyMap<string, number>> {
    // By the index deliveries_due. What has failed most often is due last.
    const sql = `SELECT w.id, (SELECT min(latest.failing_since_ms) FROM (
        SELECT d.failing_since_ms FROM deliveries d WHERE d.webhook_id = w.id AND d.state = 0 ORDER BY d.due_at_ms DESC LIMIT 20
      ) latest) AS since FROM webhooks w`;
    const rows = await this.#find<{ id: string; since: number | null }>(sql, []);
    return new Map(rows.flatMap(({ id, since }) => (since === null ? [] : [[id, since] as const])));
  }

  async listDeliveries({ webhookId, state, limit, before }: DeliveryQuery): Promise<readonly Delivery[]> {
    const params: Params = [webhookId];
    const conditions = ['d.webhook_id = $1'];
    if (before !== null) conditions.push(`d.sequence < $${params.push(before)}`);
    if (state !== null) conditions.push(`d.state = $${params.push(stateNumber(state))}`);
    const sql = `SELECT ${DELIVERY_COLUMNS} FROM deliveries d WHERE ${conditions.join(' AND ')}
      ORDER BY d.sequence DESC LIMIT $${params.push(limit)}`;
    return (await this.#reader.scan<DeliveryRow>({ sql, params })).map(toDelivery);
  }

  findWork(): Promise<readonly WebhookWork[]> {
    return this.#findWork('', []);
  }

  async findWorkOf(webhookId: string): Promise<WebhookWork | null> {
    return (await this.#findWork('AND w.id = $1', [webhookId]))[0] ?? null;
  }

  async #findWork(condition: string, params: Params): Promise<readonly WebhookWork[]> {
    const sql = `SELECT w.*, q.queued_to,
        (SELECT min(d.due_at_ms) FROM deliveries d WHERE d.webhook_id = w.id AND d.state = 0) AS next_due_ms
      FROM webhooks w JOIN webhook_queues q ON q.webhook_id = w.id
      WHERE w.enabled = 1 AND w.paused_at_ms IS NULL ${condition} ORDER BY w.id`;
    const rows = await this.#find<WorkRow>(sql, params);
    return rows.map((row) => ({ webhook: toWebhook(row), queuedTo: row.queued_to, dueAtMs: row.next_due_ms }));
  }

  async enqueue({ webhookId, revision, from, to, events, nowMs }: QueueStep): Promise<boolean> {
    const rows = events.map((event) => ({
      webhook_id: webhookId,
      sequence: event.sequence,
      event_id: event.id,
      type: event.type,
      state: 0,
      due_at_ms: nowMs,
      attempts: 0,
      queued_at_ms: nowMs,
    }));
    const inserts = rows.length === 0 ? [] : [insertRows('deliveries', rows)];
    // The first statement holds the row: of two nodes that move it, the second finds another number. The events were read before it. So
    // those that come after a change of the webhook, which has another revision, are not among them.
    const moved: WriteStatement = {
      sql: `UPDATE webhook_queues SET queued_to = $1 WHERE webhook_id = $2 AND queued_to = $3
        AND EXISTS (SELECT 1 FROM webhooks WHERE id = $2 AND revision = $4)`,
      params: [to, webhookId, from, revision],
      expects: 1,
    };
    return (await this.#writer.write([moved, ...inserts, trimLog(webhookId)])) !== null;
  }

  async claim({ webhookId, limit, lease, nowMs, leaseMs }: Claim): Promise<readonly ClaimedDelivery[]> {
    const untilMs = nowMs + leaseMs;
    const due = `SELECT sequence FROM deliveries WHERE webhook_id = $3 AND state = 0 AND due_at_ms <= $4
      ORDER BY due_at_ms, sequence LIMIT $5`;
    const take = 'UPDATE deliveries SET lease = $1, due_at_ms = $2 WHERE webhook_id = $3 AND sequence';
    const [count = 0] =
      (await this.#writer.write([
        {
          sql: `${take} IN (${due})`,
          // What another node takes at the same time is left to it. ARRAY makes sure that the rows are chosen once.
          onPostgres: `${take} = ANY (ARRAY(${due} FOR UPDATE SKIP LOCKED))`,
          params: [lease, untilMs, webhookId, nowMs, limit],
          expects: null,
        },
      ])) ?? [];
    if (count === 0) return [];
    const rows = await this.#find<ClaimedRow>(
      `SELECT ${DELIVERY_COLUMNS}, e.at_ms AS event_at_ms, e.data AS event_data
        FROM deliveries d JOIN events e ON e.sequence = d.sequence
        WHERE d.webhook_id = $1 AND d.state = 0 AND d.due_at_ms = $2 AND d.lease = $3 ORDER BY d.sequence`,
      [webhookId, untilMs, lease],
    );
    return rows.map((row) => ({ ...toDelivery(row), event: toClaimedEvent(row) }));
  }

  async finish({ webhookId, sequence }: Delivery, lease: string, outcome: TryOutcome): Promise<void> {
    await this.#writer.share({
      sql: `UPDATE deliveries SET state = $1, due_at_ms = $2, lease = NULL, attempts = attempts + 1, last_at_ms = $3,
            failing_since_ms = $4, last_status = $5, last_error = $6
          WHERE webhook_id = $7 AND sequence = $8 AND lease = $9`,
      params: [
        stateNumber(outcome.state),
        outcome.dueAtMs,
        outcome.atMs,
        outcome.failingSinceMs,
        outcome.status,
        outcome.error,
        webhookId,
        sequence,
        lease,
      ],
      expects: null,
    });
  }

  async release(webhookId: string, lease: string, nowMs: number): Promise<void> {
    const sql = 'UPDATE deliveries SET lease = NULL, due_at_ms = $1 WHERE webhook_id = $2 AND state = 0 AND lease = $3';
    await this.#writer.write([{ sql, params: [nowMs, webhookId, lease], expects: null }]);
  }

  #find<T>(sql: string, params: Params): Promise<T[]> {
    return this.#reader.find<T>({ sql, params });
  }
}

/** Removes the oldest finished deliveries of a webhook beyond those that the log keeps. */
function trimLog(webhookId: string): WriteStatement {
  return {
    sql: `DELETE FROM deliveries WHERE webhook_id = $1 AND state <> 0 AND sequence <= (
      SELECT sequence FROM deliveries WHERE webhook_id = $1 AND state <> 0
      ORDER BY sequence DESC LIMIT 1 OFFSET ${MAX_DELIVERY_LOG})`,
    params: [webhookId],
    expects: null,
  };
}
