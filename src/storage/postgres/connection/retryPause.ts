/** The longest pause before something is tried for the second time; it doubles with every try. */
const FIRST_PAUSE_MS = 4;

/** At random: two that got in each other's way would otherwise meet again. */
export function pauseBeforeAgain(tries: number, random: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, random() * FIRST_PAUSE_MS * 2 ** (tries - 1)));
}
