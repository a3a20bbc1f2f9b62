import type { QueryConfig } from 'pg';

import type { AccountState } from '../../../core/account.ts';
import type { Pockets } from '../../../core/expiringCredits.ts';
import type { Reservation } from '../../../core/reservation.ts';
import type { AccountLine, CreditWrites, StoredCredits } from '../../port/credits.ts';
import type { ReadAccount } from '../../port/storage.ts';
import { int8List } from '../connection/binaryLists.ts';
import { ADD_TO_LINE, creditStatements, LINE_COLUMNS, lineValues } from '../../sql/creditWrites.ts';

/** Numbers of an account in an answer of ledger_lock_v1. */
const ACCOUNT_NUMBERS = 8;

export interface AccountRow extends Record<string, unknown> {
  id: number;
  kind: number;
  value: number;
  mark: number;
  due_at_ms: number;
  revision: number;
  base: number;
  segment_ms: number;
}

function toState({ kind, value, mark, due_at_ms, revision, base, segment_ms }: AccountRow): AccountState {
  return {
    kind: kind === 0 ? 'credits' : 'window',
    value,
    mark,
    dueAtMs: due_at_ms,
    revision,
    base,
    segmentMs: segment_ms,
  };
}

/** One statement, because a balance and the pockets of another moment would not fit together. */
export const READ_ACCOUNTS = `SELECT a.id, a.kind, a.value, a.mark, a.due_at_ms, a.revision, a.base, a.segment_ms, p.state AS pockets
  FROM accounts a LEFT JOIN pockets p ON p.account = a.id WHERE a.id = ANY ($1::bigint[])`;

export function toReadAccount(row: AccountRow & { readonly pockets: string | null }): ReadAccount {
  return { ...toState(row), ...(row.pockets === null ? {} : { pockets: JSON.parse(row.pockets) as Pockets }) };
}

export function readStates(numbers: readonly number[]): Map<number, AccountState> {
  const states = new Map<number, AccountState>();
  for (let i = 0; i < numbers.length; i += ACCOUNT_NUMBERS) {
    const [id = 0, kind = 0, value = 0, mark = 0, due_at_ms = 0, revision = 0, base = 0, segment_ms = 0] =
      numbers.slice(i, i + ACCOUNT_NUMBERS);
    states.set(id, toState({ id, kind, value, mark, due_at_ms, revision, base, segment_ms }));
  }
  return states;
}

/** The queries that write the new state of accounts; null = closed. */
export function accountWrites(states: ReadonlyMap<number, AccountState | null>): readonly QueryConfig[] {
  const kept = [...states].flatMap(([id, state]) => (state === null ? [] : [{ id, state }]));
  const closed = [...states].filter(([, state]) => state === null).map(([id]) => id);
  const writes: QueryConfig[] = [];
  if (closed.length > 0)
    writes.push({ text: 'DELETE FROM accounts WHERE id = ANY ($1::bigint[])', values: [int8List(closed)] });
  if (kept.length > 0) {
    writes.push({
      text: `INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision, base, segment_ms)
        SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
        ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, value = excluded.value, mark = excluded.mark, due_at_ms = excluded.due_at_ms,
          revision = excluded.revision, base = excluded.base, segment_ms = excluded.segment_ms, padding = NULL`,
      // The driver's own way of writing lists takes ten times as long.
      values: [
        int8List(kept.map(({ id }) => id)),
        `{${kept.map(({ state }) => (state.kind === 'credits' ? 0 : 1)).join(',')}}`,
        int8List(kept.map(({ state }) => state.value)),
        int8List(kept.map(({ state }) => state.mark)),
        int8List(kept.map(({ state }) => state.dueAtMs)),
        int8List(kept.map(({ state }) => state.revision)),
        int8List(kept.map(({ state }) => state.base)),
        int8List(kept.map(({ state }) => state.segmentMs)),
      ],
    });
  }
  return writes;
}

/** The queries for what a transaction writes about credits besides their accounts. */
export function creditQueries(writes: CreditWrites): readonly QueryConfig[] {
  const others = creditStatements(writes).map(({ sql, params }) => ({ text: sql, values: params }));
  return writes.lines.length === 0 ? others : [linesQuery(writes.lines), ...others];
}

function linesQuery(lines: readonly AccountLine[]): QueryConfig {
  const rows = lines.map(lineValues);
  const columns = LINE_COLUMNS.map((_, i) => int8List(rows.map((row) => row[i] ?? 0)));
  return {
    name: 'add_lines',
    text: `INSERT INTO statement_lines (${LINE_COLUMNS.join(', ')})
      SELECT * FROM unnest(${LINE_COLUMNS.map((_, i) => `$${i + 1}::bigint[]`).join(', ')}) ${ADD_TO_LINE}`,
    values: columns,
  };
}

/** An array of the database as numbers. */
export function toNumbers(text: string): number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(Number);
}

export interface PocketsRow {
  readonly account: number;
  readonly state: string;
}

/** Asked after the accounts are locked, when nobody else can change their pockets. */
export function pocketsQuery(accounts: readonly number[]): QueryConfig {
  return {
    name: 'pockets',
    text: 'SELECT account, state FROM pockets WHERE account = ANY ($1::bigint[])',
    values: [int8List(accounts)],
  };
}

/** The reservations that a transaction has read. */
interface ReadReservations {
  readonly found: readonly Reservation[];
  readonly live: number;
}

export function storedPockets(
  rows: readonly PocketsRow[],
  { found, live }: ReadReservations = { found: [], live: 0 },
): StoredCredits {
  const pockets = new Map(rows.map(({ account, state }) => [account, JSON.parse(state) as Pockets]));
  const byId = new Map(found.map((each) => [each.id, each]));
  return {
    pockets: (account) => pockets.get(account) ?? null,
    reservation: (id) => byId.get(id),
    reservationUnder: (keyId, id) => found.find((each) => each.keyId === keyId && each.idempotency?.id === id),
    liveReservations: () => live,
  };
}
