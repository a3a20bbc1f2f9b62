import { PERMISSIONS, ROLES, ROOT_KEYS } from '../../../model/access.ts';
import { APIS } from '../../../model/apis.ts';
import { IDENTITIES } from '../../../model/identities.ts';
import { KEYS } from '../../../model/keys.ts';
import { NAMESPACES, OVERRIDES } from '../../../model/overrides.ts';
import { PLANS } from '../../../model/plans.ts';
import type { Column, RecordTable } from '../../../model/columns.ts';
import { FORMER_CODES, SUMS, LOG_COLUMNS } from '../analytics/countColumns.ts';
import { FORMER_TABLES, verdictsOfRow } from '../analytics/formerCounts.ts';
import { type CountSlice, verdictsOf } from '../analytics/packedCounts.ts';

/**
 * What `keystile data export` writes for both engines: tables, in the order in which they are written, and their columns. A test compares
 * this with both schemas: each column is here, or in NOT_EXPORTED with its reason.
 */

type ColumnKind = 'text' | 'number';

interface DataColumn {
  readonly kind: ColumnKind;
  readonly isOptional: boolean;
}

export interface DataTable {
  readonly name: string;
  /** Rows are written in the order of these columns. */
  readonly key: readonly string[];
  readonly columns: ReadonlyMap<string, DataColumn>;
  /** The embedded database has this table in analytics.db. */
  readonly isAnalytics: boolean;
}

export type DataValue = string | number | null;
export type DataRow = Readonly<Record<string, DataValue>>;

/** Names of columns, separated by spaces. */
interface Columns {
  readonly text?: string;
  readonly optionalText?: string;
  readonly number?: string;
  readonly optionalNumber?: string;
}

function table(name: string, key: string, columns: Columns): DataTable {
  const of = (names: string | undefined, column: DataColumn): (readonly [string, DataColumn])[] =>
    words(names).map((each) => [each, column]);
  return {
    name,
    key: words(key),
    columns: new Map([
      ...of(columns.text, { kind: 'text', isOptional: false }),
      ...of(columns.optionalText, { kind: 'text', isOptional: true }),
      ...of(columns.number, { kind: 'number', isOptional: false }),
      ...of(columns.optionalNumber, { kind: 'number', isOptional: true }),
    ]),
    isAnalytics: false,
  };
}

function ofRecords({ name, columns }: Pick<RecordTable, 'name' | 'columns'>): DataTable {
  const kindOf = ({ kind }: Column): ColumnKind => (kind === 'text' ? 'text' : 'number');
  return {
    name,
    key: ['id'],
    columns: new Map(columns.map((each) => [each.name, { kind: kindOf(each), isOptional: each.isOptional }])),
    isAnalytics: false,
  };
}

function words(text = ''): string[] {
  return text.split(' ').filter((word) => word !== '');
}

const RECORDS: readonly DataTable[] = [
  ofRecords(APIS),
  ofRecords(PERMISSIONS),
  ofRecords(ROLES),
  ofRecords(PLANS),
  ofRecords(IDENTITIES),
  ofRecords(KEYS),
  table('search_words', 'scope word id', { text: 'scope word id' }),
  table('former_secrets', 'digest', { text: 'digest owner', number: 'until_ms' }),
  ofRecords(ROOT_KEYS),
  ofRecords(NAMESPACES),
  ofRecords(OVERRIDES),
  table('audit_entries', 'number', {
    text: 'actor action target',
    optionalText: 'before_json after_json origin request_id via',
    number: 'number at_ms',
  }),
  table('events', 'sequence', { text: 'id type data', number: 'sequence at_ms' }),
];

const ACCOUNTS: readonly DataTable[] = [
  table('accounts', 'id', { number: 'id kind value mark due_at_ms revision base segment_ms' }),
  table('adhoc_windows', 'owner name duration_ms', { text: 'owner name', number: 'duration_ms account' }),
  // The outcome is the instant of the answer, then `left` and `resetAtMs` of each charge, separated by commas.
  ...['idempotency_0', 'idempotency_1'].map((name) =>
    table(name, 'scope id', { text: 'scope id request_digest outcome' }),
  ),
  table('statement_lines', 'account start_ms', {
    number: 'account start_ms period_ms opening granted refilled adjusted spent expired closing held told',
  }),
  table('closed_accounts', 'account', { text: 'owner', number: 'account metered' }),
  table('told_credits', 'account type below', { text: 'type', number: 'account below' }),
  table('told_limits', 'owner name duration_ms', { text: 'owner name', number: 'duration_ms reset_at_ms' }),
  table('pockets', 'account', { text: 'state', number: 'account held' }),
  table('reservations', 'id', {
    text: 'id key_id api_id on_expiry parts state answer',
    optionalText: 'identity_id idempotency_id request_digest',
    number: 'cost expires_at_ms created_at_ms charged returned',
    optionalNumber: 'ended_at_ms remaining settled_cost',
  }),
  table('credit_calls', 'id', {
    text: 'id owner kind reason',
    optionalText: 'idempotency_id',
    number: 'amount at_ms',
    optionalNumber: 'expires_at_ms',
  }),
  table('webhooks', 'id', {
    text: 'id url secret',
    optionalText: 'types paused_because former_secret',
    number: 'enabled created_at_ms revision',
    optionalNumber: 'paused_at_ms former_until_ms updated_at_ms',
  }),
  table('webhook_queues', 'webhook_id', { text: 'webhook_id', number: 'queued_to' }),
  table('deliveries', 'webhook_id sequence', {
    text: 'webhook_id event_id type',
    optionalText: 'last_error',
    number: 'sequence state due_at_ms attempts queued_at_ms',
    optionalNumber: 'failing_since_ms last_at_ms last_status',
  }),
  table('imports', 'id', { text: 'id api_id', number: 'queued done failed' }),
  table('import_batches', 'id', { text: 'id import_id api_id keys actor', number: 'first_index size' }),
  table('import_errors', 'import_id key_index', { text: 'import_id message', number: 'key_index' }),
];

