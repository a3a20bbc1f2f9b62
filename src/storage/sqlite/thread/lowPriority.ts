import { getPriority, setPriority } from 'node:os';

/** As `nice` has it. On a machine that is busy all the time it leaves such a thread a quarter of a processor, else all it needs. */
const BEHIND_OTHERS = 5;
const LAST = 19;

/**
 * The thread that calls it, and those that it starts, come after the others from now on. Linux has priorities for each
 * thread; elsewhere, or where they cannot be set, nothing changes.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, Math.min(getPriority(0) + BEHIND_OTHERS, LAST));
  } catch {
    // Without it the thread takes its share like any other.
  }
}
