import type { AccountState } from '../../../core/account.ts';

/** An account as the log holds it: eight numbers. */
export type LoggedAccount = readonly [
  id: number,
  kind: number,
  value: number,
  mark: number,
  dueAtMs: number,
  revision: number,
  base: number,
  segmentMs: number,
];

export const ACCOUNT_LENGTH = 8;

/** Instead of the kind: the account has no row. */
export const CLOSED = -1;

/** All of them in one block of numbers. */
export function toLoggedAccounts(states: ReadonlyMap<number, AccountState | null>): Float64Array {
  const numbers = new Float64Array(states.size * ACCOUNT_LENGTH);
  let at = 0;
  for (const [id, state] of states) {
    writeAccount(numbers, at, id, state);
    at += ACCOUNT_LENGTH;
  }
  return numbers;
}

/** Writes an account into a block of numbers. */
export function writeAccount(numbers: Float64Array, at: number, id: number, state: AccountState | null): void {
  numbers[at] = id;
  numbers[at + 1] = state === null ? CLOSED : kindNumber(state);
  numbers[at + 2] = state?.value ?? 0;
  numbers[at + 3] = state?.mark ?? 0;
  numbers[at + 4] = state?.dueAtMs ?? 0;
  numbers[at + 5] = state?.revision ?? 0;
  numbers[at + 6] = state?.base ?? 0;
  numbers[at + 7] = state?.segmentMs ?? 0;
}

export function readAccount(numbers: Float64Array, at: number): AccountState | null {
  const kind = numbers[at + 1];
  if (kind === CLOSED) return null;
  return {
    kind: kind === 0 ? 'credits' : 'window',
    value: numbers[at + 2] ?? 0,
    mark: numbers[at + 3] ?? 0,
    dueAtMs: numbers[at + 4] ?? 0,
    revision: numbers[at + 5] ?? 0,
    base: numbers[at + 6] ?? 0,
    segmentMs: numbers[at + 7] ?? 0,
  };
}

function kindNumber({ kind }: AccountState): number {
  return kind === 'credits' ? 0 : 1;
}

/** True of every number of an account but its kind. */
export function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}
