import type { CreditCall } from '../../../core/records.ts';
import type { Params } from '../query/statement.ts';

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
