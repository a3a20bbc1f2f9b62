const HOUR_MS = 3_600_000;

/** A delivery that has failed for as long is given up, and its webhook is paused. */
export const GIVE_UP_AFTER_MS = 72 * HOUR_MS;

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 6 * HOUR_MS;

/** How long to wait before the next try. The pause doubles; a random half of it keeps the tries of a target apart. */
export function retryPauseMs(failures: number, random: number): number {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 30));
  return Math.round(pauseMs * (0.5 + random / 2));
}
