export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}

/** The median of the rounds, with the smallest and the largest value, which show the noise. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** The standard error of the mean; NaN of one value. */
  readonly error: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), error: standardError(values) };
}

/** The quotient of two sides, with its standard error. */
export interface Quotient {
  readonly quotient: number;
  readonly error: number;
}

/**
 * A quantity of all pairs together, with its standard error: how much it changes when one pair is left out (jackknife). Unlike a median over
 * pairs it also counts what is rare.
 */
export function overAll<T>(pairs: readonly T[], quantity: (pairs: readonly T[]) => number): Quotient {
  const without = pairs.map((_, i) => quantity(pairs.toSpliced(i, 1)));
  return { quotient: quantity(pairs), error: standardError(without) * (pairs.length - 1) };
}

export function sumOf<T>(values: readonly T[], number: (value: T) => number): number {
  return values.reduce((sum, value) => sum + number(value), 0);
}

function standardError(values: readonly number[]): number {
  const mean = sumOf(values, (value) => value) / values.length;
  const squares = sumOf(values, (value) => (value - mean) ** 2);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}
