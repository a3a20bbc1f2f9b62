/** The longest pause before the second try; it doubles with every further one. */
const FIRST_PAUSE_MS = 4;

/** At random: two transactions that got in each other's way would otherwise meet again. */
export function pauseBeforeRetry(tries: number, random: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, random() * FIRST_PAUSE_MS * 2 ** (tries - 1)));
}
