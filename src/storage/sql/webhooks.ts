import { MAX_DELIVERY_LOG } from '../../core/bounds.ts';
import type { WebhookRecord } from '../../core/records.ts';
import {
  type Claim,
  type ClaimedDelivery,
  type Delivery,
  DELIVERY_STATES,
  type DeliveryQuery,
  type DeliveryState,
  type QueueStep,
  type StoredEvent,
  type TryOutcome,
  type Webhooks,
  type WebhookWork,
} from '../port/events.ts';
import type { RecordWrite } from '../port/writes.ts';
import {
  insert,
  insertRows,
  type Params,
  remove,
  type SqlReader,
  type SqlWriter,
  update,
  type WriteStatement,
} from './query/statement.ts';

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
    // Uses the index deliveries_due. The delivery that has failed most often is due last.
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
    // The first statement locks the row: if two nodes move it, the second finds another number. The events were read before. So they
    // include no event that came after a change of the webhook, which has another revision.
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
          // Leaves out deliveries that another node is taking at the same time. ARRAY makes sure that the rows are chosen only once.
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

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  /** JSON of a `WantedColumn`; null = all events. */
  readonly types: string | null;
  readonly enabled: number;
  readonly paused_at_ms: number | null;
  readonly paused_because: string | null;
  readonly secret: string;
  readonly former_secret: string | null;
  readonly former_until_ms: number | null;
  readonly created_at_ms: number;
  readonly updated_at_ms: number | null;
  readonly revision: number;
}

/**
 * Which events a webhook gets: their types or, for a webhook that is bound to apis, their types and the apis. So binding needed no column
 * of its own.
 */
type WantedColumn = readonly string[] | { readonly types: readonly string[] | null; readonly apis: readonly string[] };

function toWantedColumn({ types, apiIds }: Pick<WebhookRecord, 'types' | 'apiIds'>): string | null {
  if (apiIds !== null) return JSON.stringify({ types, apis: apiIds } satisfies WantedColumn);
  return types === null ? null : JSON.stringify(types satisfies WantedColumn);
}

function fromWantedColumn(column: string | null): Pick<WebhookRecord, 'types' | 'apiIds'> {
  if (column === null) return { types: null, apiIds: null };
  const wanted = JSON.parse(column) as WantedColumn;
  return 'apis' in wanted ? { types: wanted.types, apiIds: wanted.apis } : { types: wanted, apiIds: null };
}

function toWebhook(row: WebhookRow): WebhookRecord {
  return {
    id: row.id,
    url: row.url,
    ...fromWantedColumn(row.types),
    enabled: row.enabled === 1,
    pausedAtMs: row.paused_at_ms,
    pausedBecause: row.paused_because,
    secret: row.secret,
    formerSecret: row.former_secret,
    formerUntilMs: row.former_until_ms,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    revision: row.revision,
  };
}

interface DeliveryRow {
  readonly webhook_id: string;
  readonly sequence: number;
  readonly event_id: string;
  readonly type: string;
  readonly state: number;
  readonly due_at_ms: number;
  readonly lease: string | null;
  readonly attempts: number;
  readonly queued_at_ms: number;
  readonly failing_since_ms: number | null;
  readonly last_at_ms: number | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
}

const DELIVERY_COLUMNS =
  'd.webhook_id, d.sequence, d.event_id, d.type, d.state, d.due_at_ms, d.lease, d.attempts, d.queued_at_ms, d.failing_since_ms, d.last_at_ms, d.last_status, d.last_error';

function toDelivery(row: DeliveryRow): Delivery {
  return {
    webhookId: row.webhook_id,
    sequence: row.sequence,
    eventId: row.event_id,
    type: row.type,
    state: DELIVERY_STATES[row.state] ?? 'failed',
    dueAtMs: row.due_at_ms,
    isLeased: row.lease !== null,
    attempts: row.attempts,
    queuedAtMs: row.queued_at_ms,
    failingSinceMs: row.failing_since_ms,
    lastAtMs: row.last_at_ms,
    lastStatus: row.last_status,
    lastError: row.last_error,
  };
}

function stateNumber(state: DeliveryState): number {
  return DELIVERY_STATES.indexOf(state);
}

interface ClaimedRow extends DeliveryRow {
  readonly event_at_ms: number;
  readonly event_data: string;
}

function toClaimedEvent(row: ClaimedRow): StoredEvent {
  return { sequence: row.sequence, id: row.event_id, type: row.type, atMs: row.event_at_ms, data: row.event_data };
}

type WebhookWrite = Extract<RecordWrite, { kind: 'insertWebhook' | 'updateWebhook' | 'removeWebhook' | 'redeliver' }>;

export function webhookStatements(write: WebhookWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertWebhook':
      return [insert('webhooks', webhookColumns(write.webhook)), beginQueue(write.webhook.id)];
    case 'updateWebhook': {
      const { webhook, expect, resumesAtMs } = write;
      const updated = update('webhooks', webhookColumns(webhook), { id: webhook.id, revision: expect });
      return resumesAtMs === null ? [updated] : [updated, resume(webhook.id, resumesAtMs)];
    }
    case 'removeWebhook':
      return [
        remove('webhooks', { id: write.webhookId, revision: write.expect }),
        { ...remove('webhook_queues', { webhook_id: write.webhookId }), expects: null },
        { ...remove('deliveries', { webhook_id: write.webhookId }), expects: null },
      ];
    case 'redeliver':
      return [redeliver(write)];
  }
}

/** A simultaneous event that this statement cannot see yet has a higher sequence. */
function beginQueue(webhookId: string): WriteStatement {
  return {
    sql: 'INSERT INTO webhook_queues (webhook_id, queued_to) SELECT $1, coalesce(max(sequence), 0) FROM events',
    params: [webhookId],
    expects: 1,
  };
}

/** A delivery that a node is sending stays with it until the end of its lease. */
function resume(webhookId: string, atMs: number): WriteStatement {
  return {
    sql: `UPDATE deliveries SET failing_since_ms = NULL,
        due_at_ms = CASE WHEN lease IS NULL THEN CAST($1 AS bigint) ELSE due_at_ms END
      WHERE webhook_id = $2 AND state = 0`,
    params: [atMs, webhookId],
    expects: null,
  };
}

function redeliver({ webhookId, eventId, atMs }: Extract<WebhookWrite, { kind: 'redeliver' }>): WriteStatement {
  return {
    sql: `INSERT INTO deliveries (webhook_id, sequence, event_id, type, state, due_at_ms, attempts, queued_at_ms)
      SELECT q.webhook_id, e.sequence, e.id, e.type, 0, CAST($1 AS bigint), 0, CAST($1 AS bigint)
      FROM events e, webhook_queues q WHERE e.id = $2 AND q.webhook_id = $3
      ON CONFLICT (webhook_id, sequence) DO UPDATE SET state = 0, due_at_ms = excluded.due_at_ms, lease = NULL, failing_since_ms = NULL`,
    params: [atMs, eventId, webhookId],
    expects: 1,
  };
}

function webhookColumns(webhook: WebhookRecord): Record<string, Params[number]> {
  return {
    id: webhook.id,
    url: webhook.url,
    types: toWantedColumn(webhook),
    enabled: webhook.enabled ? 1 : 0,
    paused_at_ms: webhook.pausedAtMs,
    paused_because: webhook.pausedBecause,
    secret: webhook.secret,
    former_secret: webhook.formerSecret,
    former_until_ms: webhook.formerUntilMs,
    created_at_ms: webhook.createdAtMs,
    updated_at_ms: webhook.updatedAtMs,
    revision: webhook.revision,
  };
}
