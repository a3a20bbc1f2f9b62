/** The two clocks of a machine. The monotonic one stands still while the machine sleeps; the wall clock can be set. */
export interface Clocks {
  readonly monotonicMs: () => number;
  readonly wallClockMs: () => number;
}

/** An instant, as both clocks showed it. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Before everything: its age is infinite. */
export const NEVER: Instant = { monotonicMs: -Infinity, wallMs: -Infinity };

export function instantOf({ monotonicMs, wallClockMs }: Clocks): Instant {
  return { monotonicMs: monotonicMs(), wallMs: wallClockMs() };
}

/** How long ago it was, by the clock that says more: so neither sleep nor a clock that was set back makes it look younger. */
export function ageMs({ monotonicMs, wallMs }: Instant, clocks: Clocks): number {
  return Math.max(clocks.monotonicMs() - monotonicMs, clocks.wallClockMs() - wallMs);
}
