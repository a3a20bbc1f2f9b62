/** 100,000 keys that are in use at once are written down in some 10 seconds, which a crash then loses. */
const REST_PER_TALLY_MS = 0.1;
/** Of more keys each has few verifications, so that nearly each of these would be written by itself: it takes longer then. */
const MANY = 100_000;
const MAX_FACTOR = 4;

/** How long writing counts down rests after so many tallies, when `waiting` ones are to be written. */
export function tallyRestMs(written: number, waiting: number): number {
  return written * REST_PER_TALLY_MS * Math.min(Math.max(waiting / MANY, 1), MAX_FACTOR);
}
