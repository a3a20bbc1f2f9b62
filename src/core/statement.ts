export const DAY_MS = 86_400_000;

/** What happened to the credits of an account, besides the movements into and out of reservations. */
export interface Movements {
  /** By `credits.grant`. */
  readonly granted: number;
  readonly refilled: number;
  /** By all other calls that change a balance. Negative where they lower it. */
  readonly adjusted: number;
  readonly spent: number;
  /** Granted credits that expired unused. */
  readonly expired: number;
}

/**
 * One line of the statement of an account. A line lies within one UTC day and one refill period. In every line:
 *
 *   closing = opening + granted + refilled + adjusted - spent - expired
 *
 * Both balances include what reservations hold. The opening of a line is the closing of the line before.
 */
export interface StatementLine extends Movements {
  /** The line begins at this instant. The lines of an account have different ones. */
  readonly startMs: number;
  /** The mark of the account: where its refill period began. */
  readonly periodMs: number;
  readonly opening: number;
  readonly closing: number;
  /** The part of `closing` that reservations hold. */
  readonly held: number;
}

/** Two parts of one line, the earlier one first. */
export function joinedLine(first: StatementLine, second: StatementLine): StatementLine {
  return {
    ...second,
    opening: first.opening,
    granted: first.granted + second.granted,
    refilled: first.refilled + second.refilled,
    adjusted: first.adjusted + second.adjusted,
    spent: first.spent + second.spent,
    expired: first.expired + second.expired,
  };
}

export function dayStartOf(atMs: number): number {
  return atMs - (atMs % DAY_MS);
}

/** The largest time that a Date can hold (ECMA-262, 21.4.1.1). A key may expire later. */
export const MAX_DATE_MS = 8_640_000_000_000_000;
