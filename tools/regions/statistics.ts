/** The value that the given share of all values does not exceed. 0 for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function greatest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

export function least(values: readonly number[]): number {
  return values.reduce((fewest, value) => Math.min(fewest, value), values[0] ?? 0);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A number of repetitions, scaled with the length of the run. */
export function scaled(count: number, scale: number, atLeast: number): number {
  return Math.max(atLeast, Math.round(count * scale));
}
