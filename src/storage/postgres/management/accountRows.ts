import type { QueryConfig } from 'pg';

import type { AccountChange, AccountState } from '../../../core/account.ts';

/** Numbers of an account in an answer of ledger_lock_v1. */
const ACCOUNT_NUMBERS = 6;

export interface AccountRow extends Record<string, unknown> {
  id: number;
  kind: number;
  value: number;
  mark: number;
  due_at_ms: number;
  revision: number;
}

export function toState({ kind, value, mark, due_at_ms, revision }: AccountRow): AccountState {
  return { kind: kind === 0 ? 'credits' : 'window', value, mark, dueAtMs: due_at_ms, revision };
}

export function readStates(numbers: readonly number[]): Map<number, AccountState> {
  const states = new Map<number, AccountState>();
  for (let i = 0; i < numbers.length; i += ACCOUNT_NUMBERS) {
    const [id = 0, kind = 0, value = 0, mark = 0, due_at_ms = 0, revision = 0] = numbers.slice(i, i + ACCOUNT_NUMBERS);
    states.set(id, toState({ id, kind, value, mark, due_at_ms, revision }));
  }
  return states;
}

/** The statements that write accounts as they are after their changes. */
export function accountWrites(
  changes: readonly AccountChange[],
  after: readonly (AccountState | null)[],
): readonly QueryConfig[] {
  const last = new Map(changes.map(({ account }, i) => [account, after[i] ?? null]));
  const kept = [...last].flatMap(([id, state]) => (state === null ? [] : [{ id, state }]));
  const closed = [...last].filter(([, state]) => state === null).map(([id]) => id);
  const writes: QueryConfig[] = [];
  if (closed.length > 0) writes.push({ text: 'DELETE FROM accounts WHERE id = ANY ($1::bigint[])', values: [closed] });
  if (kept.length > 0) {
    writes.push({
      text: `INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision)
        SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
        ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, value = excluded.value, mark = excluded.mark,
          due_at_ms = excluded.due_at_ms, revision = excluded.revision, padding = NULL`,
      values: [
        kept.map(({ id }) => id),
        kept.map(({ state }) => (state.kind === 'credits' ? 0 : 1)),
        kept.map(({ state }) => state.value),
        kept.map(({ state }) => state.mark),
        kept.map(({ state }) => state.dueAtMs),
        kept.map(({ state }) => state.revision),
      ],
    });
  }
  return writes;
}

/** An array of the database as numbers. */
export function toNumbers(text: string): number[] {
  return text === '{}' ? [] : text.slice(1, -1).split(',').map(Number);
}
