import { MAX_COUNT } from '../../core/bounds.ts';
import type { Pockets } from '../../core/expiringCredits.ts';
import type { CreditCall } from '../../core/records.ts';
import type { Reservation } from '../../core/reservation.ts';
import type { AccountLine, ClosedAccount, CreditWrites } from '../port/credits.ts';
import { answerText } from './reservations.ts';
import { type Params, placeholders, type WriteStatement } from './query/statement.ts';

export const LINE_COLUMNS = [
  'account',
  'start_ms',
  'period_ms',
  'opening',
  'granted',
  'refilled',
  'adjusted',
  'spent',
  'expired',
  'closing',
  'held',
] as const;

const SUMMED = ['granted', 'refilled', 'adjusted', 'spent', 'expired'] as const;
const REPLACED = ['period_ms', 'closing', 'held'] as const;

/** An existing line gets the movements added, and the new closing balance. */
export const ADD_TO_LINE = `ON CONFLICT (account, start_ms) DO UPDATE SET
  ${SUMMED.map((name) => `${name} = statement_lines.${name} + excluded.${name}`).join(', ')},
  ${REPLACED.map((name) => `${name} = excluded.${name}`).join(', ')}`;

export function lineValues({ account, line }: AccountLine): number[] {
  const { startMs, periodMs, opening, granted, refilled, adjusted, spent, expired, closing, held } = line;
  return [account, startMs, periodMs, opening, granted, refilled, adjusted, spent, expired, closing, held];
}

/** The statements for everything except the lines, which each engine writes in its own way. */
export function creditStatements({ pockets, reservations, risen, closed }: CreditWrites): WriteStatement[] {
  return [
    ...pockets.map((each) => pocketsStatement(each.account, each.pockets)),
    ...reservations.map(reservationStatement),
    ...risen.map(({ account, value }) => forgetTold(account, value)),
    ...closed.map(closedStatement),
    ...closed.map(({ account }) => forgetTold(account, MAX_COUNT)),
  ];
}

export const ADD_LINE = `INSERT INTO statement_lines (${LINE_COLUMNS.join(', ')})
  VALUES (${placeholders(LINE_COLUMNS.length)}) ${ADD_TO_LINE}`;

/**
 * Runs in the transaction in which the balance rises, so that later events are about the new balance. A spend never raises a balance. The
 * refill inside a spend does the same as this statement (ledger_spend_v1).
 */
function forgetTold(account: number, value: number): WriteStatement {
  const sql = 'DELETE FROM told_credits WHERE account = $1 AND below <= $2';
  return { sql, params: [account, value], expects: null };
}

/** The number of an account is given once. An account that was reopened under its number belongs to its last owner. */
function closedStatement({ account, owner, metered }: ClosedAccount): WriteStatement {
  const sql = `INSERT INTO closed_accounts (account, owner, metered) VALUES ($1, $2, $3)
    ON CONFLICT (account) DO UPDATE SET owner = excluded.owner, metered = excluded.metered`;
  return { sql, params: [account, owner, metered ? 1 : 0], expects: null };
}

function pocketsStatement(account: number, pockets: Pockets | null): WriteStatement {
  if (pockets === null) return { sql: 'DELETE FROM pockets WHERE account = $1', params: [account], expects: null };
  const sql = `INSERT INTO pockets (account, held, state) VALUES ($1, $2, $3)
    ON CONFLICT (account) DO UPDATE SET held = excluded.held, state = excluded.state`;
  return { sql, params: [account, pockets.held, JSON.stringify(pockets)], expects: null };
}

/** Only these change when it ends. */
const ENDED_COLUMNS = ['state', 'ended_at_ms', 'charged', 'returned', 'remaining', 'settled_cost'];

function reservationStatement(reservation: Reservation): WriteStatement {
  const columns = reservationColumns(reservation);
  const names = Object.keys(columns);
  const changed = ENDED_COLUMNS.map((name) => `${name} = excluded.${name}`);
  const sql = `INSERT INTO reservations (${names.join(', ')}) VALUES (${placeholders(names.length)})
    ON CONFLICT (id) DO UPDATE SET ${changed.join(', ')}`;
  return { sql, params: Object.values(columns), expects: null };
}

function reservationColumns(reservation: Reservation): Record<string, Params[number]> {
  return {
    id: reservation.id,
    key_id: reservation.keyId,
    api_id: reservation.apiId,
    identity_id: reservation.identityId,
    cost: reservation.cost,
    expires_at_ms: reservation.expiresAtMs,
    on_expiry: reservation.onExpiry,
    created_at_ms: reservation.createdAtMs,
    parts: JSON.stringify(reservation.parts),
    state: reservation.state,
    ended_at_ms: reservation.endedAtMs,
    charged: reservation.charged,
    returned: reservation.returned,
    remaining: reservation.remaining,
    settled_cost: reservation.settledCost,
    idempotency_id: reservation.idempotency?.id ?? null,
    request_digest: reservation.idempotency?.requestDigest ?? null,
    answer: answerText(reservation),
  };
}

export interface CreditCallRow {
  readonly id: string;
  readonly owner: string;
  readonly kind: string;
  readonly amount: number;
  readonly expires_at_ms: number | null;
  readonly reason: string;
  readonly idempotency_id: string | null;
  readonly at_ms: number;
}

/** By the unique index of the calls with an idempotency key. */
export const FIND_CREDIT_CALL = `SELECT id, owner, kind, amount, expires_at_ms, reason, idempotency_id, at_ms
  FROM credit_calls WHERE owner = $1 AND idempotency_id = $2`;

export function creditCallColumns(call: CreditCall): Record<string, Params[number]> {
  return {
    id: call.id,
    owner: call.owner,
    kind: call.kind,
    amount: call.amount,
    expires_at_ms: call.expiresAtMs,
    reason: call.reason,
    idempotency_id: call.idempotencyId,
    at_ms: call.atMs,
  };
}

export function toCreditCall(row: CreditCallRow): CreditCall {
  return {
    id: row.id,
    owner: row.owner,
    kind: row.kind as CreditCall['kind'],
    amount: row.amount,
    expiresAtMs: row.expires_at_ms,
    reason: row.reason,
    idempotencyId: row.idempotency_id,
    atMs: row.at_ms,
  };
}
