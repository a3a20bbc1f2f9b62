import type { Epoch, Schedule } from './calendar.ts';
import type { RefillRules } from './records.ts';
import { runningEpoch } from './refillPlan.ts';

/** What can happen to the credits of a holder by itself. */
export interface DueCredits {
  /** Up to where refills are applied. */
  readonly markMs: number;
  readonly rules: RefillRules | null;
  /** When the holder moves to another plan; null = it does not. */
  readonly movesAtMs: number | null;
  /** Reservations that are held, soonest expiry first. */
  readonly held: readonly { readonly expiresAtMs: number }[];
}

/**
 * What comes next:
 *
 *   refill  all refills up to that of this instant, before something else happens
 *   expire  so many reservations, with no refill and no move before or between them
 *   move    to another plan. The refill at the instant of the move is part of it
 *   rest    only refills and grants that expire are left. They can be applied together
 */
export type DueStep =
  | { readonly kind: 'refill'; readonly atMs: number }
  | { readonly kind: 'expire'; readonly count: number }
  | { readonly kind: 'move' }
  | { readonly kind: 'rest' };

/**
 * The order in which things happen to credits. At the same instant a move and a refill come first: a reservation that expires at midnight
 * ends in the new day.
 */
export function nextDue(
  { markMs, rules, movesAtMs, held }: DueCredits,
  untilMs: number,
  epochAt?: (schedule: Schedule, atMs: number) => Epoch,
): DueStep {
  const endsAtMs = dueBy(held[0]?.expiresAtMs, untilMs);
  const moveMs = dueBy(movesAtMs ?? undefined, untilMs);
  if (endsAtMs === Infinity && moveMs === Infinity) return { kind: 'rest' };
  const epoch = rules === null ? null : runningEpoch(rules, Math.min(endsAtMs, moveMs - 1), epochAt);
  if (epoch !== null && markMs < epoch.startMs) return { kind: 'refill', atMs: epoch.startMs };
  if (moveMs <= endsAtMs) return { kind: 'move' };
  const beforeMs = Math.min(untilMs + 1, moveMs, epoch?.nextMs ?? Infinity);
  const after = held.findIndex(({ expiresAtMs }) => expiresAtMs >= beforeMs);
  return { kind: 'expire', count: after === -1 ? held.length : after };
}

function dueBy(atMs: number | undefined, untilMs: number): number {
  return atMs !== undefined && atMs <= untilMs ? atMs : Infinity;
}
