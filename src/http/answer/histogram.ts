/** The counts of a histogram at one moment. */
export interface HistogramReading {
  /** Upper bounds. One count more is for what is larger than all of them. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Counts by upper bound; adding a value is a short search and two additions. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  add(value: number): void {
    let i = 0;
    while (i < this.#bounds.length && value > (this.#bounds[i] ?? Infinity)) i++;
    this.#counts[i] = (this.#counts[i] ?? 0) + 1;
    this.#sum += value;
  }

  read(): HistogramReading {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum };
  }
}

/** What was added between two readings of one histogram. */
export function readingSince(before: HistogramReading | null, now: HistogramReading): HistogramReading {
  if (before === null) return now;
  const counts = now.counts.map((count, i) => count - (before.counts[i] ?? 0));
  return { bounds: now.bounds, counts, sum: now.sum - before.sum };
}

export function countOf({ counts }: HistogramReading): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * About the value that this part (0 to 1) of all values does not exceed. Values count as spread evenly between two bounds, and those above
 * all bounds count as the largest bound. null: there are no values.
 */
export function quantileOf(reading: HistogramReading, part: number): number | null {
  const total = countOf(reading);
  if (total === 0) return null;
  const { bounds, counts } = reading;
  let below = 0;
  for (const [i, bound] of bounds.entries()) {
    const count = counts[i] ?? 0;
    if (count > 0 && below + count >= total * part) {
      const from = bounds[i - 1] ?? 0;
      return from + ((bound - from) * (total * part - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1) ?? null;
}
