import { getPriority, setPriority } from 'node:os';

/** A value of `nice`. On a machine that is always busy, the thread gets a quarter of a processor; otherwise it gets all it needs. */
const BEHIND_OTHERS = 5;
const LAST = 19;

/**
 * Gives the calling thread, and the threads that it starts, a lower priority. Only Linux has a priority for each thread. On other systems,
 * or if it cannot be set, nothing changes.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, Math.min(getPriority(0) + BEHIND_OTHERS, LAST));
  } catch {
    // The thread then has the same priority as the others.
  }
}
