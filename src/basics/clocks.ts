/** The two clocks of a machine. The monotonic clock stops while the machine sleeps. The wall clock can be set. */
export interface Clocks {
  readonly monotonicMs: () => number;
  readonly wallClockMs: () => number;
}

/** The readings of both clocks at one instant. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** An instant before all others. Its age is infinite. */
export const NEVER: Instant = { monotonicMs: -Infinity, wallMs: -Infinity };

export function instantOf({ monotonicMs, wallClockMs }: Clocks): Instant {
  return { monotonicMs: monotonicMs(), wallMs: wallClockMs() };
}

/** The age by the clock that shows more, so that neither sleep nor a clock that is set back makes an instant look younger. */
export function ageMs({ monotonicMs, wallMs }: Instant, clocks: Clocks): number {
  return Math.max(clocks.monotonicMs() - monotonicMs, clocks.wallClockMs() - wallMs);
}
