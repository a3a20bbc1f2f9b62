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

/** How many times as much one side of pairs is as the other. */
export interface Quotient {
  readonly quotient: number;
  readonly error: number;
}

/**
 * The mean of the first numbers divided by that of the second ones, with its standard error. What is rare and large counts with its full
 * weight, which a median of the quotients leaves out; and noise in the divisors does not raise it, as it does a mean of the quotients.
 */
export function quotientOfMeans(pairs: readonly (readonly [number, number])[]): Quotient {
  const [first, second] = [meanOf(pairs.map(([value]) => value)), meanOf(pairs.map(([, value]) => value))];
  const quotient = first / second;
  return { quotient, error: standardError(pairs.map(([a, b]) => a - quotient * b)) / second };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function standardError(values: readonly number[]): number {
  const mean = meanOf(values);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}
