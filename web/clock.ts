import { signal } from '@preact/signals';

/** Answers tell whole seconds, and take a while: below this, the two clocks agree. */
const TOLERATED_MS = 3_000;

/** The service's clock minus the browser's; 0 = they agree. */
export const clockOffsetMs = signal(0);

/** From the Date header of an answer. */
export function learnTime(date: string | null): void {
  const told = date === null ? NaN : Date.parse(date);
  if (Number.isNaN(told)) return;
  const offset = told + 500 - Date.now();
  const found = Math.abs(offset) < TOLERATED_MS ? 0 : offset;
  // It wavers by a second from answer to answer.
  if (found === 0 || Math.abs(found - clockOffsetMs.peek()) > 1_500) clockOffsetMs.value = found;
}

/**
 * The time of the service: what it tells is compared with this, however wrong the clock of the browser is. It does
 * not subscribe to the signal: a part that does is drawn again only when the signal changes, not as time goes by.
 */
export function nowMs(): number {
  return Date.now() + clockOffsetMs.peek();
}
