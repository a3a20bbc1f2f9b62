import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** As `nice` has it. On a machine that is busy all the time it leaves such a thread a quarter of a processor, else all it needs. */
const BEHIND_OTHERS = 5;

/**
 * The thread that calls it comes after the others from now on. Linux has priorities for each thread; elsewhere, or where they
 * cannot be set, nothing changes.
 */
export function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, BEHIND_OTHERS);
  } catch {
    // Without it the thread takes its share like any other.
  }
}
