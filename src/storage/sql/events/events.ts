import type { EventQuery, Events, StoredEvent } from '../../port/events.ts';
import { type Params, placeholders, type SqlReader, type SqlWriter } from '../query/statement.ts';

/** Events that one step of pruning removes. */
const PRUNE_STEP = 1_000;

interface EventRow {
  readonly sequence: number;
  readonly id: string;
  readonly type: string;
  readonly at_ms: number;
  readonly data: string;
}

/** Reads and prunes the events of both engines. Changes write them. */
export class SqlEvents implements Events {
  readonly #reader: SqlReader;
  readonly #writer: SqlWriter;

  constructor(reader: SqlReader, writer: SqlWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  /** By the primary key, or for types by the index events_by_type. */
  async list({ after, types, limit }: EventQuery): Promise<readonly StoredEvent[]> {
    if (types?.length === 0) return [];
    const params: Params = [after, ...(types ?? [])];
    const ofTypes = types === null ? '' : `AND type IN (${placeholders(types.length, 2)})`;
    const sql = `SELECT sequence, id, type, at_ms, data FROM events WHERE sequence > $1 ${ofTypes}
      ORDER BY sequence LIMIT $${params.push(limit)}`;
    return (await this.#reader.scan<EventRow>({ sql, params })).map(toEvent);
  }

  async find(eventId: string): Promise<StoredEvent | null> {
    const sql = 'SELECT sequence, id, type, at_ms, data FROM events WHERE id = $1';
    return (await this.#reader.find<EventRow>({ sql, params: [eventId] })).map(toEvent)[0] ?? null;
  }

  async last(): Promise<number> {
    const sql = 'SELECT sequence FROM events ORDER BY sequence DESC LIMIT 1';
    return (await this.#reader.find<{ sequence: number }>({ sql, params: [] }))[0]?.sequence ?? 0;
  }

  async prune(untilMs: number): Promise<boolean> {
    const sql = `DELETE FROM events WHERE sequence IN (
      SELECT sequence FROM events e WHERE at_ms <= $1
        AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.sequence = e.sequence AND d.state = 0)
      ORDER BY at_ms LIMIT ${PRUNE_STEP})`;
    const [removed = 0] = (await this.#writer.write([{ sql, params: [untilMs], expects: null }])) ?? [];
    return removed < PRUNE_STEP;
  }
}

function toEvent({ sequence, id, type, at_ms, data }: EventRow): StoredEvent {
  return { sequence, id, type, atMs: at_ms, data };
}
