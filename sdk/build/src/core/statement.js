export const DAY_MS = 86_400_000;
/** Two parts of one line, the earlier one first. */
export function joinedLine(first, second) {
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
export function dayStartOf(atMs) {
  return atMs - (atMs % DAY_MS);
}
