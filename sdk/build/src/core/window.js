/**
 * Fixed windows, aligned to 1970-01-01. A counter is stored with the instant at which its window ends, not with a window number:
 * a number would be wrong after a change of duration, and a clock that is set back must not open a window again.
 */
export function windowEnd(nowMs, durationMs) {
  return (Math.floor(nowMs / durationMs) + 1) * durationMs;
}
/** How far another node's clock may be ahead. All nodes follow the clock of one database, within a round trip to it. */
export const AHEAD_MS = 1_000;
/** The limit allows `cost` more. A cost of 0 asks whether the limit is kept now. */
export function fits(count, cost, limit) {
  return count + cost <= limit;
}