const COUNTS = `code ${SUMS.join(' ')}`;

const ANALYTICS: readonly DataTable[] = [
  // Without the node that counted: each window has the sum of all nodes.
  table('local_counts', 'owner name duration_ms', {
    text: 'owner name',
    number: 'duration_ms count reset_at_ms',
  }),
  table('key_verdicts', 'span time_ms api_id key_id identity_id tags code', {
    text: 'api_id key_id identity_id tags',
    number: `span time_ms ${COUNTS}`,
  }),
  table('api_verdicts', 'span time_ms api_id tags code', {
    text: 'api_id tags',
    number: `span time_ms ${COUNTS}`,
  }),
  table('key_uses', 'key_id', { text: 'key_id', number: 'last_used_at_ms' }),
  // Includes the counts that are not in the log yet (count_slices).
  table('verdict_log', 'number', {
    text: 'api_id key_id identity_id tags',
    number: `minute_ms ${COUNTS} last_at_ms`,
  }),
].map((each) => ({ ...each, isAnalytics: true }));

/** The next numbers, and which partition of idempotency keys is in use since when. Each engine stores these in its own places. */
export const COUNTERS = table('counters', 'name', { text: 'name', number: 'value' });

/** In the order of the file. */
export const DATA_TABLES: readonly DataTable[] = [...RECORDS, ...ACCOUNTS, COUNTERS, ...ANALYTICS];

export const TABLE_NAMES: readonly string[] = DATA_TABLES.map(({ name }) => name);

/** Rows of a file, as rows of a table of this program. */
interface ReadTable {
  /** The table as the file has it. */
  readonly table: DataTable;
  readonly into: DataTable;
  readonly rowsOf: (row: DataRow) => Iterable<DataRow>;
}

/** Older exports have counts with a column for each code. */
const FORMER: readonly ReadTable[] = Object.entries(FORMER_TABLES).map(([name, { into: present, same }]) => {
  const into = DATA_TABLES.find((each) => each.name === present);
  if (into === undefined) throw new Error(`there is no table ${present}`);
  const sums = [...FORMER_CODES, 'credits'].map((each) => [each, { kind: 'number', isOptional: false }] as const);
  const columns = new Map([...[...into.columns].filter(([column]) => same.includes(column)), ...sums]);
  return { table: { ...into, name, columns }, into, rowsOf: (row) => verdictsOfRow(row) };
});

const READABLE = new Map(
  [...DATA_TABLES.map((each): ReadTable => ({ table: each, into: each, rowsOf: (row) => [row] })), ...FORMER].map(
    (each) => [each.table.name, each],
  ),
);

export function findReadable(name: string): ReadTable | undefined {
  return READABLE.get(name);
}

export const COUNTER_NAMES = [
  'next_account',
  'last_event',
  'last_audit_entry',
  'idempotency_partition',
  'idempotency_since_ms',
] as const;
export type CounterName = (typeof COUNTER_NAMES)[number];

/** Tables and columns (`table.column`) of either engine that are not exported, each with its reason. */
export const NOT_EXPORTED: Readonly<Record<string, string>> = {
  installation: 'the header has the id of the installation, and `counters` what continues; the rest is of one database',
  sessions: 'a browser signs in again',
  portal_sessions: 'a customer opens the page again',
  ledger_log: 'it is applied to the accounts while they are written',
  count_slices: 'they are written as rows of verdict_log',
  'verdict_log.number': 'the target numbers its log itself',
  'deliveries.lease': 'it belongs to a process that sends',
  'accounts.padding': 'it only reserves space',
  idempotency_partition: 'it is in `counters`',
  event_counter: 'it is in `counters`',
  committers: 'a node makes its own when it starts',
  changes: 'they tell running nodes what to forget, and no node runs on the target yet',
  change_counter: 'it numbers the changes of one database',
  nodes: 'they are processes',
  count_marks: 'they belong to nodes',
  'local_counts.node': 'counts are added up over all nodes',
  'local_counts.pushed_at': 'it tells running nodes what is new',
};

/** Packed counts (packedCounts.ts) as rows of verdict_log. */
export function* rowsOfSlice(body: string): Generator<DataRow> {
  for (const row of verdictsOf(JSON.parse(body) as CountSlice))
    yield Object.fromEntries(LOG_COLUMNS.map((column, i) => [column, row[i] ?? 0]));
}
