import type { WebhookRecord } from '../../core/records.ts';
import type { RootKeyRecord } from '../../model/access.ts';
import { SqlWebhooks } from './webhooks.ts';
import { LIST_ROOT_KEYS } from './query/queries.ts';
import { type RecordRow, toRootKey } from './query/recordRows.ts';
import type { SqlReader, SqlWriter } from './query/statement.ts';

/** The records that an inspection of a database from outside reads. */
export interface InspectedRecords {
  readonly rootKeys: readonly RootKeyRecord[];
  readonly webhooks: readonly WebhookRecord[];
  /** Since when the target of each webhook fails. */
  readonly failing: ReadonlyMap<string, number>;
  /** When the last change was made, by the clock of that moment; 0 = there is none. */
  readonly newestChangeMs: number;
}

const NO_WRITER: SqlWriter = {
  write: () => Promise.reject(new Error('a look at the database writes nothing')),
  share: () => Promise.reject(new Error('a look at the database writes nothing')),
};

export async function inspectRecords(reader: SqlReader): Promise<InspectedRecords> {
  const webhooks = new SqlWebhooks(reader, NO_WRITER);
  // Uses the primary key: entries are numbered in the order of their creation.
  const newest = 'SELECT at_ms FROM audit_entries ORDER BY number DESC LIMIT 1';
  return {
    rootKeys: (await reader.find<RecordRow>({ sql: LIST_ROOT_KEYS, params: [] })).map(toRootKey),
    webhooks: await webhooks.list(),
    failing: await webhooks.listFailing(),
    newestChangeMs: (await reader.find<{ at_ms: number }>({ sql: newest, params: [] }))[0]?.at_ms ?? 0,
  };
}
